"""What of a file is in the page cache, and how to get it out.

    drop_from_cache("model.gguf")                      # the next program that reads it reads from the disk
    cached_bytes("model.gguf")                         # 0
"""
import ctypes
import mmap
import os
import sys


def cached_bytes(path):
    """Bytes of the file that are in the page cache."""
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY) as view:
        pages = (ctypes.c_ubyte * -(-len(view) // mmap.PAGESIZE))()
        first = ctypes.c_char.from_buffer(view)
        failed = ctypes.CDLL(None, use_errno=True).mincore(ctypes.c_void_p(ctypes.addressof(first)), ctypes.c_size_t(len(view)), pages)
        del first  # The view cannot be closed while something points into it.
        if failed:
            sys.exit(f"failed: {path}: mincore: {os.strerror(ctypes.get_errno())}")
        return sum(page & 1 for page in pages) * mmap.PAGESIZE


def drop_from_cache(path):
    """No page may be left: it would count for the group that reads it first, and be free for the next."""
    with open(path, "rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    if left := cached_bytes(path):
        sys.exit(f"failed: {path}: {left} bytes stay in the page cache; does something else have the file mapped?")

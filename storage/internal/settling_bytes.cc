#include "tessera/storage/internal/settling_bytes.h"

#include <sys/mman.h>

#include <cstring>

namespace tessera {

std::shared_ptr<SettlingBytes> SettlingBytes::Map(int descriptor, int64_t offset, int64_t size) {
  void* const mapped = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, offset);
  if (mapped == MAP_FAILED) return nullptr;
  return std::shared_ptr<SettlingBytes>(new SettlingBytes(static_cast<std::byte*>(mapped), size));
}

SettlingBytes::~SettlingBytes() { munmap(mapped_, size_); }

bool SettlingBytes::Settle() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (settled_) return true;
  void* const copy = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (copy == MAP_FAILED) return false;
  std::memcpy(copy, mapped_, size_);
  if (mprotect(copy, size_, PROT_READ) != 0) {
    munmap(copy, size_);
    return false;
  }
  // mremap replaces pages under a lock. A thread that finds no page at an address takes the same lock. If the system has no room for one
  // more mapping, mremap fails before any change.
  if (mremap(copy, size_, size_, MREMAP_MAYMOVE | MREMAP_FIXED, mapped_) == MAP_FAILED) {
    munmap(copy, size_);
    return false;
  }
  settled_ = true;
  return true;
}

}  // namespace tessera

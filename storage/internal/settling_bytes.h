// Bytes of a part of a file. The bytes need no copy at first, and keep their address when copied.
//
//   if (const std::shared_ptr<SettlingBytes> header = SettlingBytes::Map(file.descriptor(), /*offset=*/8192, /*size=*/5954)) {
//     Parse(header->bytes());          // pages of the system's cache: new memory for them would take several times as long
//     header->Settle();                // the same addresses, but memory of the program
//   }
//
// Until settled, the file must not be changed: the caller of Map holds a lease on the file (borrowed_pages.h). Afterwards the file may also
// go. A thread that reads during Settle finds the same bytes in either memory. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

#include "absl/types/span.h"

namespace tessera {

class SettlingBytes {
 public:
  // Maps a part of a file. Null if the system does not map it: `offset` may not be a multiple of the system's pages.
  static std::shared_ptr<SettlingBytes> Map(int descriptor, int64_t offset, int64_t size);
  ~SettlingBytes();
  SettlingBytes(const SettlingBytes&) = delete;
  SettlingBytes& operator=(const SettlingBytes&) = delete;

  absl::Span<const std::byte> bytes() const { return {mapped_, static_cast<size_t>(size_)}; }
  // Copies the bytes to memory of the program. False if the system has no memory: the bytes are still the file's. May be called several
  // times.
  bool Settle();

 private:
  SettlingBytes(std::byte* mapped, int64_t size) : mapped_(mapped), size_(size) {}

  std::byte* const mapped_;
  const int64_t size_;
  std::mutex mutex_;
  bool settled_ = false;
};

}  // namespace tessera

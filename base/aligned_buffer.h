// A block of zeroed memory for weights, activations and caches: cache-line aligned, on 2 MiB pages if the block is large.
//
//   ASSIGN_OR_RETURN(AlignedBuffer buffer, AlignedBuffer::Allocate(bytes));
//   float* values = buffer.as<float>();
//
// Large pages matter: reads of the same weights on 4 KiB pages are 5-15 % slower and erratic. But touching one byte backs the whole large
// page, so memory that fills up slowly, here and there, should use Pages::kSmall. Thread-compatible.
//
// For memory that a device reads into, large pages matter even more, because every page is passed to the device separately.
//
//   RETURN_IF_ERROR(buffer.PrepareForDevices());
//   bool slower = buffer.LargePageBytes() < buffer.size();                        // on small pages
//   RETURN_IF_ERROR(buffer.GiveBack(/*offset=*/0, buffer.size()));                // the addresses stay, the memory goes
#pragma once

#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tessera/base/cpp20.h"

namespace tessera {

class AlignedBuffer {  // Move-only; the destructor frees the memory.
 public:
  static constexpr int64_t kAlignment = 4096;  // O_DIRECT reads need the same alignment.

  enum class Pages { kLarge, kSmall };

  // Returns zeroed memory, physically backed only when touched. Zero bytes give an empty buffer. what: the memory's purpose; empty if the
  // caller puts the purpose in front of errors. ResourceExhausted "WHAT: cannot allocate BYTES bytes: ..." if the system has no memory;
  // InvalidArgument if bytes < 0.
  static absl::StatusOr<AlignedBuffer> Allocate(int64_t bytes, Pages pages = Pages::kLarge, absl::string_view what = "");

  AlignedBuffer() = default;
  AlignedBuffer(AlignedBuffer&& other) noexcept;
  AlignedBuffer& operator=(AlignedBuffer&& other) noexcept;
  ~AlignedBuffer();

  std::byte* data() const { return data_; }
  int64_t size() const { return size_; }
  absl::Span<std::byte> bytes() const { return {data_, static_cast<size_t>(size_)}; }
  template <typename T>
  T* as() const { return reinterpret_cast<T*>(data_); }

  // Prepares memory that devices read into. Backs all pages now, so that no read waits for pages. Keeps the memory out of forked children:
  // a page that a child took over would miss later writes of the device. ResourceExhausted if the system has too little memory.
  absl::Status PrepareForDevices();

  // Gives the whole pages of a part back to the system. The pages are zero at the next touch, and backed by small pages. Other parts may be
  // in use meanwhile. Unavailable (bytes, the system's reason), with nothing changed, if the system refuses; it refuses locked memory.
  // REQUIRES: the part is inside the buffer.
  absl::Status GiveBack(int64_t offset, int64_t bytes);

  // Returns the buffer's bytes on large pages; 0 if the system does not tell. The system counts per mapping, so large buffers side by side
  // may be counted for each other.
  int64_t LargePageBytes() const;

 private:
  std::byte* data_ = nullptr;
  int64_t size_ = 0;
};

}  // namespace tessera

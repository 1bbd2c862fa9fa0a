// A block of zeroed memory for weights, activations and caches: cache-line aligned, on 2 MiB pages where it is large.
//
//   ASSIGN_OR_RETURN(AlignedBuffer buffer, AlignedBuffer::Allocate(bytes));
//   float* values = buffer.as<float>();
//
// Large pages matter: the same weights on 4 KiB pages read 5-15 % slower and erratically. But touching one byte backs the whole large page,
// so memory that fills up slowly, here and there, should use Pages::kSmall. Thread-compatible.
//
// For memory that a device reads into, large pages matter even more, since the device is told of every page one by one.
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

class AlignedBuffer {  // Move-only; frees its memory when destroyed.
 public:
  static constexpr int64_t kAlignment = 4096;  // Also what O_DIRECT reads need.

  enum class Pages { kLarge, kSmall };

  // Zeroed memory, physically backed only when touched. ResourceExhausted "WHAT: cannot allocate BYTES bytes: ..." if the system has none
  // to give; InvalidArgument if bytes < 0. Zero bytes give an empty buffer. what: for whom; empty where the caller puts that before errors.
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

  // For memory that devices read into: backs all of it now, so that no read waits for pages, and keeps it out of forked children, since a
  // page that a child took over would miss what the device still writes. ResourceExhausted if the system has too little memory.
  absl::Status PrepareForDevices();

  // Gives the whole pages of a part back to the system: they are zero when they are next touched, and backed by small pages. Other
  // parts may be in use meanwhile. Unavailable (bytes, the system's reason), and nothing has changed, if the system refuses, as it does
  // for memory that is locked. REQUIRES: the part is inside.
  absl::Status GiveBack(int64_t offset, int64_t bytes);

  // How many of its bytes lie on large pages. The system counts per mapping, so large buffers side by side may be counted for each other. 0
  // if the system does not say.
  int64_t LargePageBytes() const;

 private:
  std::byte* data_ = nullptr;
  int64_t size_ = 0;
};

}  // namespace tessera

#include "tessera/storage/internal/file_device.h"

#include "glog/logging.h"

namespace tessera {

void FileDevice::CountIn(const Read& read) {
  CHECK_LT(in_flight_, depth_) << path();
  CHECK(!read.out.empty() && read.offset >= 0) << path() << ": " << read.out.size() << " bytes at " << read.offset;
  const uint64_t all = static_cast<uint64_t>(read.offset) | read.out.size() | reinterpret_cast<uintptr_t>(read.out.data());
  CHECK_EQ(all % kAlignment, 0u) << path() << ": " << read.out.size() << " bytes at " << read.offset << " to " << read.out.data();
  ++in_flight_;
}

}  // namespace tessera

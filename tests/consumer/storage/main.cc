// Leases a unit of weights that lies in memory, and reads a file of its own in blocks.
#include <fstream>
#include <iostream>
#include <string>

#include "tessera/base/aligned_buffer.h"
#include "tessera/storage/block_reader.h"
#include "tessera/storage/open_block_device.h"
#include "tessera/storage/resident_source.h"

namespace {

using namespace tessera;

int LastOfLeasedUnit() {
  const absl::StatusOr<std::unique_ptr<ResidentSource>> source = ResidentSource::Create({100, 5000});
  if (!source.ok()) {
    std::cout << "storage: " << source.status() << "\n";
    return -1;
  }
  (*source)->Unit(1)[4999] = std::byte{42};
  const absl::StatusOr<WeightLease> lease = (*source)->Acquire(1);
  return lease.ok() ? std::to_integer<int>(lease->bytes().back()) : -1;
}

// The last byte of a file of a mebibyte, read whole.
int LastOfFile(const std::string& path) {
  std::ofstream(path) << std::string(1 << 20, 'r');
  absl::StatusOr<AlignedBuffer> buffer = AlignedBuffer::Allocate(1 << 20);
  const absl::StatusOr<OpenedDevice> opened = OpenBlockDevice(path);
  if (!buffer.ok() || !opened.ok()) return -1;
  BlockReader reader(*opened->device);
  reader.Start({.offset = 0, .out = buffer->bytes(), .id = 0});
  return reader.Next().status.ok() ? std::to_integer<int>(buffer->bytes().back()) : -1;
}

}  // namespace

int main(int, char** argv) {
  const int leased = LastOfLeasedUnit(), read = LastOfFile(std::string(argv[0]) + ".weights");
  std::cout << "storage: a unit ends with " << leased << ", a file with " << read << "\n";
  return leased == 42 && read == 'r' ? 0 : 1;
}

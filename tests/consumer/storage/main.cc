// Writes a file of two units, reads them back into memory that others lease, and its first page as a device does.
#include <cstdio>
#include <iostream>
#include <string>
#include <vector>

#include "tessera/base/aligned_buffer.h"
#include "tessera/base/status_macros.h"
#include "tessera/storage/block_reader.h"
#include "tessera/storage/open_block_device.h"
#include "tessera/storage/resident_source.h"
#include "tessera/storage/tsr_reader.h"
#include "tessera/storage/tsr_writer.h"

namespace {

using namespace tessera;

absl::Status Write(const std::string& path) {
  const TsrContents contents = {.layout = "bytes", .units = {{.bytes = 100}, {.bytes = 5000, .entries = {{"answers", 0, 5000}}}}};
  ASSIGN_OR_RETURN(TsrWriter writer, TsrWriter::Create(path, contents));
  RETURN_IF_ERROR(writer.Append(std::vector<std::byte>(100)));
  RETURN_IF_ERROR(writer.Append(std::vector<std::byte>(5000, std::byte{42})));
  return writer.Finish([](int64_t, int64_t) {}).status();
}

absl::StatusOr<int> LastByte(const std::string& path) {
  ASSIGN_OR_RETURN(const std::unique_ptr<TsrReader> reader, TsrReader::Open(path));
  ASSIGN_OR_RETURN(const std::unique_ptr<ResidentSource> source, ResidentSource::Create({100, 5000}));
  for (int unit = 0; unit < reader->units(); ++unit) RETURN_IF_ERROR(reader->ReadUnit(unit, source->Unit(unit)));
  ASSIGN_OR_RETURN(const WeightLease lease, source->Acquire(1));
  return std::to_integer<int>(lease.bytes().back());
}

absl::StatusOr<int> SecondByte(const std::string& path) {
  ASSIGN_OR_RETURN(const AlignedBuffer buffer, AlignedBuffer::Allocate(4096));
  ASSIGN_OR_RETURN(const OpenedDevice opened, OpenBlockDevice(path));
  BlockReader reader(*opened.device);
  reader.Start({.offset = 0, .out = buffer.bytes(), .id = 0});
  RETURN_IF_ERROR(reader.Next().status);
  return std::to_integer<int>(buffer.bytes()[1]);
}

}  // namespace

int main(int, char** argv) {
  const std::string path = std::string(argv[0]) + ".tsr";
  const absl::Status written = Write(path);
  const absl::StatusOr<int> last = LastByte(path), letter = SecondByte(path);
  std::remove(path.c_str());
  std::cout << "storage: written: " << written << "; unit 1 ends with " << last.value_or(-1) << ": " << last.status()
            << "; the file's second byte is " << letter.value_or(-1) << ": " << letter.status() << "\n";
  return last.value_or(-1) == 42 && letter.value_or(-1) == 'T' ? 0 : 1;
}

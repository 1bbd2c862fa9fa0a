// Writes a file of its own units, leases them as they are streamed, with room for a part of them, and reads its first page as a device
// does.
#include <cstdio>
#include <iostream>
#include <string>
#include <vector>

#include "tessera/base/aligned_buffer.h"
#include "tessera/base/status_macros.h"
#include "tessera/storage/block_reader.h"
#include "tessera/storage/layer_streamer.h"
#include "tessera/storage/open_block_device.h"
#include "tessera/storage/resident_source.h"
#include "tessera/storage/stream_plan.h"
#include "tessera/storage/tsr_reader.h"
#include "tessera/storage/tsr_writer.h"

namespace {

using namespace tessera;

constexpr int kUnits = 8;
constexpr int64_t kUnitBytes = 100000;

// Unit i is full of i.
absl::Status Write(const std::string& path) {
  TsrContents contents = {.layout = "bytes"};
  for (int i = 0; i < kUnits; ++i)
    contents.units.push_back({.bytes = kUnitBytes, .entries = {{"unit" + std::to_string(i), 0, kUnitBytes}}});
  ASSIGN_OR_RETURN(TsrWriter writer, TsrWriter::Create(path, contents));
  for (int i = 0; i < kUnits; ++i) RETURN_IF_ERROR(writer.Append(std::vector<std::byte>(kUnitBytes, std::byte(i))));
  return writer.Finish([](int64_t, int64_t) {}).status();
}

// The sum of the last bytes of all units, by any source.
absl::StatusOr<int> SumOfLastBytes(WeightSource& source) {
  int sum = 0;
  for (int unit = 0; unit < source.units(); ++unit) {
    ASSIGN_OR_RETURN(const WeightLease lease, source.Acquire(unit));
    sum += std::to_integer<int>(lease.bytes().back());
  }
  return sum;
}

absl::StatusOr<int> Resident(const TsrReader& file) {
  ASSIGN_OR_RETURN(const std::unique_ptr<ResidentSource> source, ResidentSource::Create(std::vector<int64_t>(kUnits, kUnitBytes)));
  for (int unit = 0; unit < kUnits; ++unit) RETURN_IF_ERROR(file.ReadUnit(unit, source->Unit(unit)));
  return SumOfLastBytes(*source);
}

// In room for five units: some stay in memory, the others pass through a ring.
absl::StatusOr<int> Streamed(const TsrReader& file) {
  ASSIGN_OR_RETURN(const StreamPlan plan, PlanStreaming(file, LayerStreamer::kPartsBytes + 5 * file.StoredBytes(0)));
  if (plan.streamed_bytes == 0 || plan.pins.bytes == 0) return absl::InternalError("expected pins and streamed units");
  ASSIGN_OR_RETURN(const std::unique_ptr<LayerStreamer> source,
                   LayerStreamer::Open(file, {.pins = plan.pins, .ring_bytes = plan.ring_bytes}));
  RETURN_IF_ERROR(SumOfLastBytes(*source).status());  // A first pass; reading goes on into the next.
  return SumOfLastBytes(*source);
}

absl::StatusOr<int> SecondByte(const std::string& path) {
  ASSIGN_OR_RETURN(const AlignedBuffer buffer, AlignedBuffer::Allocate(4096));
  ASSIGN_OR_RETURN(const OpenedDevice opened, OpenBlockDevice(*RandomAccessFile::Open(path)));
  BlockReader reader(*opened.device);
  reader.Start({.offset = 0, .out = buffer.bytes(), .id = 0});
  RETURN_IF_ERROR(reader.Next().status);
  return std::to_integer<int>(buffer.bytes()[1]);
}

absl::Status Run(const std::string& path) {
  RETURN_IF_ERROR(Write(path));
  ASSIGN_OR_RETURN(const std::unique_ptr<TsrReader> file, TsrReader::Open(path));
  ASSIGN_OR_RETURN(const int resident, Resident(*file));
  ASSIGN_OR_RETURN(const int streamed, Streamed(*file));
  ASSIGN_OR_RETURN(const int letter, SecondByte(path));
  std::cout << "storage: in memory " << resident << ", streamed " << streamed << ", the file's second byte " << letter << "\n";
  constexpr int kSum = kUnits * (kUnits - 1) / 2;
  return resident == kSum && streamed == kSum && letter == 'T' ? absl::OkStatus() : absl::InternalError("found other numbers");
}

}  // namespace

int main(int, char** argv) {
  const std::string path = std::string(argv[0]) + ".tsr";
  const absl::Status status = Run(path);
  std::remove(path.c_str());
  if (!status.ok()) std::cout << "storage: " << status << "\n";
  return status.ok() ? 0 : 1;
}

// Small .tsr files with known contents: random bytes that follow from a seed.
//
//   const TsrSample sample = MakeTsrSample({5000, 100});                  // units of so many bytes
//   ASSERT_EQ(WriteTsrSample(path, sample), absl::OkStatus());
//   EXPECT_EQ(ReadUnitOf(*reader, 0), sample.units[0]);
//
// Thread-compatible.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tessera/base/checked_math.h"
#include "tessera/base/random.h"
#include "tessera/base/status_macros.h"
#include "tessera/storage/tsr_reader.h"
#include "tessera/storage/tsr_writer.h"

namespace tessera {

struct TsrSample {
  TsrContents contents;
  std::vector<std::vector<std::byte>> units;
};

inline constexpr TsrUuid kSampleUuid = {std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}};

inline std::vector<std::byte> SampleBytes(int64_t size, uint64_t seed) {
  SeededRandom random(seed);
  std::vector<std::byte> bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.Below(256));
  return bytes;
}

// Cuts each unit larger than 64 bytes into two entries: "unit0.a" and "unit0.b".
inline TsrSample MakeTsrSample(const std::vector<int64_t>& unit_bytes) {
  TsrSample sample;
  sample.contents.layout = "sample-1";
  sample.contents.attachments = {{"config", SampleBytes(300, 1), 5000}, {"empty", {}}};
  for (int64_t bytes : unit_bytes) {
    const std::string name = absl::StrCat("unit", sample.units.size());
    TsrUnit unit = {.bytes = bytes, .entries = {{name + ".a", 0, bytes}}};
    if (bytes > kTsrEntryAlignment) {
      const int64_t second = AlignUp(bytes / 2, kTsrEntryAlignment);
      unit.entries = {{name + ".a", 0, bytes / 2}, {name + ".b", second, bytes - second}};
    }
    sample.contents.units.push_back(unit);
    sample.units.push_back(SampleBytes(bytes, 100 + sample.units.size()));
  }
  return sample;
}

inline absl::Status WriteTsrSample(const std::string& path, const TsrSample& sample, const TsrUuid& uuid = kSampleUuid) {
  ASSIGN_OR_RETURN(TsrWriter writer, TsrWriter::Create(path, sample.contents, uuid));
  for (const std::vector<std::byte>& unit : sample.units) RETURN_IF_ERROR(writer.Append(unit));
  return writer.Finish([](int64_t, int64_t) {}).status();
}

inline absl::StatusOr<std::vector<std::byte>> ReadUnitOf(const TsrReader& reader, int unit) {
  std::vector<std::byte> bytes(reader.UnitBytes(unit));
  RETURN_IF_ERROR(reader.ReadUnit(unit, absl::MakeSpan(bytes)));
  return bytes;
}

}  // namespace tessera

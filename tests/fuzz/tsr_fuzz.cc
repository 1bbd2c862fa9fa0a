// The reader of .tsr files: what it accepts lies within the file and reads without harm; whatever else is refused by name.
//
// The checksums would reveal nearly every change at once. So the first byte of an input says what follows: a whole file, the beginning of a
// superblock or a manifest; the last two are put into a good file, whose checksums are then made right.
#include <algorithm>
#include <cstring>
#include <fstream>

#include "absl/strings/match.h"
#include "glog/logging.h"
#include "tessera/storage/internal/superblock.h"
#include "tessera/storage/tsr_reader.h"
#include "tessera/tests/fakes/bad_tsr_files.h"
#include "tessera/tests/fakes/temporary_folder.h"
#include "tessera/tests/fuzz/fuzz_target.h"

namespace tessera {
namespace {

constexpr char kFile = 0, kSuperblock = 1, kManifest = 2;
constexpr int kKinds = 3;

std::string FileOf(int kind, const std::string& bytes) {
  static const TsrBuilder good = SmallTsr();
  if (kind == kFile) return bytes;
  TsrBuilder builder = good;
  if (kind == kManifest) builder.manifest_bytes = bytes;
  if (kind == kSuperblock) {
    builder.change_superblock = [&](Superblock& superblock) {
      std::memcpy(&superblock, bytes.data(), std::min(bytes.size(), sizeof superblock));
    };
  }
  return builder.Build();
}

void CheckPlaces(const TsrReader& reader, int64_t file_bytes) {
  int64_t end = kTsrPage, block = 0;
  for (int unit = 0; unit < reader.units(); ++unit) {
    CHECK_EQ(reader.UnitOffset(unit) % kTsrUnitAlignment, 0);
    CHECK_GE(reader.UnitOffset(unit), end);
    end = reader.UnitOffset(unit) + reader.StoredBytes(unit);
    CHECK_LE(end, file_bytes - kTsrPage);
    CHECK_EQ(reader.FirstBlock(unit), block);
    block += CeilDiv(reader.StoredBytes(unit), kTsrBlockBytes);
    int64_t entry_end = 0;
    for (const TsrEntry& entry : reader.Entries(unit)) {
      CHECK(!entry.name.empty() && entry.offset >= entry_end && entry.bytes > 0) << entry.name;
      entry_end = entry.offset + entry.bytes;
    }
    CHECK_LE(entry_end, reader.UnitBytes(unit));
  }
  CHECK_EQ(reader.blocks(), block);
}

// Reads everything: right, or damaged and said so.
void ReadAll(const TsrReader& reader) {
  const auto check = [](const absl::Status& status) { CHECK(status.ok() || absl::IsDataLoss(status)) << status; };
  for (int unit = 0; unit < reader.units(); ++unit) check(ReadUnitOf(reader, unit).status());
  for (const TsrReader::Attachment& attachment : reader.attachments()) {
    const auto bytes = reader.ReadAttachment(attachment.name);
    check(bytes.status());
    if (bytes.ok()) CHECK_EQ(static_cast<int64_t>(bytes->size()), attachment.bytes);
  }
}

}  // namespace

absl::Status RunInput(absl::Span<const std::byte> input) {
  if (input.empty()) return absl::InvalidArgumentError("no kind of input");
  const std::string bytes(reinterpret_cast<const char*>(input.data()), input.size());
  const std::string file = FileOf(static_cast<uint8_t>(bytes[0]) % kKinds, bytes.substr(1));
  const TemporaryFolder folder{TemporaryFolder::InMemory()};
  const std::string path = folder.Path("model.tsr");
  std::ofstream(path, std::ios::binary) << file;
  const auto reader = TsrReader::Open(path);
  if (!reader.ok()) {
    CHECK(absl::IsInvalidArgument(reader.status()) || absl::IsDataLoss(reader.status())) << reader.status();
    CHECK(absl::StartsWith(reader.status().message(), path + ": ")) << reader.status();
    return reader.status();
  }
  CheckPlaces(**reader, static_cast<int64_t>(file.size()));
  ReadAll(**reader);
  return absl::OkStatus();
}

std::vector<FuzzSeed> Seeds() {
  std::vector<FuzzSeed> seeds = {{"nothing", kFile + TsrBuilder({}).Build()}};
  const auto add = [&](const std::string& name, const std::string& file) {
    seeds.push_back({"file_" + name, kFile + file.substr(0, kTsrPage)});
    if (file.size() < static_cast<size_t>(2 * kTsrPage)) return;
    constexpr size_t kFields = offsetof(Superblock, reserved) + 8;
    seeds.push_back({"superblock_" + name, kSuperblock + file.substr(0, kFields)});
    int64_t manifest_bytes;
    std::memcpy(&manifest_bytes, file.data() + offsetof(Superblock, manifest_bytes), sizeof manifest_bytes);
    seeds.push_back({"manifest_" + name, kManifest + file.substr(kTsrPage, std::clamp<int64_t>(manifest_bytes, 0, kTsrPage))});
  };
  add("good", SmallTsr().Build());
  for (const BadTsr& file : BadTsrFiles()) add(file.name, file.bytes);
  return seeds;
}

}  // namespace tessera

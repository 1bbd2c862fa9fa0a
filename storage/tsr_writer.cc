#include "tessera/storage/tsr_writer.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include <glog/logging.h>

#include "absl/strings/str_cat.h"
#include "tessera/base/aligned_buffer.h"
#include "tessera/base/file.h"
#include "tessera/base/sha256.h"
#include "tessera/base/status_macros.h"
#include "tessera/storage/internal/disk_extents.h"
#include "tessera/storage/internal/superblock.h"
#include "tessera/storage/internal/tsr_index.h"
#include "tessera/storage/tsr_reader.h"

namespace tessera {
namespace {

absl::Span<const std::byte> BytesOf(const std::string& text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

// Checks the sizes that planning needs. All other rules of the reader are checked on the plan.
absl::Status CheckSizes(const std::string& path, const TsrContents& contents) {
  for (size_t i = 0; i < contents.units.size(); ++i) {
    const int64_t bytes = contents.units[i].bytes;
    if (bytes >= 1 && bytes <= kLargestTsrUnit) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": unit ", i, " bytes: found ", bytes, ", expected 1 to ", kLargestTsrUnit));
  }
  return absl::OkStatus();
}

// Fills all fields except the last known: the checksums of the manifest and of the superblock.
absl::StatusOr<Superblock> PlanSuperblock(const std::string& path, const TsrManifest& manifest, const TsrUuid& uuid) {
  Superblock superblock = {.byte_order = kTsrByteOrder, .major = kTsrMajor, .minor = kTsrMinor, .uuid = uuid};
  std::memcpy(superblock.magic, kTsrMagic, sizeof kTsrMagic);
  superblock.manifest_bytes = static_cast<int64_t>(manifest.ByteSizeLong());
  if (superblock.manifest_bytes > kLargestTsrManifest) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": manifest: found ", superblock.manifest_bytes, " bytes for ",
                                                   manifest.units_size(), " units, expected at most ", kLargestTsrManifest));
  }
  int64_t end = ManifestEnd(superblock);
  const auto extend = [&end](const TsrManifest::Extent& extent) { end = extent.offset() + AlignUp(extent.bytes(), kTsrPage); };
  for (const TsrManifest::Attachment& attachment : manifest.attachments()) extend(attachment.extent());
  for (const TsrManifest::Unit& unit : manifest.units()) extend(unit.extent());
  superblock.file_bytes = end + AlignUp(superblock.manifest_bytes, kTsrPage) + kTsrPage;
  return superblock;
}

// Reads a whole file back, past the system's cache where possible.
absl::Status CheckWritten(const std::string& path, const std::function<void(int64_t, int64_t)>& progress) {
  ASSIGN_OR_RETURN(const std::unique_ptr<TsrReader> reader, TsrReader::Open(path, RandomAccessFile::Caching::kDirect));
  for (const TsrReader::Attachment& attachment : reader->attachments()) {
    RETURN_IF_ERROR(reader->ReadAttachment(attachment.name).status());
  }
  int64_t largest = 0, total = 0, done = 0;
  for (int unit = 0; unit < reader->units(); ++unit) {
    largest = std::max(largest, reader->StoredBytes(unit));
    total += reader->StoredBytes(unit);
  }
  ASSIGN_OR_RETURN(const AlignedBuffer buffer, AlignedBuffer::Allocate(largest));
  for (int unit = 0; unit < reader->units(); ++unit) {
    RETURN_IF_ERROR(reader->ReadUnit(unit, buffer.bytes().first(reader->StoredBytes(unit))));
    progress(done += reader->StoredBytes(unit), total);
  }
  return absl::OkStatus();
}

// The plan of a file before writing.
struct Plan {
  TsrManifest manifest;  // Checksums are 0.
  TsrIndex index = {};
  Superblock superblock = {};
};

absl::StatusOr<Plan> MakePlan(const std::string& path, const TsrContents& contents, const TsrUuid& uuid) {
  RETURN_IF_ERROR(CheckSizes(path, contents));
  Plan plan = {.manifest = PlanManifest(contents)};
  ASSIGN_OR_RETURN(plan.superblock, PlanSuperblock(path, plan.manifest, uuid));
  const std::string bytes = plan.manifest.SerializeAsString();
  ASSIGN_OR_RETURN(plan.index, ParseManifest(BytesOf(bytes), plan.superblock, path));
  return plan;
}

// The place of an attachment or a unit.
struct PlannedExtent {
  TsrManifest::Extent* extent;  // Writing fills in the extent's checksums,
  std::string* sums;            // and the SHA-256 sums. Null: an attachment has none.
  int64_t first_block;
  int64_t end = 0;              // Where the next one begins.
};

}  // namespace

struct TsrWriter::State {
  std::string path;
  AtomicFileWriter file;
  TsrManifest manifest;
  Superblock superblock;
  std::vector<PlannedExtent> extents;  // In order of offset: attachments, then units.
  size_t next_extent = 0;

  void PlanExtents(const TsrIndex& index) {
    for (size_t i = 0; i < index.attachments.size(); ++i) {
      extents.push_back(
          {manifest.mutable_attachments(static_cast<int>(i))->mutable_extent(), nullptr, index.attachments[i].extent.first_block});
    }
    for (size_t i = 0; i < index.units.size(); ++i) {
      TsrManifest::Unit& unit = *manifest.mutable_units(static_cast<int>(i));
      extents.push_back({unit.mutable_extent(), unit.mutable_block_sums(), index.units[i].first_block});
    }
    for (size_t i = 0; i < extents.size(); ++i) {
      extents[i].end =
          i + 1 < extents.size() ? static_cast<int64_t>(extents[i + 1].extent->offset()) : ManifestCopyOffset(superblock);
    }
  }

  // Writes bytes, and zeros up to `end`, so that no hole or unwritten part cuts the file on the disk.
  absl::Status WritePadded(int64_t offset, absl::Span<const std::byte> bytes, int64_t end) {
    static constexpr std::byte kZeros[kTsrUnitAlignment] = {};
    RETURN_IF_ERROR(file.WriteAt(offset, bytes));
    const int64_t written = offset + static_cast<int64_t>(bytes.size());
    return file.WriteAt(written, absl::MakeConstSpan(kZeros).first(end - written));
  }

  absl::Status WriteExtent(absl::Span<const std::byte> bytes) {
    const PlannedExtent& planned = extents[next_extent++];
    const int64_t size = static_cast<int64_t>(bytes.size()), offset = static_cast<int64_t>(planned.extent->offset());
    CHECK_EQ(size, static_cast<int64_t>(planned.extent->bytes())) << path << ": extent " << next_extent - 1;
    for (int block = 0; block < planned.extent->block_crcs_size(); ++block) {
      const absl::Span<const std::byte> part = bytes.subspan(block * kTsrBlockBytes, kTsrBlockBytes);
      const int64_t zeros = AlignUp(part.size(), kTsrPage) - static_cast<int64_t>(part.size());
      planned.extent->set_block_crcs(block, BlockCrc(superblock.uuid, planned.first_block + block, part, zeros));
      if (planned.sums == nullptr) continue;
      const Sha256Sum sum = Sha256Of(part);
      std::memcpy(&(*planned.sums)[static_cast<size_t>(block) * sizeof sum], sum.bytes.data(), sizeof sum);
    }
    RETURN_IF_ERROR(WritePadded(offset, bytes, planned.end));
    return file.SyncAndDrop(offset, planned.end - offset);
  }

  absl::Status WriteManifests() {
    const std::string bytes = manifest.SerializeAsString();
    CHECK_EQ(static_cast<int64_t>(bytes.size()), superblock.manifest_bytes)
        << path << ": checksums have changed the manifest's size";
    superblock.manifest_crc = BlockCrc(superblock.uuid, kManifestBlock, BytesOf(bytes));
    superblock.crc = SuperblockCrc(superblock);
    const int64_t first = extents.empty() ? ManifestCopyOffset(superblock) : static_cast<int64_t>(extents[0].extent->offset());
    RETURN_IF_ERROR(WritePadded(kManifestOffset, BytesOf(bytes), first));
    return WritePadded(ManifestCopyOffset(superblock), BytesOf(bytes), FooterOffset(superblock));
  }
};

TsrWriter::TsrWriter(std::unique_ptr<State> state) : state_(std::move(state)) {}
TsrWriter::TsrWriter(TsrWriter&& other) noexcept = default;
TsrWriter::~TsrWriter() = default;
int64_t TsrWriter::file_bytes() const { return state_->superblock.file_bytes; }

absl::StatusOr<TsrWriter> TsrWriter::Create(const std::string& path, const TsrContents& contents, const TsrUuid& uuid) {
  ASSIGN_OR_RETURN(Plan plan, MakePlan(path, contents, uuid));
  ASSIGN_OR_RETURN(AtomicFileWriter file, AtomicFileWriter::Create(path));
  TsrWriter writer(std::unique_ptr<State>(new State{path, std::move(file), std::move(plan.manifest), plan.superblock, {}}));
  State& state = *writer.state_;
  state.PlanExtents(plan.index);
  RETURN_IF_ERROR(state.file.Reserve(writer.file_bytes()));
  for (const TsrAttachment& attachment : contents.attachments) RETURN_IF_ERROR(state.WriteExtent(attachment.bytes));
  return writer;
}

absl::StatusOr<int64_t> TsrWriter::FileBytes(const TsrContents& contents) {
  ASSIGN_OR_RETURN(const Plan plan, MakePlan("plan", contents, {}));
  return plan.superblock.file_bytes;
}

absl::Status TsrWriter::Append(absl::Span<const std::byte> unit) {
  CHECK_LT(state_->next_extent, state_->extents.size()) << state_->path << ": all units were appended";
  return state_->WriteExtent(unit);
}

absl::StatusOr<TsrSummary> TsrWriter::Finish(const std::function<void(int64_t done, int64_t total)>& progress) {
  State& state = *state_;
  CHECK_EQ(state.next_extent, state.extents.size()) << state.path << ": units are missing";
  RETURN_IF_ERROR(state.WriteManifests());
  RETURN_IF_ERROR(state.file.WriteAt(FooterOffset(state.superblock), BytesOf(state.superblock)));
  RETURN_IF_ERROR(state.file.Sync());
  RETURN_IF_ERROR(state.file.WriteAt(0, BytesOf(state.superblock)));  // Only now this is a .tsr file.
  RETURN_IF_ERROR(state.file.Sync());
  RETURN_IF_ERROR(state.file.SyncAndDrop(0, file_bytes()));
  if (const absl::Status status = CheckWritten(state.file.temporary_path(), progress); !status.ok()) {
    return absl::Status(status.code(), absl::StrCat(state.path, ": reading back what was written: ", status.message()));
  }
  TsrSummary summary = {state.superblock.uuid, file_bytes(), CountDiskExtents(state.file.temporary_path())};
  RETURN_IF_ERROR(state.file.Commit());
  return summary;
}

}  // namespace tessera

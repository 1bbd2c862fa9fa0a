#include "tessera/storage/tsr_reader.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <glog/logging.h>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tessera/base/aligned_buffer.h"
#include "tessera/base/status_macros.h"
#include "tessera/storage/internal/superblock.h"
#include "tessera/storage/internal/tsr_index.h"

namespace tessera {
namespace {

// Returns the last unit whose `begin` is at `place` or before.
int LastUpTo(int64_t place, const std::vector<TsrExtent>& units, int64_t TsrExtent::*begin) {
  const auto after =
      std::upper_bound(units.begin(), units.end(), place, [&](int64_t at, const TsrExtent& unit) { return at < unit.*begin; });
  return static_cast<int>(after - units.begin()) - 1;
}

}  // namespace

TsrReader::TsrReader(std::shared_ptr<const RandomAccessFile> file) : file_(std::move(file)), superblock_(std::make_unique<Superblock>()) {}
TsrReader::~TsrReader() = default;

absl::StatusOr<std::unique_ptr<TsrReader>> TsrReader::Open(const std::string& path, RandomAccessFile::Caching caching) {
  ASSIGN_OR_RETURN(std::shared_ptr<const RandomAccessFile> file, RandomAccessFile::Open(path, caching));
  return Open(std::move(file));
}

absl::StatusOr<std::unique_ptr<TsrReader>> TsrReader::Open(std::shared_ptr<const RandomAccessFile> file) {
  std::unique_ptr<TsrReader> reader(new TsrReader(std::move(file)));
  RETURN_IF_ERROR(reader->ReadSuperblock());
  RETURN_IF_ERROR(reader->ReadManifest());
  return reader;
}

absl::Status TsrReader::ReadSuperblock() {
  const int64_t size = file_->size();
  if (size < kTsrPage) {
    return absl::InvalidArgumentError(absl::StrCat(path(), ": size: found ", size, " bytes, expected ", kTsrPage, " or more"));
  }
  ASSIGN_OR_RETURN(const AlignedBuffer page, AlignedBuffer::Allocate(kTsrPage, AlignedBuffer::Pages::kSmall, path()));
  RETURN_IF_ERROR(file_->Read(0, page.bytes()));
  std::memcpy(superblock_.get(), page.data(), kTsrPage);
  RETURN_IF_ERROR(CheckSuperblock(*superblock_, size, path()));
  RETURN_IF_ERROR(file_->Read(FooterOffset(*superblock_), page.bytes()));
  if (std::memcmp(superblock_.get(), page.data(), kTsrPage) == 0) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(path(), ": footer at byte ", FooterOffset(*superblock_),
                                          ": found other bytes than in the superblock, expected the same"));
}

absl::Status TsrReader::ReadManifest() {
  absl::StatusOr<TsrIndex> index = ReadManifestAt(kManifestOffset);
  if (absl::IsDataLoss(index.status())) {
    manifest_damage_ = index.status();
    index = ReadManifestAt(ManifestCopyOffset(*superblock_));
  }
  RETURN_IF_ERROR(index.status());
  index_ = std::make_unique<TsrIndex>(*std::move(index));
  return absl::OkStatus();
}

std::vector<absl::Status> TsrReader::CheckManifests() const {
  std::vector<absl::Status> wrong;
  for (int64_t offset : {kManifestOffset, ManifestCopyOffset(*superblock_)}) {
    const absl::Status status = ReadManifestAt(offset).status();
    if (!status.ok()) wrong.push_back(status);
  }
  return wrong;
}

absl::StatusOr<TsrIndex> TsrReader::ReadManifestAt(int64_t offset) const {
  const int64_t bytes = superblock_->manifest_bytes;
  ASSIGN_OR_RETURN(const AlignedBuffer buffer, AlignedBuffer::Allocate(AlignUp(bytes, kTsrPage), AlignedBuffer::Pages::kSmall, path()));
  RETURN_IF_ERROR(file_->Read(offset, buffer.bytes()));
  const absl::Span<const std::byte> manifest = buffer.bytes().first(bytes);
  const uint32_t crc = BlockCrc(superblock_->uuid, kManifestBlock, manifest);
  if (crc != superblock_->manifest_crc) {
    return absl::DataLossError(absl::StrFormat("%s: manifest at byte %d: CRC-32C: found 0x%08x, expected 0x%08x", path(), offset,
                                               crc, superblock_->manifest_crc));
  }
  return ParseManifest(manifest, *superblock_, path());
}

const TsrUuid& TsrReader::uuid() const { return superblock_->uuid; }
int TsrReader::minor_version() const { return superblock_->minor; }
const std::string& TsrReader::layout() const { return index_->layout; }
int64_t TsrReader::file_bytes() const { return superblock_->file_bytes; }
int64_t TsrReader::manifest_bytes() const { return superblock_->manifest_bytes; }

int TsrReader::units() const { return static_cast<int>(index_->units.size()); }
int64_t TsrReader::UnitOffset(int unit) const { return index_->units[unit].offset; }
int64_t TsrReader::UnitBytes(int unit) const { return index_->units[unit].bytes; }
int64_t TsrReader::StoredBytes(int unit) const { return index_->units[unit].stored_bytes(); }
int64_t TsrReader::FirstBlock(int unit) const { return index_->units[unit].first_block; }
absl::Span<const TsrEntry> TsrReader::Entries(int unit) const { return index_->entries[unit]; }

int64_t TsrReader::blocks() const {
  return index_->units.empty() ? 0 : index_->units.back().first_block + index_->units.back().blocks();
}

int TsrReader::UnitOfBlock(int64_t block) const {
  return LastUpTo(block, index_->units, &TsrExtent::first_block);
}

int TsrReader::UnitAt(int64_t offset) const { return LastUpTo(offset, index_->units, &TsrExtent::offset); }

std::string TsrReader::Describe(int unit, int64_t offset) const {
  std::string text = absl::StrCat(path(), ": unit ", unit);
  const absl::Span<const TsrEntry> entries = Entries(unit);
  const auto after = std::upper_bound(entries.begin(), entries.end(), offset,
                                      [](int64_t offset, const TsrEntry& entry) { return offset < entry.offset; });
  if (after != entries.begin()) absl::StrAppend(&text, ", ", absl::CHexEscape((after - 1)->name));
  return absl::StrCat(text, ", byte ", UnitOffset(unit) + offset, " of the file");
}

absl::Status TsrReader::CheckBlock(int64_t block, absl::Span<const std::byte> bytes) const {
  CHECK(block >= 0 && block < blocks()) << path() << ": block " << block << " of " << blocks();
  const int unit = UnitOfBlock(block);
  const TsrExtent& extent = index_->units[unit];
  return CheckExtentBlock(extent, block, bytes, Describe(unit, (block - extent.first_block) * kTsrBlockBytes));
}

absl::Span<const Sha256Sum> TsrReader::block_sums() const { return index_->block_sums; }

absl::Status TsrReader::CheckBlockSum(int64_t block, absl::Span<const std::byte> bytes) const {
  CHECK(block >= 0 && block < blocks()) << path() << ": block " << block << " of " << blocks();
  if (block_sums().empty()) return absl::OkStatus();
  const int unit = UnitOfBlock(block);
  const int64_t begin = (block - FirstBlock(unit)) * kTsrBlockBytes, size = std::min(UnitBytes(unit) - begin, kTsrBlockBytes);
  const Sha256Sum found = Sha256Of(bytes.first(static_cast<size_t>(size))), expected = block_sums()[static_cast<size_t>(block)];
  if (found == expected) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(Describe(unit, begin), ": SHA-256 of block ", block, ": found ", found.Hex(), ", expected ",
                                          expected.Hex()));
}

absl::Status TsrReader::CheckExtentBlock(const TsrExtent& extent, int64_t block, absl::Span<const std::byte> bytes,
                                         absl::string_view what) const {
  const int64_t begin = (block - extent.first_block) * kTsrBlockBytes;
  const int64_t stored = std::min(extent.stored_bytes() - begin, kTsrBlockBytes), size = static_cast<int64_t>(bytes.size());
  CHECK(size == stored || size == extent.bytes - begin) << what << ": " << size << " bytes of " << stored;
  const uint32_t found = BlockCrc(superblock_->uuid, block, bytes, stored - size), expected = index_->block_crcs[block];
  if (found == expected) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrFormat("%s: CRC-32C of block %d: found 0x%08x, expected 0x%08x", what, block, found, expected));
}

absl::Status TsrReader::ReadBlock(int64_t block, absl::Span<std::byte> out) const {
  const TsrExtent& extent = index_->units[UnitOfBlock(block)];
  RETURN_IF_ERROR(file_->Read(extent.offset + (block - extent.first_block) * kTsrBlockBytes, out));
  return CheckBlock(block, out);
}

absl::Status TsrReader::ReadUnit(int unit, absl::Span<std::byte> out) const {
  const TsrExtent& extent = index_->units[unit];
  const int64_t size = static_cast<int64_t>(out.size());
  CHECK(size == extent.stored_bytes() || (size == extent.bytes && !direct())) << path() << ": unit " << unit << ": " << size;
  for (int64_t block = 0; block < extent.blocks(); ++block) {  // Checks each block while the caches hold the block.
    RETURN_IF_ERROR(ReadBlock(extent.first_block + block, out.subspan(block * kTsrBlockBytes, kTsrBlockBytes)));
  }
  return absl::OkStatus();
}

std::vector<TsrReader::Attachment> TsrReader::attachments() const {
  std::vector<Attachment> all;
  for (const auto& [name, extent, whole_bytes] : index_->attachments) all.push_back({name, extent.bytes, whole_bytes});
  return all;
}

absl::StatusOr<const TsrExtent*> TsrReader::FindAttachment(absl::string_view name) const {
  const auto found =
      std::find_if(index_->attachments.begin(), index_->attachments.end(), [&](const auto& each) { return each.name == name; });
  if (found != index_->attachments.end()) return &found->extent;
  return absl::NotFoundError(absl::StrCat(path(), ": attachment \"", absl::CHexEscape(name), "\": found none of that name"));
}

absl::Status TsrReader::CheckAttachmentBlock(absl::string_view name, const TsrExtent& extent, int64_t block,
                                             absl::Span<const std::byte> bytes) const {
  return CheckExtentBlock(extent, extent.first_block + block, bytes,
                          absl::StrCat(path(), ": attachment \"", absl::CHexEscape(name), "\" byte ", block * kTsrBlockBytes));
}

absl::StatusOr<TsrReader::Place> TsrReader::PlaceOfAttachment(absl::string_view name) const {
  ASSIGN_OR_RETURN(const TsrExtent* extent, FindAttachment(name));
  return Place{extent->offset, extent->bytes, extent->stored_bytes()};
}

absl::Status TsrReader::CheckAttachment(absl::string_view name, absl::Span<const std::byte> stored) const {
  ASSIGN_OR_RETURN(const TsrExtent* extent, FindAttachment(name));
  CHECK_EQ(static_cast<int64_t>(stored.size()), extent->stored_bytes()) << path() << ": attachment " << name;
  for (int64_t block = 0; block < extent->blocks(); ++block) {
    RETURN_IF_ERROR(CheckAttachmentBlock(name, *extent, block, stored.subspan(block * kTsrBlockBytes, kTsrBlockBytes)));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::byte>> TsrReader::ReadAttachment(absl::string_view name) const {
  ASSIGN_OR_RETURN(const TsrExtent* extent, FindAttachment(name));
  AlignedBuffer aligned;
  if (direct()) {
    const int64_t block_bytes = std::min(extent->stored_bytes(), kTsrBlockBytes);
    ASSIGN_OR_RETURN(aligned, AlignedBuffer::Allocate(block_bytes, AlignedBuffer::Pages::kLarge, path()));
  }
  std::vector<std::byte> bytes(extent->stored_bytes());
  for (int64_t block = 0; block < extent->blocks(); ++block) {
    const int64_t begin = block * kTsrBlockBytes;
    const absl::Span<std::byte> part = absl::MakeSpan(bytes).subspan(begin, kTsrBlockBytes);
    const absl::Span<std::byte> read = direct() ? aligned.bytes().first(part.size()) : part;
    RETURN_IF_ERROR(file_->Read(extent->offset + begin, read));
    if (direct()) std::memcpy(part.data(), read.data(), part.size());
    RETURN_IF_ERROR(CheckAttachmentBlock(name, *extent, block, part));
  }
  bytes.resize(extent->bytes);
  return bytes;
}

}  // namespace tessera

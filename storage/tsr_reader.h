// Opens .tsr files of packed weights, lists the contents, and reads any unit or attachment, checked against its checksums.
//
//   ASSIGN_OR_RETURN(std::unique_ptr<TsrReader> reader, TsrReader::Open("model.tsr"));
//   for (int unit = 0; unit < reader->units(); ++unit) {
//     ASSIGN_OR_RETURN(AlignedBuffer bytes, AlignedBuffer::Allocate(reader->StoredBytes(unit)));
//     RETURN_IF_ERROR(reader->ReadUnit(unit, bytes.bytes()));                      // entries, then zeros up to a whole page
//     for (const TsrEntry& entry : reader->Entries(unit)) Use(entry.name, bytes.bytes().subspan(entry.offset, entry.bytes));
//   }
//
// The file is hostile until checked: Open verifies every count, offset and size against the file, and takes memory only as the manifest's
// bytes justify. Read other ways (direct, asynchronous) as follows: read StoredBytes(unit) bytes at UnitOffset(unit), in blocks of
// kTsrBlockBytes. The last block may be shorter. Give each block to CheckBlock.
// Threads: thread-safe after Open.
// Errors: InvalidArgument: no such file could have been written. DataLoss: the file was damaged since (checksums, truncated). Both name
// file, field, found and expected value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tessera/base/file.h"
#include "tessera/base/sha256.h"
#include "tessera/storage/tsr.h"

namespace tessera {

struct TsrIndex;
struct TsrExtent;
struct Superblock;

class TsrReader {
 public:
  // Opens a file. A damaged manifest is replaced by its copy: manifest_damage() says so.
  static absl::StatusOr<std::unique_ptr<TsrReader>> Open(const std::string& path,
                                                         RandomAccessFile::Caching caching = RandomAccessFile::Caching::kCached);
  static absl::StatusOr<std::unique_ptr<TsrReader>> Open(std::shared_ptr<const RandomAccessFile> file);
  ~TsrReader();

  const std::string& path() const { return file_->path(); }
  // Returns the fault of the manifest whose copy is used (DataLoss). OK: the manifest is whole.
  const absl::Status& manifest_damage() const { return manifest_damage_; }
  const TsrUuid& uuid() const;
  int minor_version() const;
  const std::string& layout() const;      // As in TsrContents.
  int64_t file_bytes() const;
  int64_t manifest_bytes() const;

  // Units are in order of execution, and of their places in the file. REQUIRES everywhere: 0 <= unit < units().
  int units() const;
  int64_t UnitOffset(int unit) const;     // In the file: a multiple of kTsrUnitAlignment.
  int64_t UnitBytes(int unit) const;
  int64_t StoredBytes(int unit) const;    // Rounded up to whole pages of kTsrPage, with zeros, which the checksums cover.
  absl::Span<const TsrEntry> Entries(int unit) const;  // Lives as long as the reader.
  // For messages: "PATH: unit 3, blk.0.attn_q.weight, byte 4096 of the file" at `offset` of the unit.
  std::string Describe(int unit, int64_t offset) const;

  // Blocks are numbered through all units; each unit begins with a new block. REQUIRES: 0 <= block < blocks().
  int64_t blocks() const;
  int64_t FirstBlock(int unit) const;
  int UnitOfBlock(int64_t block) const;
  int UnitAt(int64_t offset) const;       // In the file. REQUIRES: `offset` lies in a unit.
  // Returns OK if `bytes` are the block's bytes; else DataLoss (place in file, unit, entry, checksum found and expected).
  // REQUIRES: all stored bytes of the block, or all bytes before the unit's end.
  absl::Status CheckBlock(int64_t block, absl::Span<const std::byte> bytes) const;
  // Returns the manifest's SHA-256 of each block without zeros; empty for a file of version 1.0, which had none. Reading does not compare
  // these sums: CRC-32C finds damage, and is many times as fast. A file made on purpose may have other blocks: CheckBlockSum says so.
  absl::Span<const Sha256Sum> block_sums() const;
  // Returns OK if the block's bytes have the block's sum, or the file has none. DataLoss and REQUIRES as for CheckBlock.
  absl::Status CheckBlockSum(int64_t block, absl::Span<const std::byte> bytes) const;

  // Read and check. DataLoss as CheckBlock; the errors of RandomAccessFile::Read.
  // REQUIRES: out.size() as CheckBlock takes `bytes`; UnitBytes(unit) or StoredBytes(unit). If direct(), the larger of both, page-aligned.
  absl::Status ReadBlock(int64_t block, absl::Span<std::byte> out) const;
  absl::Status ReadUnit(int unit, absl::Span<std::byte> out) const;

  struct Attachment { absl::string_view name = {}; int64_t bytes = 0, whole_bytes = 0; };
  std::vector<Attachment> attachments() const;  // Names live as long as the reader.
  // NotFound if no attachment has that name; DataLoss (attachment, byte, checksum found and expected) if the attachment is damaged.
  absl::StatusOr<std::vector<std::byte>> ReadAttachment(absl::string_view name) const;
  // To read an attachment by other means: its place, and a check that `stored` are the bytes that were written there.
  // REQUIRES: stored.size() == stored_bytes.
  struct Place {
    int64_t offset = 0, bytes = 0;
    int64_t stored_bytes = 0;  // With the zeros up to a whole page of kTsrPage, which the checksums cover.
  };
  absl::StatusOr<Place> PlaceOfAttachment(absl::string_view name) const;
  absl::Status CheckAttachment(absl::string_view name, absl::Span<const std::byte> stored) const;

  // Returns the faults of both manifests; empty if both are whole. (Open succeeds with one.)
  std::vector<absl::Status> CheckManifests() const;

  bool direct() const { return file_->direct(); }
  // Returns the file that all reads above use. Other ways of reading begin with this file, not with the path: the path may lead to another
  // file by then.
  const std::shared_ptr<const RandomAccessFile>& file() const { return file_; }

 private:
  explicit TsrReader(std::shared_ptr<const RandomAccessFile> file);
  absl::Status ReadSuperblock();
  absl::Status ReadManifest();
  absl::StatusOr<TsrIndex> ReadManifestAt(int64_t offset) const;
  absl::StatusOr<const TsrExtent*> FindAttachment(absl::string_view name) const;
  absl::Status CheckAttachmentBlock(absl::string_view name, const TsrExtent& extent, int64_t block,
                                    absl::Span<const std::byte> bytes) const;
  absl::Status CheckExtentBlock(const TsrExtent& extent, int64_t block, absl::Span<const std::byte> bytes,
                                absl::string_view what) const;

  const std::shared_ptr<const RandomAccessFile> file_;
  absl::Status manifest_damage_;
  std::unique_ptr<Superblock> superblock_;
  std::unique_ptr<TsrIndex> index_;
};

}  // namespace tessera

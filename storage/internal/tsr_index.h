// A parsed manifest of a .tsr file: every number checked, all checksums in one list.
//
//   const TsrManifest manifest = PlanManifest(contents);                        // everything has its place; checksums are 0
//   ASSIGN_OR_RETURN(const TsrIndex index, ParseManifest(bytes, superblock, path));
//   for (const TsrExtent& unit : index.units) Read(unit.offset, unit.stored_bytes());
//
// Blocks are numbered through the units and then the attachments. Errors are InvalidArgument with file, field, found and expected value.
// Thread-safe (plain data, pure functions).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tessera/base/checked_math.h"
#include "tessera/base/sha256.h"
#include "tessera/storage/internal/superblock.h"
#include "tessera/storage/tsr.h"
#include "tessera/storage/tsr.pb.h"

namespace tessera {

// A unit or an attachment in the file.
struct TsrExtent {
  int64_t offset = 0;       // A multiple of kTsrPage.
  int64_t bytes = 0;
  int64_t first_block = 0;
  int64_t stored_bytes() const { return AlignUp(bytes, kTsrPage); }  // With the zeros up to a whole page, which the checksums cover.
  int64_t blocks() const { return CeilDiv(bytes, kTsrBlockBytes); }
};

struct TsrIndex {
  struct Attachment { std::string name; TsrExtent extent; int64_t whole_bytes; };

  std::string layout;
  std::vector<TsrExtent> units;
  std::vector<std::vector<TsrEntry>> entries;  // [unit].
  std::vector<Attachment> attachments;
  std::vector<uint32_t> block_crcs;
  std::vector<Sha256Sum> block_sums;           // By block of all units; empty: the file has none.
};

// Plans a file: attachments behind the manifest, each on a page of its own, then units. No field is checked.
TsrManifest PlanManifest(const TsrContents& contents);

// Parses a manifest. Allocates only as `bytes` justify: a message of two bytes may stand for much more.
absl::StatusOr<TsrIndex> ParseManifest(absl::Span<const std::byte> bytes, const Superblock& superblock, const std::string& path);

}  // namespace tessera

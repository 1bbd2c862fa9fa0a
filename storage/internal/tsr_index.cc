#include "tessera/storage/internal/tsr_index.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "tessera/base/status_macros.h"

namespace tessera {
namespace {

static_assert(sizeof(Sha256Sum) == 32, "sums lie in the file as in memory");

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;

// The smallest unit, of one entry with a name of one byte, has three messages in 28 bytes. Empty messages would take 64 bytes of memory for
// 2 of the file.
constexpr int64_t kLeastBytesPerMessage = 8;

// Counts messages in lists, also inside units, and unknown fields that may be messages; -1 if this is no protobuf. The layout does not
// count: it is one string, however often the field stands there.
int64_t CountMessages(CodedInputStream& in, bool in_unit) {
  int64_t count = 0;
  while (const uint32_t tag = in.ReadTag()) {
    const bool message = WireFormatLite::GetTagWireType(tag) == WireFormatLite::WIRETYPE_LENGTH_DELIMITED;
    const bool layout = !in_unit && WireFormatLite::GetTagFieldNumber(tag) == TsrManifest::kLayoutFieldNumber;
    count += message && !layout;
    int size = 0;
    if (in_unit || !message || WireFormatLite::GetTagFieldNumber(tag) != TsrManifest::kUnitsFieldNumber) {
      if (!WireFormatLite::SkipField(&in, tag)) return -1;
    } else if (in.ReadVarintSizeAsInt(&size)) {
      const CodedInputStream::Limit limit = in.PushLimit(size);
      const int64_t nested = CountMessages(in, true);
      if (nested < 0 || in.BytesUntilLimit() != 0) return -1;
      in.PopLimit(limit);
      count += nested;
    } else {
      return -1;
    }
  }
  return in.ConsumedEntireMessage() ? count : -1;
}

class ManifestChecker {
 public:
  ManifestChecker(const Superblock& superblock, const std::string& path)
      : path_(path), at_(ManifestEnd(superblock)), end_(ManifestCopyOffset(superblock)) {}

  absl::StatusOr<TsrIndex> Check(const TsrManifest& manifest) && {
    if (manifest.layout().size() > kLongestTsrName) {
      return Wrong("layout", absl::StrCat(manifest.layout().size(), " bytes"), absl::StrCat("at most ", kLongestTsrName));
    }
    index_.layout = manifest.layout();
    for (const TsrManifest::Attachment& attachment : manifest.attachments()) RETURN_IF_ERROR(AddAttachment(attachment));
    for (const TsrManifest::Unit& unit : manifest.units()) RETURN_IF_ERROR(AddUnit(unit));
    for (int i = 0; i < manifest.attachments_size(); ++i) Number(manifest.attachments(i).extent(), index_.attachments[i].extent);
    return std::move(index_);
  }

 private:
  template <typename Found, typename Expected>
  absl::Status Wrong(absl::string_view field, const Found& found, const Expected& expected) const {
    return absl::InvalidArgumentError(absl::StrCat(path_, ": manifest ", field, ": found ", found, ", expected ", expected));
  }

  absl::Status AddAttachment(const TsrManifest::Attachment& attachment) {
    const std::string place = absl::StrCat("attachment ", index_.attachments.size());
    RETURN_IF_ERROR(CheckName(place, attachment.name(), attachment_names_));
    ASSIGN_OR_RETURN(const TsrExtent extent, Place(place, attachment.extent(), kTsrPage, 0, kLargestTsrAttachment));
    const uint64_t whole = attachment.whole_bytes();
    if (whole != 0 && (whole < attachment.extent().bytes() || whole > uint64_t{std::numeric_limits<int64_t>::max()})) {
      return Wrong(place + " whole_bytes", whole, absl::StrCat("0, or ", extent.bytes, " or more"));
    }
    index_.attachments.push_back({attachment.name(), extent, static_cast<int64_t>(whole)});
    return absl::OkStatus();
  }

  absl::Status AddUnit(const TsrManifest::Unit& unit) {
    const std::string place = absl::StrCat("unit ", index_.units.size());
    ASSIGN_OR_RETURN(TsrExtent extent, Place(place, unit.extent(), kTsrUnitAlignment, 1, kLargestTsrUnit));
    absl::flat_hash_set<absl::string_view> names;
    std::vector<TsrEntry> entries;
    int64_t end = 0;
    for (const TsrManifest::Entry& entry : unit.entries()) {
      const std::string entry_place = absl::StrCat(place, " entry ", entries.size());
      RETURN_IF_ERROR(CheckName(entry_place, entry.name(), names));
      RETURN_IF_ERROR(CheckEntry(entry_place, entry, end, extent.bytes));
      entries.push_back({entry.name(), static_cast<int64_t>(entry.offset()), static_cast<int64_t>(entry.bytes())});
      end = entries.back().offset + entries.back().bytes;
    }
    RETURN_IF_ERROR(AddSums(place, unit.block_sums(), extent.blocks()));
    Number(unit.extent(), extent);
    index_.units.push_back(extent);
    index_.entries.push_back(std::move(entries));
    return absl::OkStatus();
  }

  // Adds a unit's sums. All units have sums, or none has.
  absl::Status AddSums(const std::string& place, const std::string& sums, int64_t blocks) {
    const bool expected = index_.units.empty() ? !sums.empty() : !index_.block_sums.empty();
    const size_t size = expected ? static_cast<size_t>(blocks) * sizeof(Sha256Sum) : 0;
    if (sums.size() != size) {
      return Wrong(place + " block_sums", absl::StrCat(sums.size(), " bytes"),
                   expected ? absl::StrCat(size, ", ", sizeof(Sha256Sum), " for each MiB") : std::string("none, as unit 0 has"));
    }
    const size_t before = index_.block_sums.size();
    index_.block_sums.resize(before + sums.size() / sizeof(Sha256Sum));
    if (!sums.empty()) std::memcpy(&index_.block_sums[before], sums.data(), sums.size());
    return absl::OkStatus();
  }

  absl::Status CheckName(const std::string& place, const std::string& name, absl::flat_hash_set<absl::string_view>& names) const {
    if (name.empty() || name.size() > kLongestTsrName) {
      return Wrong(place + " name", absl::StrCat(name.size(), " bytes"), absl::StrCat("1 to ", kLongestTsrName));
    }
    if (names.insert(name).second) return absl::OkStatus();
    return Wrong(place + " name", absl::StrCat("\"", absl::CHexEscape(name), "\" a second time"), "each name once");
  }

  absl::Status CheckEntry(const std::string& place, const TsrManifest::Entry& entry, uint64_t begin, uint64_t end) const {
    if (entry.offset() % kTsrEntryAlignment != 0 || entry.offset() < begin) {
      return Wrong(place + " offset", entry.offset(), absl::StrCat("a multiple of ", kTsrEntryAlignment, " from ", begin, " on"));
    }
    const uint64_t left = end - std::min(end, entry.offset());
    if (entry.bytes() >= 1 && entry.bytes() <= left) return absl::OkStatus();
    return Wrong(place + " bytes", entry.bytes(), absl::StrCat("1 to ", left, ", to the end of the unit"));
  }

  // Checks an extent and returns its place. Extents follow each other, and end before the copy of the manifest.
  absl::StatusOr<TsrExtent> Place(const std::string& place, const TsrManifest::Extent& extent, uint64_t alignment, uint64_t least,
                                  uint64_t most) {
    const uint64_t begin = at_, end = end_;
    if (extent.offset() % alignment != 0 || extent.offset() < begin || extent.offset() > end) {
      return Wrong(place + " offset", extent.offset(), absl::StrCat("a multiple of ", alignment, " from ", begin, " to ", end));
    }
    if (extent.bytes() < least || extent.bytes() > std::min(most, end - extent.offset())) {
      return Wrong(place + " bytes", extent.bytes(),
                   absl::StrCat(least, " to ", std::min(most, end - extent.offset()), " (", end - extent.offset(),
                                " left before the copy of the manifest)"));
    }
    const TsrExtent placed = {static_cast<int64_t>(extent.offset()), static_cast<int64_t>(extent.bytes())};
    if (extent.block_crcs_size() != placed.blocks()) {
      return Wrong(place + " block_crcs", extent.block_crcs_size(), absl::StrCat(placed.blocks(), ", one for each MiB"));
    }
    at_ = placed.offset + placed.stored_bytes();  // Not beyond end_, which is a whole page, too.
    return placed;
  }

  void Number(const TsrManifest::Extent& extent, TsrExtent& placed) {
    placed.first_block = static_cast<int64_t>(index_.block_crcs.size());
    index_.block_crcs.insert(index_.block_crcs.end(), extent.block_crcs().begin(), extent.block_crcs().end());
  }

  const std::string& path_;
  int64_t at_;  // Where the next extent may begin.
  const int64_t end_;
  TsrIndex index_;
  absl::flat_hash_set<absl::string_view> attachment_names_;  // Views into the manifest.
};

void PlaceExtent(int64_t bytes, int64_t alignment, int64_t& at, TsrManifest::Extent& extent) {
  at = AlignUp(at, alignment);
  extent.set_offset(at);
  extent.set_bytes(bytes);
  extent.mutable_block_crcs()->Resize(static_cast<int>(CeilDiv(bytes, kTsrBlockBytes)), 0);
  at += AlignUp(bytes, kTsrPage);
}

void PlaceExtents(const TsrContents& contents, int64_t manifest_bytes, TsrManifest& manifest) {
  int64_t at = kManifestOffset + AlignUp(manifest_bytes, kTsrPage);
  for (int i = 0; i < manifest.attachments_size(); ++i) {
    const int64_t bytes = static_cast<int64_t>(contents.attachments[i].bytes.size());
    PlaceExtent(bytes, kTsrPage, at, *manifest.mutable_attachments(i)->mutable_extent());
  }
  for (int i = 0; i < manifest.units_size(); ++i) {
    TsrManifest::Unit& unit = *manifest.mutable_units(i);
    PlaceExtent(contents.units[i].bytes, kTsrUnitAlignment, at, *unit.mutable_extent());
    unit.mutable_block_sums()->resize(static_cast<size_t>(unit.extent().block_crcs_size()) * sizeof(Sha256Sum));
  }
}

}  // namespace

TsrManifest PlanManifest(const TsrContents& contents) {
  TsrManifest manifest;
  manifest.set_layout(contents.layout);
  for (const TsrAttachment& attachment : contents.attachments) {
    TsrManifest::Attachment& added = *manifest.add_attachments();
    added.set_name(attachment.name);
    added.set_whole_bytes(attachment.whole_bytes);
  }
  for (const TsrUnit& unit : contents.units) {
    TsrManifest::Unit& added = *manifest.add_units();
    for (const TsrEntry& entry : unit.entries) {
      TsrManifest::Entry& added_entry = *added.add_entries();
      added_entry.set_name(entry.name);
      added_entry.set_offset(entry.offset);
      added_entry.set_bytes(entry.bytes);
    }
  }
  PlaceExtents(contents, 0, manifest);  // How long the manifest is does not depend on where the extents lie.
  PlaceExtents(contents, static_cast<int64_t>(manifest.ByteSizeLong()), manifest);
  return manifest;
}

absl::StatusOr<TsrIndex> ParseManifest(absl::Span<const std::byte> bytes, const Superblock& superblock, const std::string& path) {
  const auto no_manifest = [&](const std::string& found, absl::string_view expected) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": manifest at byte ", kManifestOffset, ": found ", found, ", expected ", expected));
  };
  const int size = static_cast<int>(bytes.size());
  CodedInputStream in(reinterpret_cast<const uint8_t*>(bytes.data()), size);
  const int64_t messages = CountMessages(in, /*in_unit=*/false);
  if (messages * kLeastBytesPerMessage > size) {
    return no_manifest(absl::StrCat(messages, " messages in ", size, " bytes"),
                       absl::StrCat(kLeastBytesPerMessage, " bytes or more for each"));
  }
  TsrManifest manifest;
  if (messages < 0 || !manifest.ParseFromArray(bytes.data(), size)) {
    return no_manifest(absl::StrCat(size, " bytes that are none"), "a protobuf message");
  }
  return ManifestChecker(superblock, path).Check(manifest);
}

}  // namespace tessera

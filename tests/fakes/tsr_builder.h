// Builds .tsr files as no writer would: any field may be wrong, and every checksum is still right.
//
//   TsrBuilder builder(MakeTsrSample({5000, 100}));
//   builder.manifest.mutable_units(1)->mutable_extent()->set_offset(65536);      // where unit 0 is
//   const std::string bytes = builder.Build();
//
// Units lie where the sample has them, regardless of the manifest. Thread-compatible.
#pragma once

#include <algorithm>
#include <cstring>
#include <functional>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "tessera/base/sha256.h"
#include "tessera/storage/internal/superblock.h"
#include "tessera/storage/internal/tsr_index.h"
#include "tessera/tests/fakes/tsr_sample.h"

namespace tessera {

class TsrBuilder {
 public:
  explicit TsrBuilder(const TsrSample& sample) : manifest(PlanManifest(sample.contents)) {
    int64_t block = 0;
    for (int i = 0; i < manifest.units_size(); ++i) {
      TsrManifest::Unit& unit = *manifest.mutable_units(i);
      Put(sample.units[i], *unit.mutable_extent(), block);
      unit.clear_block_sums();
      for (absl::Span<const std::byte> left = sample.units[i]; !left.empty();) {
        const absl::Span<const std::byte> part = left.first(std::min(left.size(), static_cast<size_t>(kTsrBlockBytes)));
        const Sha256Sum sum = Sha256Of(part);
        unit.mutable_block_sums()->append(reinterpret_cast<const char*>(sum.bytes.data()), sum.bytes.size());
        left.remove_prefix(part.size());
      }
    }
    for (int i = 0; i < manifest.attachments_size(); ++i) {
      Put(sample.contents.attachments[i].bytes, *manifest.mutable_attachments(i)->mutable_extent(), block);
    }
  }

  std::string Build() const {
    const std::string text = manifest_bytes.value_or(manifest.SerializeAsString());
    const size_t padded = AlignUp(static_cast<int64_t>(text.size()), kTsrPage);
    Superblock superblock = {.byte_order = kTsrByteOrder, .major = kTsrMajor, .minor = kTsrMinor, .uuid = kSampleUuid};
    std::memcpy(superblock.magic, kTsrMagic, sizeof kTsrMagic);
    superblock.file_bytes = static_cast<int64_t>(data_.size() + padded) + kTsrPage;
    superblock.manifest_bytes = static_cast<int64_t>(text.size());
    superblock.manifest_crc = BlockCrc(superblock.uuid, kManifestBlock, BytesOf(text));
    change_superblock(superblock);
    superblock.crc = SuperblockCrc(superblock);
    const std::string first(reinterpret_cast<const char*>(&superblock), sizeof superblock);
    std::string bytes = data_ + text + std::string(padded - text.size(), '\0') + first;
    bytes.replace(0, first.size(), first);
    bytes.replace(kManifestOffset, text.size(), text);
    return bytes;
  }

  // Without the manifests and superblocks.
  static absl::Span<const std::byte> BytesOf(absl::string_view text) {
    return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
  }

  TsrManifest manifest;
  std::optional<std::string> manifest_bytes;                            // Replaces the manifest's bytes.
  std::function<void(Superblock&)> change_superblock = [](Superblock&) {};  // Applied before the checksum.

 private:
  void Put(const std::vector<std::byte>& bytes, TsrManifest::Extent& extent, int64_t& block) {
    const size_t begin = extent.offset(), stored = AlignUp(static_cast<int64_t>(bytes.size()), kTsrPage);
    data_.resize(std::max(data_.size(), begin + stored));
    if (!bytes.empty()) std::memcpy(data_.data() + begin, bytes.data(), bytes.size());
    for (int i = 0; i < extent.block_crcs_size(); ++i) {
      const absl::Span<const std::byte> part = BytesOf(data_).subspan(begin, stored).subspan(i * kTsrBlockBytes, kTsrBlockBytes);
      extent.set_block_crcs(i, BlockCrc(kSampleUuid, block++, part));
    }
  }

  std::string data_;  // Up to the end of the last unit.
};

}  // namespace tessera

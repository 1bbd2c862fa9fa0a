// All known bad .tsr files, each with a name and the expected error message: for tests, and as seeds of fuzzing.
//
//   for (const BadTsr& file : BadTsrFiles()) EXPECT_EQ(StatusOf(file.bytes).message(), "PATH: " + file.message);
//
// All are SmallTsr() with one defect. The good file has its manifest at byte 4096, attachments at 8192 and 12288 (300 and 0 bytes), and
// units at 65536 and 131072 (5000 and 100 bytes). The manifest's copy is at 135168 and the footer at 139264. Messages omit the file's path
// and ": ".
#pragma once

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tessera/tests/fakes/tsr_builder.h"

namespace tessera {

struct BadTsr {
  std::string name;
  std::string bytes;
  std::string message;
};

struct SpoiledTsr {
  std::string name;
  std::function<void(TsrBuilder&)> spoil;
  std::string message;
};

inline constexpr uint64_t kMostUint64 = std::numeric_limits<uint64_t>::max();

inline TsrBuilder SmallTsr() { return TsrBuilder(MakeTsrSample({5000, 100})); }

inline void AddSpoiledTsr(const std::vector<SpoiledTsr>& rows, std::vector<BadTsr>& files) {
  for (const SpoiledTsr& row : rows) {
    TsrBuilder builder = SmallTsr();
    row.spoil(builder);
    files.push_back({row.name, builder.Build(), row.message});
  }
}

// The file cut, or with a byte more, at every border between two parts.
inline void AddTruncatedTsr(std::vector<BadTsr>& files) {
  const std::string whole = SmallTsr().Build();
  const auto add = [&](const std::string& name, size_t size) {
    std::string bytes = whole;
    bytes.resize(size);
    files.push_back({name, bytes, size < 4096 ? absl::StrCat("size: found ", size, " bytes, expected 4096 or more")
                                              : absl::StrCat("size: found ", size, " bytes, expected 143360, as the superblock says")});
  };
  add("truncated-to-nothing", 0);
  const std::pair<const char*, size_t> borders[] = {
      {"manifest", 4096}, {"attachment", 8192}, {"empty-attachment", 12288}, {"unit-0", 65536}, {"padding-of-unit-0", 73728},
      {"unit-1", 131072}, {"manifest-copy", 135168}, {"footer", 139264}};
  for (const auto& [name, at] : borders) {
    add(absl::StrCat("truncated-before-", name), at - 1);
    add(absl::StrCat("truncated-at-", name), at);
    add(absl::StrCat("truncated-in-", name), at + 1);
  }
  add("truncated-before-end", whole.size() - 1);
  add("longer-by-a-byte", whole.size() + 1);
  add("longer-by-a-page", whole.size() + 4096);
}

// Files of the right size, or rounded up to the file system's unit, with lost contents: zeros.
inline void AddZeroedTsr(std::vector<BadTsr>& files) {
  const std::string whole = SmallTsr().Build();
  for (const size_t at : {4096, 8192, 65536, 131072, 135168, 139264, 139265, 143359}) {
    std::string bytes = whole.substr(0, at);
    bytes.resize(whole.size());
    files.push_back({absl::StrCat("zeros-from-", at), bytes,
                     "footer at byte 139264: found other bytes than in the superblock, expected the same"});
  }
  for (const size_t size : {size_t{3} << 16, size_t{1} << 20}) {
    std::string bytes = whole;
    bytes.resize(size);
    files.push_back({absl::StrCat("rounded-up-to-", size), bytes,
                     absl::StrCat("size: found ", size, " bytes, expected 143360, as the superblock says")});
  }
}

// Files with bytes changed after all checksums were computed.
inline void AddDamagedTsr(std::vector<BadTsr>& files) {
  const auto add = [&](const std::string& name, const std::vector<size_t>& places, const std::string& message) {
    std::string bytes = SmallTsr().Build();
    for (const size_t place : places) bytes[place] = static_cast<char>(bytes[place] ^ 0x10);
    files.push_back({name, bytes, message});
  };
  const auto crc = [](const std::string& bytes, size_t at) {
    uint32_t value;
    std::memcpy(&value, bytes.data() + at, sizeof value);
    return value;
  };
  const std::string good = SmallTsr().Build();
  std::string changed = good;
  changed[100] ^= 0x10;
  Superblock superblock;
  std::memcpy(&superblock, changed.data(), sizeof superblock);
  add("superblock-reserved-damaged", {100}, absl::StrFormat("superblock crc at byte 4092: found 0x%08x, expected 0x%08x", crc(good, 4092),
                                                             SuperblockCrc(superblock)));
  add("superblock-crc-damaged", {4092}, absl::StrFormat("superblock crc at byte 4092: found 0x%08x, expected 0x%08x",
                                                         crc(good, 4092) ^ 0x10, crc(good, 4092)));
  const std::string footer = "footer at byte 139264: found other bytes than in the superblock, expected the same";
  add("footer-magic-damaged", {139264}, footer);
  add("footer-uuid-damaged", {139264 + 16}, footer);
  add("footer-crc-damaged", {143359}, footer);
  std::memcpy(&superblock, good.data(), sizeof superblock);
  std::string manifest = good.substr(4096, superblock.manifest_bytes);
  manifest[5] ^= 0x10;
  add("both-manifests-damaged", {4096 + 5, 135168 + 5},
      absl::StrFormat("manifest at byte 135168: CRC-32C: found 0x%08x, expected 0x%08x",
                      BlockCrc(kSampleUuid, kManifestBlock, TsrBuilder::BytesOf(manifest)), superblock.manifest_crc));
}

inline void AddBadSuperblocks(std::vector<BadTsr>& files) {
  const auto row = [](const std::string& name, std::function<void(Superblock&)> change, const std::string& message) {
    return SpoiledTsr{name, [change](TsrBuilder& b) { b.change_superblock = change; }, message};
  };
  const std::string magic = ", expected \"\\x89TSR\\r\\n\\x1a\\n\"", order = ", expected 0x01020304 (little-endian)";
  const std::string manifest_bytes = ", expected 0 to 65536", size = "size: found 143360 bytes, expected ";
  const std::string says = ", as the superblock says";
  AddSpoiledTsr(
      {row("magic-of-gguf", [](Superblock& s) { std::memcpy(s.magic, "GGUF\3\0\0\0", 8); },
           "superblock magic at byte 0: found \"GGUF\\x03\\x00\\x00\\x00\"" + magic),
       row("magic-after-text-transfer", [](Superblock& s) { std::memcpy(s.magic, "\x89TSR\n\x1a\n\4", 8); },
           "superblock magic at byte 0: found \"\\x89TSR\\n\\x1a\\n\\x04\"" + magic),
       row("byte-order-big", [](Superblock& s) { s.byte_order = 0x04030201; },
           "superblock byte_order at byte 8: found 0x04030201" + order),
       row("byte-order-none", [](Superblock& s) { s.byte_order = 0; }, "superblock byte_order at byte 8: found 0x00000000" + order),
       row("major-0", [](Superblock& s) { s.major = 0; }, "superblock major at byte 12: found 0, expected 1"),
       row("major-2", [](Superblock& s) { s.major = 2; },
           "superblock major at byte 12: found 2, expected 1: the file is of a later version"),
       row("feature-0", [](Superblock& s) { s.must_understand = 1; },
           "superblock must_understand at byte 32: found feature bit 0, expected no feature that this version does not know"),
       row("feature-63", [](Superblock& s) { s.must_understand = uint64_t{1} << 63; },
           "superblock must_understand at byte 32: found feature bit 63, expected no feature that this version does not know"),
       row("file-bytes-less", [](Superblock& s) { s.file_bytes -= 4096; }, size + "139264" + says),
       row("file-bytes-more", [](Superblock& s) { s.file_bytes += 4096; }, size + "147456" + says),
       row("file-bytes-negative", [](Superblock& s) { s.file_bytes = -1; }, size + "-1" + says),
       row("manifest-bytes-negative", [](Superblock& s) { s.manifest_bytes = -1; },
           "superblock manifest_bytes at byte 48: found -1" + manifest_bytes),
       row("manifest-bytes-beyond-half", [](Superblock& s) { s.manifest_bytes = 65537; },
           "superblock manifest_bytes at byte 48: found 65537" + manifest_bytes),
       row("manifest-bytes-2-gib", [](Superblock& s) { s.manifest_bytes = int64_t{2} << 30; },
           "superblock manifest_bytes at byte 48: found 2147483648" + manifest_bytes),
       row("manifest-bytes-largest", [](Superblock& s) { s.manifest_bytes = std::numeric_limits<int64_t>::max(); },
           "superblock manifest_bytes at byte 48: found 9223372036854775807" + manifest_bytes)},
      files);
}

inline void AddBadManifests(std::vector<BadTsr>& files) {
  const auto raw = [](const std::string& name, const std::string& bytes, const std::string& message) {
    return SpoiledTsr{name, [bytes](TsrBuilder& b) { b.manifest_bytes = bytes; }, "manifest at byte 4096: found " + message};
  };
  std::string units;  // Empty units: field 3, 0 bytes.
  for (int i = 0; i < 1000; ++i) units += std::string("\x1a\0", 2);
  const std::string layout = "\x0a\x10" + std::string(16, 'x');
  const std::string none = " bytes that are none, expected a protobuf message";
  AddSpoiledTsr({raw("manifest-of-text", "no manifest", "11" + none),
                 raw("manifest-cut", SmallTsr().manifest.SerializeAsString().substr(0, 40), "40" + none),
                 raw("manifest-with-tag-0", std::string(1, '\0') + "abc", "4" + none),
                 raw("manifest-with-end-of-group", "\x0c", "1" + none),
                 raw("manifest-unit-too-long", layout + "\x1a\x7f", "20" + none),
                 raw("manifest-length-of-2-gib", layout + "\x1a\xff\xff\xff\xff\x07", "24" + none),
                 raw("manifest-of-empty-units", units, "1000 messages in 2000 bytes, expected 8 bytes or more for each")},
                files);
}

inline void AddBadAttachments(std::vector<BadTsr>& files) {
  const auto row = [](const std::string& name, std::function<void(TsrManifest::Attachment&)> spoil, const std::string& message) {
    return SpoiledTsr{"attachment-" + name, [spoil](TsrBuilder& b) { spoil(*b.manifest.mutable_attachments(0)); },
                      "manifest attachment 0 " + message};
  };
  using Attachment = TsrManifest::Attachment;
  const std::string offset = ", expected a multiple of 4096 from 8192 to 135168";
  AddSpoiledTsr(
      {row("without-name", [](Attachment& a) { a.clear_name(); }, "name: found 0 bytes, expected 1 to 255"),
       row("name-of-256", [](Attachment& a) { a.set_name(std::string(256, 'x')); }, "name: found 256 bytes, expected 1 to 255"),
       row("without-extent", [](Attachment& a) { a.clear_extent(); }, "offset: found 0" + offset),
       row("in-the-manifest", [](Attachment& a) { a.mutable_extent()->set_offset(4096); }, "offset: found 4096" + offset),
       row("unaligned", [](Attachment& a) { a.mutable_extent()->set_offset(8193); }, "offset: found 8193" + offset),
       row("beyond-the-end", [](Attachment& a) { a.mutable_extent()->set_offset(139264); }, "offset: found 139264" + offset),
       row("too-large", [](Attachment& a) { a.mutable_extent()->set_bytes((128 << 20) + 1); },
           "bytes: found 134217729, expected 0 to 126976 (126976 left before the copy of the manifest)"),
       row("without-crcs", [](Attachment& a) { a.mutable_extent()->clear_block_crcs(); },
           "block_crcs: found 0, expected 1, one for each MiB"),
       row("of-less-than-itself", [](Attachment& a) { a.set_whole_bytes(299); }, "whole_bytes: found 299, expected 0, or 300 or more"),
       row("of-a-whole-beyond-63-bits", [](Attachment& a) { a.set_whole_bytes(uint64_t{1} << 63); },
           "whole_bytes: found 9223372036854775808, expected 0, or 300 or more"),
       {"attachment-name-twice", [](TsrBuilder& b) { b.manifest.mutable_attachments(1)->set_name("config"); },
        "manifest attachment 1 name: found \"config\" a second time, expected each name once"},
       {"layout-of-256", [](TsrBuilder& b) { b.manifest.set_layout(std::string(256, 'x')); },
        "manifest layout: found 256 bytes, expected at most 255"}},
      files);
}

inline void AddBadUnits(std::vector<BadTsr>& files) {
  const auto row = [](const std::string& name, int unit, std::function<void(TsrManifest::Extent&)> spoil, const std::string& message) {
    return SpoiledTsr{"unit-" + name, [unit, spoil](TsrBuilder& b) { spoil(*b.manifest.mutable_units(unit)->mutable_extent()); },
                      absl::StrCat("manifest unit ", unit, " ", message)};
  };
  using Extent = TsrManifest::Extent;
  const std::string first = ", expected a multiple of 65536 from 12288 to 135168";
  const std::string second = ", expected a multiple of 65536 from 73728 to 135168";
  const std::string left = ", expected 1 to 69632 (69632 left before the copy of the manifest)";
  AddSpoiledTsr(
      {row("without-offset", 0, [](Extent& e) { e.clear_offset(); }, "offset: found 0" + first),
       row("unaligned", 0, [](Extent& e) { e.set_offset(65536 + 4096); }, "offset: found 69632" + first),
       row("overlaps-another", 1, [](Extent& e) { e.set_offset(65536); }, "offset: found 65536" + second),
       row("beyond-the-end", 1, [](Extent& e) { e.set_offset(196608); }, "offset: found 196608" + second),
       row("beyond-63-bits", 1, [](Extent& e) { e.set_offset(uint64_t{1} << 63); }, "offset: found 9223372036854775808" + second),
       row("at-the-last-place", 1, [](Extent& e) { e.set_offset(kMostUint64 - 65535); }, "offset: found 18446744073709486080" + second),
       row("empty", 0, [](Extent& e) { e.set_bytes(0); }, "bytes: found 0" + left),
       row("into-the-manifest-copy", 0, [](Extent& e) { e.set_bytes(69633); }, "bytes: found 69633" + left),
       row("of-a-gib-and-more", 0, [](Extent& e) { e.set_bytes((uint64_t{1} << 30) + 1); }, "bytes: found 1073741825" + left),
       row("of-all-bytes", 0, [](Extent& e) { e.set_bytes(kMostUint64); }, "bytes: found 18446744073709551615" + left),
       row("without-crcs", 1, [](Extent& e) { e.clear_block_crcs(); }, "block_crcs: found 0, expected 1, one for each MiB"),
       row("with-a-crc-more", 1, [](Extent& e) { e.add_block_crcs(1); }, "block_crcs: found 2, expected 1, one for each MiB"),
       {"unit-without-sums-beside-others", [](TsrBuilder& b) { b.manifest.mutable_units(1)->clear_block_sums(); },
        "manifest unit 1 block_sums: found 0 bytes, expected 32, 32 for each MiB"},
       {"unit-with-sums-beside-others", [](TsrBuilder& b) { b.manifest.mutable_units(0)->clear_block_sums(); },
        "manifest unit 1 block_sums: found 32 bytes, expected none, as unit 0 has"},
       {"unit-with-a-short-sum", [](TsrBuilder& b) { b.manifest.mutable_units(0)->mutable_block_sums()->resize(31); },
        "manifest unit 0 block_sums: found 31 bytes, expected 32, 32 for each MiB"},
       {"unit-with-a-sum-more", [](TsrBuilder& b) { b.manifest.mutable_units(1)->mutable_block_sums()->resize(64); },
        "manifest unit 1 block_sums: found 64 bytes, expected 32, 32 for each MiB"},
       {"unit-over-the-next", [](TsrBuilder& b) { b.manifest.mutable_units(0)->mutable_extent()->set_bytes(65537); },
        "manifest unit 1 offset: found 131072, expected a multiple of 65536 from 135168 to 135168"},
       {"units-in-wrong-order", [](TsrBuilder& b) { b.manifest.mutable_units()->SwapElements(0, 1); },
        "manifest unit 1 offset: found 65536, expected a multiple of 65536 from 135168 to 135168"}},
      files);
}

inline void AddBadEntries(std::vector<BadTsr>& files) {
  const auto row = [](const std::string& name, int entry, std::function<void(TsrManifest::Entry&)> spoil, const std::string& message) {
    return SpoiledTsr{"entry-" + name, [entry, spoil](TsrBuilder& b) { spoil(*b.manifest.mutable_units(0)->mutable_entries(entry)); },
                      absl::StrCat("manifest unit 0 entry ", entry, " ", message)};
  };
  using Entry = TsrManifest::Entry;
  const std::string offset = ", expected a multiple of 64 from 2500 on", bytes = ", expected 1 to 2440, to the end of the unit";
  AddSpoiledTsr(
      {row("without-name", 0, [](Entry& e) { e.clear_name(); }, "name: found 0 bytes, expected 1 to 255"),
       row("name-of-256", 1, [](Entry& e) { e.set_name(std::string(256, 'x')); }, "name: found 256 bytes, expected 1 to 255"),
       row("name-twice", 1, [](Entry& e) { e.set_name("unit0.a"); }, "name: found \"unit0.a\" a second time, expected each name once"),
       row("unaligned", 1, [](Entry& e) { e.set_offset(2561); }, "offset: found 2561" + offset),
       row("overlaps-another", 1, [](Entry& e) { e.set_offset(2496); }, "offset: found 2496" + offset),
       row("of-no-bytes", 1, [](Entry& e) { e.clear_bytes(); }, "bytes: found 0" + bytes),
       row("over-the-end", 1, [](Entry& e) { e.set_bytes(2441); }, "bytes: found 2441" + bytes),
       row("of-all-bytes", 1, [](Entry& e) { e.set_bytes(kMostUint64); }, "bytes: found 18446744073709551615" + bytes),
       row("beyond-the-end", 1, [](Entry& e) { e.set_offset(kMostUint64 - 63); },
           "bytes: found 2440, expected 1 to 0, to the end of the unit")},
      files);
}

inline std::vector<BadTsr> BadTsrFiles() {
  std::vector<BadTsr> files;
  AddTruncatedTsr(files);
  AddZeroedTsr(files);
  AddDamagedTsr(files);
  AddBadSuperblocks(files);
  AddBadManifests(files);
  AddBadAttachments(files);
  AddBadUnits(files);
  AddBadEntries(files);
  return files;
}

}  // namespace tessera

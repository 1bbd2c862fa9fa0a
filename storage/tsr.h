// The contents of a .tsr file: units of weights in the order of a pass, and attachments, which are named byte strings.
//
//   const TsrUnit unit = {.bytes = 4096, .entries = {{"blk.0.attn_q.weight", /*offset=*/0, /*bytes=*/4000}}};
//   const TsrContents contents = {.layout = "my-layout-1", .units = {unit}, .attachments = {{"config", config_bytes}}};
//   ASSIGN_OR_RETURN(const bool packed, IsTsrFile("model.tsr"));    // by its first bytes, not by its name
//
// tsr_writer.h writes such a file, tsr_reader.h opens one; docs/tsr_format.md is the format. Names, layout and bytes mean nothing to
// storage: the writing program decides about the meaning. Plain data; the functions are thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/base/cpp20.h"
#include "tessera/base/file.h"

namespace tessera {

inline constexpr int64_t kTsrPage = 4096;                          // O_DIRECT requires multiples for offsets and sizes.
inline constexpr int64_t kTsrBlockBytes = int64_t{1} << 20;        // Under one checksum, counted from the beginning of a unit.
inline constexpr int64_t kTsrUnitAlignment = int64_t{64} << 10;    // In the file: the largest page of any kernel.
inline constexpr int64_t kTsrEntryAlignment = 64;                  // In its unit.
inline constexpr int64_t kLargestTsrUnit = int64_t{1} << 30;       // In the format; streamed units are smaller (weight_source.h).
inline constexpr int64_t kLargestTsrAttachment = int64_t{128} << 20;
inline constexpr int64_t kLargestTsrManifest = int64_t{16} << 20;  // Enough for 2 TB of units of 16 MiB.
inline constexpr int64_t kLongestTsrName = 255;

// A tensor, or some of its rows.
struct TsrEntry {
  std::string name = {};    // Once in a unit; 1 to kLongestTsrName bytes.
  int64_t offset = 0;  // In the unit: a multiple of kTsrEntryAlignment, after the entry before.
  int64_t bytes = 0;   // 1 or more.
  friend bool operator==(const TsrEntry&, const TsrEntry&) = default;
};

struct TsrUnit {
  int64_t bytes = 0;   // 1 to kLargestTsrUnit.
  std::vector<TsrEntry> entries = {};
  friend bool operator==(const TsrUnit&, const TsrUnit&) = default;
};

struct TsrAttachment {
  std::string name = {};              // Once in a file; 1 to kLongestTsrName bytes.
  std::vector<std::byte> bytes = {};  // At most kLargestTsrAttachment.
  int64_t whole_bytes = 0;       // If `bytes` are only a prefix of longer data: the data's length. 0: `bytes` are complete.
};

struct TsrContents {
  std::string layout = {};            // The layout of the units' bytes: at most kLongestTsrName bytes.
  std::vector<TsrUnit> units = {};
  std::vector<TsrAttachment> attachments = {};
};

// Tells a file from all others, also from earlier versions of the file.
using TsrUuid = std::array<std::byte, 16>;
TsrUuid RandomTsrUuid();
std::string FormatTsrUuid(const TsrUuid& uuid);  // "6ba7b810-9dad-41d1-80b4-00c04fd430c8"

// Returns whether the file begins as a .tsr file does. Returns the errors of RandomAccessFile.
absl::StatusOr<bool> IsTsrFile(const std::string& path);
absl::StatusOr<bool> IsTsrFile(const RandomAccessFile& file);

}  // namespace tessera

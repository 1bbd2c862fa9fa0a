// What a .tsr file holds: units of weights in the order in which a pass reads them, and attachments, which are named byte
// strings.
//
//   const TsrUnit unit = {.bytes = 4096, .entries = {{"blk.0.attn_q.weight", /*offset=*/0, /*bytes=*/4000}}};
//   const TsrContents contents = {.layout = "my-layout-1", .units = {unit}, .attachments = {{"config", config_bytes}}};
//   ASSIGN_OR_RETURN(const bool packed, IsTsrFile("model.tsr"));    // by its first bytes, not by its name
//
// tsr_writer.h writes such a file, tsr_reader.h opens it; docs/tsr_format.md is the format. Names, layout and bytes mean nothing to
// storage: the program that writes them decides. Plain data; the functions are thread-safe.
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

inline constexpr int64_t kTsrPage = 4096;                          // What O_DIRECT asks of offsets and sizes.
inline constexpr int64_t kTsrBlockBytes = int64_t{1} << 20;        // Under one checksum, counted from the beginning of a unit.
inline constexpr int64_t kTsrUnitAlignment = int64_t{64} << 10;    // In the file: the largest page of any kernel.
inline constexpr int64_t kTsrEntryAlignment = 64;                  // In its unit.
inline constexpr int64_t kLargestTsrUnit = int64_t{1} << 30;       // In the format; what is streamed has smaller ones (weight_source.h).
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
  int64_t whole_bytes = 0;       // If `bytes` are only the beginning of something longer: its length. 0: they are all.
};

struct TsrContents {
  std::string layout = {};            // How the bytes of units lie: at most kLongestTsrName bytes.
  std::vector<TsrUnit> units = {};
  std::vector<TsrAttachment> attachments = {};
};

// Tells a file from all others, its earlier versions included.
using TsrUuid = std::array<std::byte, 16>;
TsrUuid RandomTsrUuid();
std::string FormatTsrUuid(const TsrUuid& uuid);  // "6ba7b810-9dad-41d1-80b4-00c04fd430c8"

// Whether the file begins as a .tsr file does. The errors of RandomAccessFile.
absl::StatusOr<bool> IsTsrFile(const std::string& path);
absl::StatusOr<bool> IsTsrFile(const RandomAccessFile& file);

}  // namespace tessera

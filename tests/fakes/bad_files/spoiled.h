// One row of a table of bad files: the way to spoil a good file, and the message that must refuse the result.
//
//   {"magic-fugg", [](GgufBuilder& b) { b.Corrupt<uint32_t>("magic", 0x47475546); }, "magic at byte 0: found \"FUGG\", ..."}
//
// Names describe the defect briefly, and fit into a file name. Messages omit the file's path and ": " at their start.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "tessera/quant/block_format.h"
#include "tessera/tests/fakes/gguf_builder.h"

namespace tessera {

struct BadFile {
  std::string name;
  std::string bytes;
  std::string message;
};

struct Spoiled {
  std::string name;
  std::function<void(GgufBuilder&)> spoil;
  std::string message;
};

constexpr uint64_t kLargestUint64 = ~uint64_t{0};

// The good file that the tables of the format spoil: two tensors, and every kind of metadata.
inline GgufBuilder SmallGguf() {
  GgufBuilder builder;
  builder.String("name", "abc").Alignment(32).Numbers<bool>("flags", {true, false, true}).Strings("words", {"x", "", "yz"});
  builder.Numbers<float>("floats", {1, 2});
  builder.Tensor("a", {32, 2}, 0, std::string(256, 'a')).Tensor("b", {64}, 8, std::string(68, 'b'));
  return builder;
}

// Adds a file for each row to `files`.
inline void AddSpoiled(const GgufBuilder& good, const std::vector<Spoiled>& rows, std::vector<BadFile>& files) {
  for (const Spoiled& row : rows) {
    GgufBuilder builder = good;
    row.spoil(builder);
    files.push_back({row.name, builder.Build(), row.message});
  }
}

// Returns the end of a message about a GGUF type that is not supported.
inline std::string SupportedTypes() {
  std::string list;
  for (const BlockFormatInfo& info : AllBlockFormats()) {
    if (!info.in_gguf()) continue;
    absl::StrAppend(&list, list.empty() ? "" : ", ", info.name, " (", info.gguf_type, ")");
  }
  return " is not supported; supported: " + list;
}

}  // namespace tessera

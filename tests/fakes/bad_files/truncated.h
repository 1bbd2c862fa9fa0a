// SmallGguf() cut off at every border between two of its fields, one byte before and one byte after it.
//
//   for (size_t size = 0; size < SmallGguf().Build().size(); ++size) EXPECT_EQ(StatusOf(Prefix(size)), MessageOfPrefix(size));
//
// The list of reads below, the file's layout written down once more by hand, gives the message for each prefix.
#pragma once

#include "tessera/tests/fakes/bad_files/spoiled.h"

namespace tessera {

struct GgufRead {
  const char* name;    // Name of the border before the read.
  const char* field;   // The read's name in messages.
  size_t bytes;
};

// Every read of SmallGguf()'s header, in order, from byte 0 on.
inline constexpr GgufRead kReadsOfSmallGguf[] = {
    {"magic", "magic", 4},
    {"version", "version", 4},
    {"tensor-count", "tensor_count", 8},
    {"metadata-count", "metadata_count", 8},
    {"key-length", "metadata[0] key", 8},
    {"key", "metadata[0] key", 4},
    {"type", "metadata \"name\" type", 4},
    {"string-length", "metadata \"name\" value", 8},
    {"string", "metadata \"name\" value", 3},
    {"alignment-key-length", "metadata[1] key", 8},
    {"alignment-key", "metadata[1] key", 17},
    {"alignment-type", "metadata \"general.alignment\" type", 4},
    {"alignment", "metadata \"general.alignment\" value", 4},
    {"flags-key-length", "metadata[2] key", 8},
    {"flags-key", "metadata[2] key", 5},
    {"flags-type", "metadata \"flags\" type", 4},
    {"flags-element-type", "metadata \"flags\" element_type", 4},
    {"flags-count", "metadata \"flags\" count", 8},
    {"flags", "metadata \"flags\" value", 3},
    {"words-key-length", "metadata[3] key", 8},
    {"words-key", "metadata[3] key", 5},
    {"words-type", "metadata \"words\" type", 4},
    {"words-element-type", "metadata \"words\" element_type", 4},
    {"words-count", "metadata \"words\" count", 8},
    {"word-0-length", "metadata \"words\" value[0]", 8},
    {"word-0", "metadata \"words\" value[0]", 1},
    {"word-1-length", "metadata \"words\" value[1]", 8},
    {"word-2-length", "metadata \"words\" value[2]", 8},
    {"word-2", "metadata \"words\" value[2]", 2},
    {"floats-key-length", "metadata[4] key", 8},
    {"floats-key", "metadata[4] key", 6},
    {"floats-type", "metadata \"floats\" type", 4},
    {"floats-element-type", "metadata \"floats\" element_type", 4},
    {"floats-count", "metadata \"floats\" count", 8},
    {"floats", "metadata \"floats\" value", 8},
    {"name-length", "tensor[0] name", 8},
    {"name", "tensor[0] name", 1},
    {"dimensions", "tensor \"a\" n_dims", 4},
    {"ne0", "tensor \"a\" ne[0]", 8},
    {"ne1", "tensor \"a\" ne[1]", 8},
    {"tensor-type", "tensor \"a\" type", 4},
    {"offset", "tensor \"a\" offset", 8},
    {"name-1-length", "tensor[1] name", 8},
    {"name-1", "tensor[1] name", 1},
    {"dimensions-1", "tensor \"b\" n_dims", 4},
    {"ne0-1", "tensor \"b\" ne[0]", 8},
    {"tensor-type-1", "tensor \"b\" type", 4},
    {"offset-1", "tensor \"b\" offset", 8},
};

// Returns the message for a count or a length that is too large, known before the counted data are read; empty if there is none.
inline std::string CountMessageOfPrefix(size_t size) {
  struct Count { const char* field; size_t begin, end, count, each; const char* unit; };  // begin and end: of the number's bytes.
  constexpr Count kCounts[] = {{"tensor_count", 8, 16, 2, 33, "a tensor takes 33 or more"},
                               {"metadata_count", 16, 24, 5, 14, "an entry takes 14 or more"},
                               {"metadata \"flags\" count", 105, 113, 3, 1, "BOOL takes 1"},
                               {"metadata \"words\" count", 137, 145, 3, 8, "STRING takes 8 or more"},
                               {"metadata \"floats\" count", 194, 202, 2, 4, "FLOAT32 takes 4"}};
  for (const Count& count : kCounts) {
    if (size < count.end || (size - count.end) / count.each >= count.count) continue;
    return absl::StrCat(count.field, " at byte ", count.begin, ": found ", count.count, ", expected at most ",
                        (size - count.end) / count.each, " (", size - count.end, " bytes left, ", count.unit, ")");
  }
  return "";
}

inline std::string MessageOfPrefix(size_t size) {
  const std::string count = CountMessageOfPrefix(size);
  if (!count.empty()) return count;
  const auto truncated = [size](const char* field, size_t begin, size_t bytes) {
    return absl::StrCat(field, " at byte ", begin, ": the file is truncated: needs ", bytes, " bytes, ",
                        size > begin ? size - begin : 0, " left");
  };
  size_t begin = 0;
  for (const GgufRead& read : kReadsOfSmallGguf) {
    if (size < begin + read.bytes) return truncated(read.field, begin, read.bytes);
    begin += read.bytes;
  }
  // The data of the tensors: 256 bytes from 288 on and 68 bytes after these.
  return size < 288 + 256 ? truncated("tensor \"a\" data", 288, 256) : truncated("tensor \"b\" data", 544, 68);
}

inline void AddTruncated(std::vector<BadFile>& files) {
  const std::string whole = SmallGguf().Build();
  const auto add = [&](const std::string& name, size_t size) {
    files.push_back({name, whole.substr(0, size), MessageOfPrefix(size)});
  };
  const auto add_border = [&](const std::string& border, size_t at) {
    if (at > 0) add("truncated-before-" + border, at - 1);
    add("truncated-at-" + border, at);
    add("truncated-in-" + border, at + 1);
  };
  size_t begin = 0;
  for (const GgufRead& read : kReadsOfSmallGguf) {
    add_border(read.name, begin);
    begin += read.bytes;
  }
  add_border("padding", begin);
  add_border("data", 288);
  add_border("data-1", 544);
  add("truncated-before-end", whole.size() - 1);
}

}  // namespace tessera

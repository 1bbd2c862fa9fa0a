// All known bad safetensors files, each with a name and the expected error message: for tests, and as seeds of fuzzing.
//
//   for (const BadSafetensors& file : BadSafetensorsFiles()) EXPECT_EQ(StatusOf(file.bytes).message(), "PATH: " + file.message);
//   const std::string good = SafetensorsBuilder().Build();
//
// All are SafetensorsBuilder() with one defect. The good file has texts, and tensors "a" (F32 [2, 3]: 1 to 6), "b" (F16 [4]: 1, -2, 0.5,
// 0), "c" (BF16, one number: 3) and "e" (I64 [0]) in 34 bytes. Messages omit the file's path and ": ". A message that ends in * gives only
// the start of the expected message. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tessera/base/half.h"

namespace tessera {

// Names and values are JSON as in the header.
struct SafetensorsBuilder {
  struct Entry {
    std::string name;
    std::string dtype = "\"F32\"";   // An empty text leaves the field out.
    std::string shape = "[1]";
    std::string offsets = "[0,4]";
    std::string more = "";           // After the fields: ",\"x\":1".
    std::string whole = "";          // Replaces all fields, if not empty.
  };

  std::string metadata = "{\"format\":\"pt\"}";
  std::vector<Entry> entries = {{"a", "\"F32\"", "[2,3]", "[0,24]"}, {"b", "\"F16\"", "[4]", "[24,32]"},
                                {"c", "\"BF16\"", "[]", "[32,34]"}, {"e", "\"I64\"", "[0]", "[34,34]"}};
  std::string tail = "";                           // Before the header's last brace.
  std::string data = GoodData();
  std::optional<std::string> header = {};          // Replaces the header that the entries give.
  std::optional<uint64_t> length = {};             // Replaces the header's length.
  std::optional<size_t> size = {};                 // The size to which the file is cut.

  std::string Header() const {
    if (header.has_value()) return *header;
    std::string text = absl::StrCat("{\"__metadata__\":", metadata);
    for (const Entry& entry : entries) absl::StrAppend(&text, ",\"", entry.name, "\":", FieldsOf(entry));
    return absl::StrCat(text, tail, "}");
  }

  std::string Build() const {
    const std::string text = Header();
    std::string file = BytesOf(length.value_or(text.size())) + text + data;
    if (size.has_value()) file.resize(*size);
    return file;
  }

  template <typename T>
  static std::string BytesOf(T value) {
    return std::string(reinterpret_cast<const char*>(&value), sizeof value);
  }

 private:
  static std::string FieldsOf(const Entry& entry) {
    if (!entry.whole.empty()) return entry.whole;
    std::string fields;
    const auto add = [&](const char* key, const std::string& value) {
      if (!value.empty()) absl::StrAppend(&fields, fields.empty() ? "" : ",", "\"", key, "\":", value);
    };
    add("dtype", entry.dtype), add("shape", entry.shape), add("data_offsets", entry.offsets);
    return absl::StrCat("{", fields, entry.more, "}");
  }

  static std::string GoodData() {
    std::string bytes;
    for (int i = 1; i <= 6; ++i) bytes += BytesOf(static_cast<float>(i));
    for (const float number : {1.0f, -2.0f, 0.5f, 0.0f}) bytes += BytesOf(FloatToHalf(number));
    return bytes + BytesOf(FloatToBFloat16(3.0f));
  }
};

struct BadSafetensors {
  std::string name;
  std::string bytes;
  std::string message;
};

struct SpoiledSafetensors {
  std::string name;
  std::function<void(SafetensorsBuilder&)> spoil;
  std::string message;
};

inline std::vector<SpoiledSafetensors> BadSafetensorsFrames() {
  using B = SafetensorsBuilder;
  const std::string header = B().Header(), length = "header length at byte 0: ", begins = ", expected JSON that begins with {";
  const size_t end = 8 + header.size();
  const std::string most = ", expected at most 16777216", unread = "header: line 1, byte *";
  return {
      {"truncated-to-nothing", [](B& b) { b.size = 0; }, length + "the file is truncated: needs 8 bytes, 0 left"},
      {"truncated-in-length", [](B& b) { b.size = 7; }, length + "the file is truncated: needs 8 bytes, 7 left"},
      {"truncated-in-header", [](B& b) { b.size = 20; },
       absl::StrCat(length, "found ", header.size(), ", expected at most 12, the bytes that follow")},
      {"length-0", [](B& b) { b.length = 0; }, "header at byte 8: found \"\"" + begins},
      {"length-beyond-the-file", [header](B& b) { b.length = header.size() + 35; },
       absl::StrCat(length, "found ", header.size() + 35, ", expected at most ", header.size() + 34, ", the bytes that follow")},
      {"length-one-too-many", [](B& b) { b.length = 16777217; }, length + "found 16777217" + most},
      {"length-2-63", [](B& b) { b.length = uint64_t{1} << 63; }, length + "found 9223372036854775808" + most},
      {"length-largest", [](B& b) { b.length = ~uint64_t{0}; }, length + "found 18446744073709551615" + most},
      {"header-an-array", [](B& b) { b.header = "[]"; }, "header at byte 8: found \"[]\"" + begins},
      {"header-after-a-blank", [](B& b) { b.header = " {}"; }, "header at byte 8: found \" {}\"" + begins},
      {"header-with-byte-order-mark", [](B& b) { b.header = "\xef\xbb\xbf{}"; }, "header at byte 8: found \"\\xef\\xbb\\xbf{}\"" + begins},
      {"header-with-zeros", [header](B& b) { b.header = header + std::string(3, '\0'); },
       absl::StrCat("header at byte ", end, ": found a zero byte, expected JSON")},
      {"header-cut", [header](B& b) { b.header = header.substr(0, header.size() - 1); }, unread},
      {"header-and-another", [header](B& b) { b.header = header + "{}"; }, unread},
      {"header-not-utf8", [](B& b) { b.entries[0].name = "\xc0\x80"; }, unread},
      {"header-of-nested-arrays", [](B& b) { b.entries[0].whole = std::string(100, '[') + std::string(100, ']'); }, unread},
      {"name-twice", [](B& b) { b.entries[1].name = "a"; }, unread},
      {"name-twice-escaped", [](B& b) { b.entries[1].name = "\\u0061"; }, unread},
      {"metadata-twice", [](B& b) { b.tail = ",\"__metadata__\":{}"; }, unread},
      {"metadata-a-string", [](B& b) { b.metadata = "\"pt\""; }, "header: __metadata__: found a string, expected an object of strings"},
      {"metadata-of-numbers", [](B& b) { b.metadata = "{\"format\":1}"; }, "header: __metadata__.format: found 1, expected a string"},
      {"metadata-nested", [](B& b) { b.metadata = "{\"format\":{}}"; }, "header: __metadata__.format: found an object, expected a string"},
  };
}

inline std::vector<SpoiledSafetensors> BadSafetensorsTables() {
  using B = SafetensorsBuilder;
  const std::string a = "tensor \"a\"", fields = ", expected an object of dtype, shape and data_offsets";
  const std::string types = ", expected one of BOOL, U8, I8, U16, I16, F16, BF16, U32, I32, F32, U64, I64, F64";
  const std::string least = ", expected an integer of at least 0", wide = " does not fit in 63 bits";
  const std::string nothing = ": found nothing, expected a value";
  return {
      {"name-empty", [](B& b) { b.entries[0].name = ""; }, "tensor \"\": found a name of 0 bytes, expected 1 to 1024"},
      {"name-of-1025-bytes", [](B& b) { b.entries[0].name = std::string(1025, 'x'); },
       absl::StrCat("tensor \"", std::string(64, 'x'), "...\": found a name of 1025 bytes, expected 1 to 1024")},
      {"name-with-newline", [](B& b) { b.entries[0].name = "a\\nb"; }, "tensor \"a\\nb\": found this name, expected printable UTF-8"},
      {"tensor-a-number", [](B& b) { b.entries[0].whole = "5"; }, a + ": found an integer" + fields},
      {"field-unknown", [](B& b) { b.entries[0].more = ",\"strides\":[3,1]"; }, a + ": found the field \"strides\"" + fields + " alone"},
      {"without-dtype", [](B& b) { b.entries[0].dtype = ""; }, "header: a.dtype" + nothing},
      {"without-shape", [](B& b) { b.entries[0].shape = ""; }, "header: a.shape" + nothing},
      {"without-offsets", [](B& b) { b.entries[0].offsets = ""; }, "header: a.data_offsets" + nothing},
      {"dtype-not-read", [](B& b) { b.entries[0].dtype = "\"F8_E4M3\""; }, a + " dtype: found \"F8_E4M3\"" + types},
      {"dtype-in-small-letters", [](B& b) { b.entries[0].dtype = "\"f32\""; }, a + " dtype: found \"f32\"" + types},
      {"dtype-a-number", [](B& b) { b.entries[0].dtype = "5"; }, "header: a.dtype: found 5, expected a string"},
      {"shape-a-number", [](B& b) { b.entries[0].shape = "6"; }, "header: a.shape: found 6, expected an array of integers"},
      {"shape-negative", [](B& b) { b.entries[0].shape = "[2,-3]"; }, "header: a.shape[1]: found -3" + least},
      {"shape-with-fractions", [](B& b) { b.entries[0].shape = "[2.5,3]"; }, "header: a.shape[0]: found 2.5" + least},
      {"shape-beyond-63-bits", [](B& b) { b.entries[0].shape = "[9223372036854775808]"; },
       "header: a.shape[0]: found 9223372036854775808" + least},
      {"shape-overflows", [](B& b) { b.entries[0].shape = "[4294967296,4294967296]"; },
       a + " shape: size 4294967296 x 4294967296" + wide},
      {"bytes-overflow", [](B& b) { b.entries[0].shape = "[2305843009213693952]"; }, a + " shape: size 2305843009213693952 x 4" + wide},
      {"shape-of-9-dimensions", [](B& b) { b.entries[0].shape = "[1,1,1,1,1,1,1,2,3]"; },
       a + " shape: found 9 dimensions, expected at most 8"},
  };
}

inline std::vector<SpoiledSafetensors> BadSafetensorsPlaces() {
  using B = SafetensorsBuilder;
  const std::string of = "\" data_offsets: found ", a = "tensor \"a" + of, second = "tensor \"b" + of, c = "tensor \"c" + of;
  const size_t end = B().Build().size();
  return {
      {"offsets-of-three", [](B& b) { b.entries[0].offsets = "[0,12,24]"; }, a + "[0, 12, 24], expected a begin and an end"},
      {"offsets-negative", [](B& b) { b.entries[0].offsets = "[-1,24]"; },
       "header: a.data_offsets[0]: found -1, expected an integer of at least 0"},
      {"offsets-reversed", [](B& b) { b.entries[0].offsets = "[24,0]"; }, a + "[24, 0], expected an end that is no less than the begin"},
      {"offsets-beyond-the-data", [](B& b) { b.entries[2].offsets = "[32,36]"; },
       c + "[32, 36], expected an end of at most 34, the bytes after the header"},
      {"offsets-largest", [](B& b) { b.entries[0].offsets = "[0,9223372036854775807]"; },
       a + "[0, 9223372036854775807], expected an end of at most 34, the bytes after the header"},
      {"shape-of-more", [](B& b) { b.entries[0].shape = "[2,4]"; }, a + "[0, 24], expected 32 bytes for F32 [2, 4]"},
      {"shape-of-none", [](B& b) { b.entries[0].shape = "[2,0]"; }, a + "[0, 24], expected 0 bytes for F32 [2, 0]"},
      {"type-of-more", [](B& b) { b.entries[1].dtype = "\"F32\""; }, second + "[24, 32], expected 16 bytes for F32 [4]"},
      {"number-of-more", [](B& b) { b.entries[2].dtype = "\"F32\""; }, c + "[32, 34], expected 4 bytes for F32 []"},
      {"overlap", [](B& b) { b.entries[1].offsets = "[16,24]"; }, second + "a begin of 16, expected 24, where tensor \"a\" ends"},
      {"same-place", [](B& b) { b.entries[1].offsets = "[0,8]"; }, a + "a begin of 0, expected 8, where tensor \"b\" ends"},
      {"nothing-inside-another", [](B& b) { b.entries[3].offsets = "[8,8]"; },
       "tensor \"e\" data_offsets: found a begin of 8, expected 24, where tensor \"a\" ends"},
      {"gap-at-the-beginning", [](B& b) { b.entries.erase(b.entries.begin()); },
       second + "a begin of 24, expected 0, where the data begins"},
      {"gap", [](B& b) { b.entries.erase(b.entries.begin() + 1); }, c + "a begin of 32, expected 24, where tensor \"a\" ends"},
      {"more-data", [](B& b) { b.data += "x"; },
       absl::StrCat("data at byte ", end, ": found 1 bytes more, expected none after the last tensor")},
      {"no-tensors", [](B& b) { b.header = "{}"; }, "data at byte 10: found 34 bytes more, expected none after the last tensor"},
      {"truncated-data", [end](B& b) { b.size = end - 1; }, c + "[32, 34], expected an end of at most 33, the bytes after the header"},
  };
}

inline std::vector<BadSafetensors> BadSafetensorsFiles() {
  std::vector<BadSafetensors> files;
  for (const auto& table : {BadSafetensorsFrames(), BadSafetensorsTables(), BadSafetensorsPlaces()}) {
    for (const SpoiledSafetensors& row : table) {
      SafetensorsBuilder builder;
      row.spoil(builder);
      files.push_back({row.name, builder.Build(), row.message});
    }
  }
  return files;
}

}  // namespace tessera

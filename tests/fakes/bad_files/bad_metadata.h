// Files whose header or metadata violate the format. All spoil SmallGguf().
//
// `b` is the builder of the good file; a corrupted field keeps its place.
#pragma once

#include "tessera/tests/fakes/bad_files/spoiled.h"

namespace tessera {

inline std::vector<Spoiled> BadHeader() {
  return {
      {"magic-other", [](GgufBuilder& b) { b.Corrupt<uint32_t>("magic", 0x46474D4C); },
       "magic at byte 0: found \"LMGF\", expected \"GGUF\""},
      {"magic-reversed", [](GgufBuilder& b) { b.Corrupt<uint32_t>("magic", 0x47475546); },
       "magic at byte 0: found \"FUGG\", a big-endian file, expected \"GGUF\" (little-endian)"},
      {"magic-zero", [](GgufBuilder& b) { b.Corrupt<uint32_t>("magic", 0); },
       "magic at byte 0: found \"\\x00\\x00\\x00\\x00\", expected \"GGUF\""},
      {"version-0", [](GgufBuilder& b) { b.Version(0); }, "version at byte 4: found 0, expected 2 or 3"},
      {"version-1", [](GgufBuilder& b) { b.Version(1); },
       "version at byte 4: found 1, an early form with 32-bit lengths, expected 2 or 3; convert the model again"},
      {"version-4", [](GgufBuilder& b) { b.Version(4); }, "version at byte 4: found 4, expected 2 or 3"},
      {"version-largest", [](GgufBuilder& b) { b.Version(0xffffffff); }, "version at byte 4: found 4294967295, expected 2 or 3"},
      {"version-reversed", [](GgufBuilder& b) { b.Version(0x03000000); },
       "version at byte 4: found 50331648, a big-endian file of version 3, expected a little-endian file"},
      {"tensor-count-largest", [](GgufBuilder& b) { b.Corrupt<uint64_t>("tensor_count", kLargestUint64); },
       "tensor_count at byte 8: found 18446744073709551615, expected at most 18"
       " (596 bytes left, a tensor takes 33 or more)"},
      {"tensor-count-2-63", [](GgufBuilder& b) { b.Corrupt<uint64_t>("tensor_count", uint64_t{1} << 63); },
       "tensor_count at byte 8: found 9223372036854775808, expected at most 18 (596 bytes left, a tensor takes 33 or more)"},
      {"tensor-count-one-more", [](GgufBuilder& b) { b.Corrupt<uint64_t>("tensor_count", 3); },
       "tensor[2] name at byte 284: found a length of 7016996763659665408, expected 1 to 63"},
      {"metadata-count-largest", [](GgufBuilder& b) { b.Corrupt<uint64_t>("metadata_count", kLargestUint64); },
       "metadata_count at byte 16: found 18446744073709551615, expected at most 42"
       " (588 bytes left, an entry takes 14 or more)"},
      {"metadata-count-10-8", [](GgufBuilder& b) { b.Corrupt<uint64_t>("metadata_count", 100'000'000); },
       "metadata_count at byte 16: found 100000000, expected at most 42 (588 bytes left, an entry takes 14 or more)"},
      {"metadata-count-one-more", [](GgufBuilder& b) { b.Corrupt<uint64_t>("metadata_count", 6); },
       "tensor[0] name at byte 225: found a length of 562949953421312, expected 1 to 63"},
      {"tensor-count-2-62", [](GgufBuilder& b) { b.Corrupt<uint64_t>("tensor_count", uint64_t{1} << 62); },
       "tensor_count at byte 8: found 4611686018427387904, expected at most 18 (596 bytes left, a tensor takes 33 or more)"},
      {"metadata-count-0", [](GgufBuilder& b) { b.Corrupt<uint64_t>("metadata_count", 0); },
       "tensor \"name\" n_dims at byte 36: found 8, expected 1 to 4"},
  };
}

inline std::vector<Spoiled> BadKey() {
  return {
      {"key-empty", [](GgufBuilder& b) { b.Corrupt<uint64_t>("metadata name key_length", 0); },
       "metadata[0] key at byte 24: found a length of 0, expected 1 to 65535"},
      {"key-65536-bytes", [](GgufBuilder& b) { b.Number<uint8_t>(std::string(65536, 'k'), 1); },
       "metadata[5] key at byte 210: found a length of 65536, expected 1 to 65535"},
      {"key-length-largest", [](GgufBuilder& b) { b.Corrupt<uint64_t>("metadata name key_length", kLargestUint64); },
       "metadata[0] key at byte 24: found a length of 18446744073709551615, expected 1 to 65535"},
      {"key-past-end", [](GgufBuilder& b) { b.Corrupt<uint64_t>("metadata name key_length", 60000); },
       "metadata[0] key at byte 32: the file is truncated: needs 60000 bytes, 580 left"},
      {"key-not-utf8", [](GgufBuilder& b) { b.Number<uint8_t>("k\xff", 1); },
       "metadata[5] key at byte 218: found \"k\\xff\", expected printable UTF-8"},
      {"key-surrogate", [](GgufBuilder& b) { b.Number<uint8_t>("\xed\xa0\x80", 1); },
       "metadata[5] key at byte 218: found \"\\xed\\xa0\\x80\", expected printable UTF-8"},
      {"key-with-nul", [](GgufBuilder& b) { b.Number<uint8_t>(std::string("k\0k", 3), 1); },
       "metadata[5] key at byte 218: found \"k\\x00k\", expected printable UTF-8"},
      {"key-with-escape", [](GgufBuilder& b) { b.Number<uint8_t>("k\x1b[2J", 1); },
       "metadata[5] key at byte 218: found \"k\\x1b[2J\", expected printable UTF-8"},
      {"key-with-c1-control", [](GgufBuilder& b) { b.Number<uint8_t>("\xc2\x9b", 1); },
       "metadata[5] key at byte 218: found \"\\xc2\\x9b\", expected printable UTF-8"},
      {"key-twice", [](GgufBuilder& b) { b.String("name", "again"); },
       "metadata[5] key at byte 218: found \"name\" a second time, expected each key once"},
      {"alignment-twice", [](GgufBuilder& b) { b.Alignment(32); },
       "metadata[5] key at byte 218: found \"general.alignment\" a second time, expected each key once"},
  };
}

inline std::vector<Spoiled> BadValue() {
  return {
      {"type-13", [](GgufBuilder& b) { b.Corrupt<uint32_t>("metadata name type", 13); },
       "metadata \"name\" type at byte 36: found 13, expected 0 (UINT8) to 12 (FLOAT64)"},
      {"type-largest", [](GgufBuilder& b) { b.Corrupt<uint32_t>("metadata name type", 0xffffffff); },
       "metadata \"name\" type at byte 36: found 4294967295, expected 0 (UINT8) to 12 (FLOAT64)"},
      {"element-type-13", [](GgufBuilder& b) { b.Corrupt<uint32_t>("metadata flags element_type", 13); },
       "metadata \"flags\" element_type at byte 101: found 13, expected 0 (UINT8) to 12 (FLOAT64)"},
      {"element-type-array", [](GgufBuilder& b) { b.Corrupt<uint32_t>("metadata flags element_type", 9); },
       "metadata \"flags\" element_type at byte 101: found 9"
       " (ARRAY), expected any other type: nested arrays are not supported"},
      {"nested-array-of-a-million", [](GgufBuilder& b) { b.Array("array", GgufType::kArray, 1000000, std::string(64, '\0')); },
       "metadata \"array\" element_type at byte 227: found 9"
       " (ARRAY), expected any other type: nested arrays are not supported"},
      {"array-count-largest", [](GgufBuilder& b) { b.Corrupt<uint64_t>("metadata floats count", kLargestUint64); },
       "metadata \"floats\" count at byte 194: found 18446744073709551615, expected at most 102"
       " (410 bytes left, FLOAT32 takes 4)"},
      {"array-count-times-size-wraps", [](GgufBuilder& b) { b.Corrupt<uint64_t>("metadata floats count", uint64_t{1} << 62); },
       "metadata \"floats\" count at byte 194: found 4611686018427387904, expected at most 102"
       " (410 bytes left, FLOAT32 takes 4)"},
      {"string-count-times-size-wraps", [](GgufBuilder& b) { b.Corrupt<uint64_t>("metadata words count", uint64_t{1} << 61); },
       "metadata \"words\" count at byte 137: found 2305843009213693952, expected at most 58"
       " (467 bytes left, STRING takes 8 or more)"},
      {"array-of-10-9-at-the-end", [](GgufBuilder& b) { b.Array("array", GgufType::kUint8, 1'000'000'000, ""); },
       "metadata \"array\" count at byte 231: found 1000000000, expected at most 405 (405 bytes left, UINT8 takes 1)"},
      {"string-length-2-63", [](GgufBuilder& b) { b.Corrupt<uint64_t>("metadata name value", uint64_t{1} << 63); },
       "metadata \"name\" value at byte 48: the file is truncated: needs 9223372036854775808 bytes, 564 left"},
      {"string-length-largest", [](GgufBuilder& b) { b.Corrupt<uint64_t>("metadata words value", kLargestUint64); },
       "metadata \"words\" value[0] at byte 153: the file is truncated: needs 18446744073709551615 bytes, 459 left"},
      {"last-string-past-end",
       [](GgufBuilder& b) { b.Array("array", GgufType::kString, 2, std::string(8, '\0') + std::string(8, '\x7f')); },
       "metadata \"array\" value[1] at byte 255: the file is truncated: needs 9187201950435737471 bytes, 421 left"},
      {"bool-2", [](GgufBuilder& b) { b.Corrupt<uint8_t>("metadata flags value", 2); },
       "metadata \"flags\" value[0] at byte 113: found 2, expected 0 or 1 for a BOOL"},
      {"bool-255", [](GgufBuilder& b) { b.Number<bool>("flag", true).Corrupt<uint8_t>("metadata flag value", 255); },
       "metadata \"flag\" value at byte 226: found 255, expected 0 or 1 for a BOOL"},
  };
}

inline std::vector<Spoiled> BadAlignment() {
  const auto with = [](auto add) {
    return [add](GgufBuilder& b) {
      b = GgufBuilder();
      add(b);
      b.Tensor("a", {1}, 0, "1234");
    };
  };
  const std::string key = "general.alignment";
  return {
      {"alignment-0", with([=](GgufBuilder& b) { b.Number<uint32_t>(key, 0); }),
       "metadata \"general.alignment\" value at byte 53: found 0, expected a power of two from 8 to 65536"},
      {"alignment-3", with([=](GgufBuilder& b) { b.Number<uint32_t>(key, 3); }),
       "metadata \"general.alignment\" value at byte 53: found 3, expected a power of two from 8 to 65536"},
      {"alignment-4", with([=](GgufBuilder& b) { b.Number<uint32_t>(key, 4); }),
       "metadata \"general.alignment\" value at byte 53: found 4, expected a power of two from 8 to 65536"},
      {"alignment-131072", with([=](GgufBuilder& b) { b.Number<uint32_t>(key, 131072); }),
       "metadata \"general.alignment\" value at byte 53: found 131072, expected a power of two from 8 to 65536"},
      {"alignment-2-31", with([=](GgufBuilder& b) { b.Number<uint32_t>(key, 1u << 31); }),
       "metadata \"general.alignment\" value at byte 53: found 2147483648, expected a power of two from 8 to 65536"},
      {"alignment-int32", with([=](GgufBuilder& b) { b.Number<int32_t>(key, 32); }),
       "metadata \"general.alignment\" value at byte 53: found type INT32, expected UINT32"},
      {"alignment-uint64", with([=](GgufBuilder& b) { b.Number<uint64_t>(key, 32); }),
       "metadata \"general.alignment\" value at byte 53: found type UINT64, expected UINT32"},
      {"alignment-string", with([=](GgufBuilder& b) { b.String(key, "32"); }),
       "metadata \"general.alignment\" value at byte 53: found type STRING, expected UINT32"},
      {"alignment-array", with([=](GgufBuilder& b) { b.Numbers<uint32_t>(key, {}); }),
       "metadata \"general.alignment\" value at byte 65: found type ARRAY, expected UINT32"},
  };
}

inline void AddBadMetadata(std::vector<BadFile>& files) {
  for (const auto& table : {BadHeader(), BadKey(), BadValue(), BadAlignment()}) AddSpoiled(SmallGguf(), table, files);
}

}  // namespace tessera

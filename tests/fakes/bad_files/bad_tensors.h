// Files whose table of tensors violates the format, or does not fit the file. All spoil SmallGguf().
//
// `b` is the builder of the good file; a corrupted field keeps its place.
#pragma once

#include "tessera/tests/fakes/bad_files/spoiled.h"

namespace tessera {

inline std::vector<Spoiled> BadTensorName() {
  return {
      {"name-empty", [](GgufBuilder& b) { b.Corrupt<uint64_t>("tensor a name_length", 0); },
       "tensor[0] name at byte 210: found a length of 0, expected 1 to 63"},
      {"name-64-bytes", [](GgufBuilder& b) { b.Tensor(std::string(64, 'n'), {1}, 0, "1234"); },
       "tensor[2] name at byte 284: found a length of 64, expected 1 to 63"},
      {"name-length-largest", [](GgufBuilder& b) { b.Corrupt<uint64_t>("tensor a name_length", kLargestUint64); },
       "tensor[0] name at byte 210: found a length of 18446744073709551615, expected 1 to 63"},
      {"name-with-nul", [](GgufBuilder& b) { b.Tensor(std::string("n\0l", 3), {1}, 0, "1234"); },
       "tensor[2] name at byte 292: found \"n\\x00l\", expected printable UTF-8"},
      {"name-twice", [](GgufBuilder& b) { b.Tensor("a", {1}, 0, "1234"); },
       "tensor[2] name at byte 292: found \"a\" a second time, expected each name once"},
      {"name-not-utf8", [](GgufBuilder& b) { b.Tensor("n\xc0\x80", {1}, 0, "1234"); },
       "tensor[2] name at byte 292: found \"n\\xc0\\x80\", expected printable UTF-8"},
  };
}

inline std::vector<Spoiled> BadDimension() {
  return {
      {"dimensions-0", [](GgufBuilder& b) { b.Corrupt<uint32_t>("tensor a n_dims", 0); },
       "tensor \"a\" n_dims at byte 219: found 0, expected 1 to 4"},
      {"dimensions-5", [](GgufBuilder& b) { b.Corrupt<uint32_t>("tensor a n_dims", 5); },
       "tensor \"a\" n_dims at byte 219: found 5, expected 1 to 4"},
      {"dimensions-largest", [](GgufBuilder& b) { b.Corrupt<uint32_t>("tensor a n_dims", 0xffffffff); },
       "tensor \"a\" n_dims at byte 219: found 4294967295, expected 1 to 4"},
      {"ne0-0", [](GgufBuilder& b) { b.Corrupt<uint64_t>("tensor a ne0", 0); },
       "tensor \"a\" ne[0] at byte 223: found 0, expected 1 to 9223372036854775807"},
      {"ne1-0", [](GgufBuilder& b) { b.Corrupt<uint64_t>("tensor a ne1", 0); },
       "tensor \"a\" ne[1] at byte 231: found 0, expected 1 to 9223372036854775807"},
      {"ne1-minus-1", [](GgufBuilder& b) { b.Corrupt<uint64_t>("tensor a ne1", kLargestUint64); },
       "tensor \"a\" ne[1] at byte 231: found 18446744073709551615, expected 1 to 9223372036854775807"},
      {"ne0-2-63", [](GgufBuilder& b) { b.Corrupt<uint64_t>("tensor a ne0", uint64_t{1} << 63); },
       "tensor \"a\" ne[0] at byte 223: found 9223372036854775808, expected 1 to 9223372036854775807"},
  };
}

inline std::vector<Spoiled> BadSize() {
  return {
      {"size-2-32-squared", [](GgufBuilder& b) { b.Tensor("c", {uint64_t{1} << 32, uint64_t{1} << 32}, 0, ""); },
       "tensor \"c\" shape at byte 293: size 4294967296 x 4294967296 does not fit in 63 bits"},
      {"type-i8", [](GgufBuilder& b) { b.Tensor("c", {kLargestUint64 >> 1, 2}, 24, ""); },
       std::string("tensor \"c\" type at byte 313: GGUF type 24 (I8: integers, no weights)") + SupportedTypes()},
      {"size-rows-wrap", [](GgufBuilder& b) { b.Tensor("c", {kLargestUint64 >> 1, 2}, 30, ""); },
       "tensor \"c\" shape at byte 293: size 2 x 9223372036854775807 does not fit in 63 bits"},
      {"size-2-61-floats", [](GgufBuilder& b) { b.Tensor("c", {uint64_t{1} << 61}, 0, ""); },
       "tensor \"c\" shape at byte 293: size 2305843009213693952 x 4 does not fit in 63 bits"},
      {"size-pad-wraps", [](GgufBuilder& b) { b.Tensor("c", {kLargestUint64 / 4}, 0, ""); },
       "tensor \"c\" shape at byte 293: size 4611686018427387903 x 4 does not fit in 63 bits"},
      {"size-blocks-of-2-63-values", [](GgufBuilder& b) { b.Tensor("c", {uint64_t{1} << 62, 2}, 2, ""); },
       "tensor \"c\" shape at byte 293: size 2 x 4611686018427387904 does not fit in 63 bits"},
      {"size-4-dimensions-wrap", [](GgufBuilder& b) { b.Tensor("c", {2, uint64_t{1} << 32, uint64_t{1} << 31, 1}, 0, ""); },
       "tensor \"c\" shape at byte 293: size 4294967296 x 2147483648 does not fit in 63 bits"},
      {"row-not-whole-blocks", [](GgufBuilder& b) { b.Tensor("c", {48}, 8, std::string(68, 'c')); },
       "tensor \"c\" shape at byte 293: 1 rows of 48 values in Q8_0: expected rows of whole blocks of 32"},
      {"row-not-whole-super-blocks", [](GgufBuilder& b) { b.Tensor("c", {32, 8}, 14, std::string(210, 'c')); },
       "tensor \"c\" shape at byte 293: 8 rows of 32 values in Q6_K: expected rows of whole blocks of 256"},
      {"size-2-62", [](GgufBuilder& b) { b.Tensor("c", {uint64_t{1} << 62}, 0, ""); },
       "tensor \"c\" shape at byte 293: size 4611686018427387904 x 4 does not fit in 63 bits"},
  };
}

inline std::vector<Spoiled> BadTensorType() {
  return {
      {"type-4-withdrawn", [](GgufBuilder& b) { b.Corrupt<uint32_t>("tensor a type", 4); },
       "tensor \"a\" type at byte 239: GGUF type 4 (Q4_2, withdrawn: take the model in another format, or convert it again)" +
           SupportedTypes()},
      {"type-31-withdrawn", [](GgufBuilder& b) { b.Corrupt<uint32_t>("tensor a type", 31); },
       "tensor \"a\" type at byte 239: GGUF type 31 (Q4_0_4_4, repacked for one kind of processor and withdrawn: take the model in Q4_0, "
       "which has the same weights)" + SupportedTypes()},
      {"type-of-tensor-largest", [](GgufBuilder& b) { b.Corrupt<uint32_t>("tensor a type", 0xffffffff); },
       std::string("tensor \"a\" type at byte 239: GGUF type 4294967295 (unknown)") + SupportedTypes()},
      {"type-q8-k-of-tensor", [](GgufBuilder& b) { b.Corrupt<uint32_t>("tensor a type", 15); },
       "tensor \"a\" type at byte 239: GGUF type 15 (Q8_K, a format of intermediate results: convert the model again, for example to "
       "Q8_0)" + SupportedTypes()},
  };
}

inline std::vector<Spoiled> BadData() {
  return {
      {"offset-unaligned", [](GgufBuilder& b) { b.Corrupt<uint64_t>("tensor b offset", 257); },
       "tensor \"b\" offset at byte 276: found 257, expected a multiple of 32 within the file"},
      {"offset-misaligned", [](GgufBuilder& b) { b.Corrupt<uint64_t>("tensor b offset", 264); },
       "tensor \"b\" offset at byte 276: found 264, expected a multiple of 32 within the file"},
      {"offset-same-as-another", [](GgufBuilder& b) { b.Corrupt<uint64_t>("tensor b offset", 0); },
       "tensor \"b\" data at byte 288: overlaps tensor \"a\", expected byte 544 or later"},
      {"offset-into-another", [](GgufBuilder& b) { b.Corrupt<uint64_t>("tensor b offset", 224); },
       "tensor \"b\" data at byte 512: overlaps tensor \"a\", expected byte 544 or later"},
      {"offset-far-enough-for-none", [](GgufBuilder& b) { b.Corrupt<uint64_t>("tensor a offset", 256); },
       "tensor \"a\" data at byte 544: the file is truncated: needs 256 bytes, 68 left"},
      {"offset-end-past-eof", [](GgufBuilder& b) { b.Corrupt<uint64_t>("tensor b offset", 288); },
       "tensor \"b\" data at byte 576: the file is truncated: needs 68 bytes, 36 left"},
      {"offset-past-eof", [](GgufBuilder& b) { b.Corrupt<uint64_t>("tensor b offset", 1 << 20); },
       "tensor \"b\" data at byte 1048864: the file is truncated: needs 68 bytes, 0 left"},
      {"offset-largest", [](GgufBuilder& b) { b.Corrupt<uint64_t>("tensor b offset", kLargestUint64 - 31); },
       "tensor \"b\" offset at byte 276: found 18446744073709551584, expected a multiple of 32 within the file"},
      {"offset-sum-overflows", [](GgufBuilder& b) { b.Corrupt<uint64_t>("tensor b offset", (uint64_t{1} << 63) - 32); },
       "tensor \"b\" data at byte 288: size 288 + 9223372036854775776 does not fit in 63 bits"},
      {"shape-larger-than-data", [](GgufBuilder& b) { b.Corrupt<uint64_t>("tensor a ne1", 3); },
       "tensor \"a\" data at byte 288: the file is truncated: needs 384 bytes, 324 left"},
      {"data-too-short", [](GgufBuilder& b) { b.Tensor("c", {1024}, 0, "too few"); },
       "tensor \"c\" data at byte 672: the file is truncated: needs 4096 bytes, 7 left"},
      {"type-larger-than-data", [](GgufBuilder& b) { b.Corrupt<uint32_t>("tensor b type", 0); },
       "tensor \"b\" data at byte 544: the file is truncated: needs 256 bytes, 68 left"},
      {"offset-2-62", [](GgufBuilder& b) { b.Corrupt<uint64_t>("tensor b offset", uint64_t{1} << 62); },
       "tensor \"b\" data at byte 4611686018427388192: the file is truncated: needs 68 bytes, 0 left"},
  };
}

inline void AddBadTensors(std::vector<BadFile>& files) {
  for (const auto& table : {BadTensorName(), BadDimension(), BadSize(), BadTensorType(), BadData()}) {
    AddSpoiled(SmallGguf(), table, files);
  }
}

}  // namespace tessera

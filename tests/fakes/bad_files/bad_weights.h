// Models whose tensors are not those that their metadata asks for, or hold no numbers.
//
// All spoil tiny llamas: `b` is the builder.
#pragma once

#include "absl/strings/ascii.h"
#include "tessera/tests/fakes/bad_files/spoiled.h"
#include "tessera/tests/fakes/tiny_model.h"

namespace tessera {

inline std::vector<Spoiled> BadShapes() {
  const auto without = [](const char* name) { return [=](GgufBuilder& b) { b.RemoveTensor(name); }; };
  const auto other = [](const std::string& name, const std::vector<uint64_t>& shape) {
    return [=](GgufBuilder& b) {
      uint64_t values = 1;
      for (uint64_t size : shape) values *= size;
      b.RemoveTensor(name).Tensor(name, shape, 0, std::string(4 * values, '\0'));
    };
  };
  return {
      {"table-missing", without("token_embd.weight"), "tensor token_embd.weight: missing, expected [64, vocabulary <= 16777216]"},
      {"table-one-dimension", other("token_embd.weight", {64}),
       "tensor token_embd.weight: shape at byte 5666: found [64], expected [64, vocabulary <= 16777216]"},
      {"table-other-width", other("token_embd.weight", {32, 265}),
       "tensor token_embd.weight: shape at byte 5666: found [32, 265], expected [64, 265]"},
      {"table-without-rows-for-all", other("token_embd.weight", {64, 264}),
       "metadata \"tokenizer.ggml.tokens\" value at byte 1892: found 265 entries, "
       "expected at most 264, the rows of token_embd.weight"},
      {"output-norm-missing", without("output_norm.weight"), "tensor output_norm.weight: missing, expected 1 x 64"},
      {"output-norm-too-short", other("output_norm.weight", {32}),
       "tensor output_norm.weight: shape at byte 5674: found [32], expected [64]"},
      {"output-norm-two-dimensions", other("output_norm.weight", {64, 1}),
       "tensor output_norm.weight: shape at byte 5674: found [64, 1], expected [64]"},
      {"head-other-rows", other("output.weight", {64, 266}),
       "tensor output.weight: shape at byte 5666: found [64, 266], expected [64, 265]"},
      {"matrix-missing", without("blk.1.ffn_down.weight"), "tensor blk.1.ffn_down.weight: missing, expected 64 x 96"},
      {"matrix-transposed", other("blk.0.ffn_up.weight", {96, 64}),
       "tensor blk.0.ffn_up.weight: shape at byte 5666: found [96, 64], expected [64, 96]"},
      {"matrix-three-dimensions", other("blk.0.attn_q.weight", {64, 64, 1}),
       "tensor blk.0.attn_q.weight: shape at byte 5666: found [64, 64, 1], expected [64, 64]"},
      {"matrix-of-last-layer-short", other("blk.1.attn_v.weight", {64, 31}),
       "tensor blk.1.attn_v.weight: shape at byte 5666: found [64, 31], expected [64, 32]"},
      {"bias-in-one-layer-only", [](GgufBuilder& b) { b.Tensor("blk.0.attn_q.bias", {64}, 0, std::string(256, '\0')); },
       "tensor blk.0.attn_k.bias: missing, expected 1 x 32"},
  };
}

// Where in a block which bytes spoil it.
inline std::vector<std::pair<int, std::string>> NotFinitePlaces(const BlockFormatInfo& info) {
  switch (info.format) {
    case BlockFormat::kF32: return {{0, std::string("\0\0\xc0\x7f", 4)}};
    case BlockFormat::kF16: return {{0, std::string("\0\x7c", 2)}};
    case BlockFormat::kBF16: return {{0, "\xc0\x7f"}};
    case BlockFormat::kIQ1_M: return {{52, std::string("\0\xc0\0\x70", 4)}};  // An infinity, in the top bits of two words.
    case BlockFormat::kMXFP4: return {{0, "\xff\x77"}};                        // 12 times the largest scale.
    default: break;
  }
  std::vector<std::pair<int, std::string>> places;
  for (const int scale : info.scales) {
    if (scale >= 0) places.emplace_back(scale, std::string("\0\x7c", 2));
  }
  return places;
}

// An infinity or NaN as one value, or one block's scale or minimum, of a matrix in each format.
inline void AddNotFinite(std::vector<BadFile>& files) {
  for (const BlockFormatInfo& info : AllBlockFormats()) {
    const int size = info.values_per_block > 32 ? 256 : 64;
    GgufBuilder builder =
        TinyModelBuilder({.width = size, .feed_forward = size, .head_size = size / 4, .layers = 1, .formats = {info.format}});
    const std::string bytes = builder.Build();
    const size_t block = builder.OffsetOf("data") + 3 * info.bytes_per_block;  // In the first tensor, token_embd.weight.
    const bool plain = info.values_per_block == 1;
    for (const auto& [place, number] : NotFinitePlaces(info)) {
      files.push_back({absl::StrCat("not-finite-", absl::AsciiStrToLower(info.name), "-", place), bytes,
                       absl::StrCat("tensor token_embd.weight: ", info.name, plain ? " value 3" : " block 3", " at byte ", block,
                                    ": found a NaN or an infinity, expected finite numbers")});
      files.back().bytes.replace(block + place, number.size(), number);
    }
  }
}

inline void AddBadWeights(std::vector<BadFile>& files) {
  AddSpoiled(TinyModelBuilder({}), BadShapes(), files);
  AddNotFinite(files);
}

}  // namespace tessera

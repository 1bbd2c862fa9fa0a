// Models whose tensors are not the ones that the metadata ask for, or hold values that are not numbers.
//
// All spoil tiny llamas: `b` is the builder.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "tessera/tests/fakes/bad_files/spoiled.h"
#include "tessera/tests/fakes/tiny_model.h"

namespace tessera {

// Replaces a tensor by a tensor of zeros with another shape.
inline std::function<void(GgufBuilder&)> WithShape(const std::string& name, const std::vector<uint64_t>& shape) {
  return [=](GgufBuilder& b) {
    uint64_t values = 1;
    for (uint64_t size : shape) values *= size;
    b.RemoveTensor(name).Tensor(name, shape, 0, std::string(4 * values, '\0'));
  };
}

inline std::vector<Spoiled> BadShapes() {
  const auto without = [](const char* name) { return [=](GgufBuilder& b) { b.RemoveTensor(name); }; };
  return {
      {"table-missing", without("token_embd.weight"), "tensor token_embd.weight: missing, expected [64, vocabulary <= 16777216]"},
      {"table-one-row", WithShape("token_embd.weight", {64}),
       "metadata \"tokenizer.ggml.tokens\" value at byte 1892: found 265 entries, "
       "expected at most 1, the rows of token_embd.weight"},
      {"table-three-dimensions", WithShape("token_embd.weight", {64, 265, 2}),
       "tensor token_embd.weight: shape at byte 5664: found [64, 265, 2], expected [64, vocabulary <= 16777216]"},
      {"table-other-width", WithShape("token_embd.weight", {32, 265}),
       "tensor token_embd.weight: shape at byte 5664: found [32, 265], expected [64, 265]"},
      {"table-without-rows-for-all", WithShape("token_embd.weight", {64, 264}),
       "metadata \"tokenizer.ggml.tokens\" value at byte 1892: found 265 entries, "
       "expected at most 264, the rows of token_embd.weight"},
      {"output-norm-missing", without("output_norm.weight"), "tensor output_norm.weight: missing, expected 1 x 64"},
      {"output-norm-too-short", WithShape("output_norm.weight", {32}),
       "tensor output_norm.weight: shape at byte 5672: found [32], expected [64]"},
      {"output-norm-two-rows", WithShape("output_norm.weight", {64, 2}),
       "tensor output_norm.weight: shape at byte 5672: found [64, 2], expected [64]"},
      {"output-norm-of-one-column", WithShape("output_norm.weight", {1, 64}),
       "tensor output_norm.weight: shape at byte 5672: found [1, 64], expected [64]"},
      {"head-other-rows", WithShape("output.weight", {64, 266}),
       "tensor output.weight: shape at byte 5664: found [64, 266], expected [64, 265]"},
      {"matrix-missing", without("blk.1.ffn_down.weight"), "tensor blk.1.ffn_down.weight: missing, expected 64 x 96"},
      {"matrix-transposed", WithShape("blk.0.ffn_up.weight", {96, 64}),
       "tensor blk.0.ffn_up.weight: shape at byte 5664: found [96, 64], expected [64, 96]"},
      {"matrix-three-dimensions", WithShape("blk.0.attn_q.weight", {64, 32, 2}),
       "tensor blk.0.attn_q.weight: shape at byte 5664: found [64, 32, 2], expected [64, 64]"},
      {"matrix-of-last-layer-short", WithShape("blk.1.attn_v.weight", {64, 31}),
       "tensor blk.1.attn_v.weight: shape at byte 5664: found [64, 31], expected [64, 32]"},
      {"bias-too-short", [](GgufBuilder& b) { b.Tensor("blk.0.attn_q.bias", {63}, 0, std::string(252, '\0')); },
       "tensor blk.0.attn_q.bias: shape at byte 5721: found [63], expected [64]"},
  };
}

// Returns the places in a block and the bytes that spoil the block there.
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

// Tensors that no operation would read.
inline std::vector<Spoiled> TensorsOfOthers() {
  const auto with = [](const std::string& name) {
    return [=](GgufBuilder& b) { b.Tensor(name, {64}, 0, std::string(256, '\0')); };
  };
  const auto refused = [](const std::string& name, const std::string& part) {
    return "tensor \"" + name + "\": found a tensor that no part of a llama model reads" +
           (part.empty() ? "" : " (not supported here: " + part + ")") +
           ", expected none, since the model would write other texts without it; "
           "convert the original model again, or run the file with a program that reads it";
  };
  std::vector<Spoiled> all;
  struct Other { const char* name; const char* tensor; const char* part = ""; };
  for (const auto& [name, tensor, part] : {Other{"head-bias", "output.bias"},
                                           Other{"norm-bias", "blk.1.attn_norm.bias", "layer norms"},
                                           Other{"output-norm-bias", "output_norm.bias", "layer norms"},
                                           Other{"sinks", "blk.0.attn_sinks.weight", "scores that attend to nothing (sinks)"},
                                           Other{"scale", "blk.0.attn_q.scale",
                                                 "a factor of a whole matrix beside its blocks, as NVFP4 and BitNet files have"},
                                           Other{"experts", "blk.0.ffn_gate_inp.weight", "experts"},
                                           Other{"fused", "blk.0.attn_qkv.weight", "fused queries, keys and values"},
                                           Other{"head-norm", "blk.1.attn_q_norm.weight"},
                                           Other{"positions", "position_embd.weight", "learnt positions"},
                                           Other{"other-factors", "rope_factors_long.weight"},
                                           Other{"image-tower", "v.patch_embd.weight"},
                                           Other{"layer-without-number", "blk.x.attn_norm.weight"},
                                           Other{"layer-of-another-spelling", "blk.01.attn_norm.weight"}}) {
    all.push_back({std::string("unused-") + name, with(tensor), refused(tensor, part)});
  }
  all.push_back({"layers-one-less", [](GgufBuilder& b) { b.Corrupt<uint32_t>("metadata llama.block_count value", 1); },
                 "tensor \"blk.1.attn_norm.weight\": found a tensor of a later layer, expected none beyond layer 0: llama.block_count is "
                 "1; convert the model again, so that the key counts all layers"});
  return all;
}

// Adds an infinity or NaN as one value, or one block's scale or minimum, of a matrix in each format.
inline void AddNotFinite(std::vector<BadFile>& files) {
  for (const BlockFormatInfo& info : AllBlockFormats()) {
    if (!info.in_gguf()) continue;
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
  AddSpoiled(TinyModelBuilder({}), TensorsOfOthers(), files);
  AddNotFinite(files);
}

}  // namespace tessera

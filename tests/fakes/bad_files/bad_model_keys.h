// Valid GGUF files whose metadata describe no model that could run, or another model than their tensors.
//
// All spoil a tiny llama of width 64: `b` is its builder.
#pragma once

#include <cmath>
#include <limits>

#include "tessera/tests/fakes/bad_files/spoiled.h"
#include "tessera/tests/fakes/tiny_model.h"

namespace tessera {

// Writes another value of the same width over "llama.<key>".
inline std::function<void(GgufBuilder&)> Overwrite(const std::string& key, uint32_t value) {
  return [=](GgufBuilder& b) { b.Corrupt<uint32_t>("metadata llama." + key + " value", value); };
}
inline std::function<void(GgufBuilder&)> Overwrite(const std::string& key, float value) {
  return [=](GgufBuilder& b) { b.Corrupt<float>("metadata llama." + key + " value", value); };
}
inline std::function<void(GgufBuilder&)> Without(const std::string& key) {
  return [=](GgufBuilder& b) { b.Remove(key); };
}
// Adds "llama.<key>".
template <typename T>
std::function<void(GgufBuilder&)> Put(const std::string& key, T value) {
  return [=](GgufBuilder& b) { b.Number("llama." + key, value); };
}

inline std::vector<Spoiled> BadArchitecture() {
  const std::string key = "general.architecture";
  return {
      {"architecture-missing", Without(key), "metadata \"general.architecture\": found no such key"},
      {"architecture-unknown", [=](GgufBuilder& b) { b.Remove(key).String(key, "mamba"); },
       "metadata \"general.architecture\" value at byte 4465: found \"mamba\" (Mamba), expected one of llama, qwen2, qwen3, gemma3; "
       "not supported here: recurrent layers"},
      {"architecture-not-text", [=](GgufBuilder& b) { b.Remove(key).String(key, "\xff\x1b[2J"); },
       "metadata \"general.architecture\" value at byte 4465: found \"\\xff\\x1b[2J\", "
       "expected one of llama, qwen2, qwen3, gemma3"},
      {"architecture-number", [=](GgufBuilder& b) { b.Remove(key).Number(key, 7); },
       "metadata \"general.architecture\" value at byte 4465: found INT32 7, expected STRING"},
      {"architecture-of-another", [=](GgufBuilder& b) { b.Remove(key).String(key, "qwen3"); },
       "metadata \"qwen3.embedding_length\": found no such key"},
  };
}

inline std::vector<Spoiled> BadSizes() {
  return {
      {"width-missing", Without("llama.embedding_length"), "metadata \"llama.embedding_length\": found no such key"},
      {"width-0", Overwrite("embedding_length", 0u),
       "metadata \"llama.embedding_length\" value at byte 139: found 0, expected 1 to 1048576"},
      {"width-2-31", Overwrite("embedding_length", 1u << 31),
       "metadata \"llama.embedding_length\" value at byte 139: found 2147483648, expected 1 to 1048576"},
      {"width-not-the-tables", Overwrite("embedding_length", 32u),
       "tensor token_embd.weight: shape at byte 4503: found [64, 265], expected [32, 265]"},
      {"width-string", [](GgufBuilder& b) { b.Remove("llama.embedding_length").String("llama.embedding_length", "64"); },
       "metadata \"llama.embedding_length\" value at byte 4474: found STRING \"64\", expected an integer of 0 or more"},
      {"feed-forward-0", Overwrite("feed_forward_length", 0u),
       "metadata \"llama.feed_forward_length\" value at byte 180: found 0, expected 1 to 1048576"},
      {"feed-forward-not-the-tensors", Overwrite("feed_forward_length", 97u),
       "tensor blk.0.ffn_gate.weight: shape at byte 4912: found [64, 96], expected [64, 97]"},
      {"layers-0", Overwrite("block_count", 0u), "metadata \"llama.block_count\" value at byte 213: found 0, expected 1 to 4096"},
      {"layers-2-31", Overwrite("block_count", 1u << 31),
       "metadata \"llama.block_count\" value at byte 213: found 2147483648, expected 1 to 4096"},
      {"layers-one-more", Overwrite("block_count", 3u), "tensor blk.2.attn_norm.weight: missing, expected 1 x 64"},
      {"layers-negative", [](GgufBuilder& b) { b.Remove("llama.block_count").Number("llama.block_count", -1); },
       "metadata \"llama.block_count\" value at byte 4474: found INT32 -1, expected an integer of 0 or more"},
      {"context-0", Overwrite("context_length", 0u),
       "metadata \"llama.context_length\" value at byte 101: found 0, expected 1 to 16777216"},
      {"context-2-32", [](GgufBuilder& b) { b.Remove("llama.context_length").Number("llama.context_length", uint64_t{1} << 32); },
       "metadata \"llama.context_length\" value at byte 4474: found 4294967296, expected 1 to 16777216"},
      {"context-float", [](GgufBuilder& b) { b.Remove("llama.context_length").Number("llama.context_length", 128.0f); },
       "metadata \"llama.context_length\" value at byte 4474: found FLOAT32 128, expected an integer of 0 or more"},
  };
}

inline std::vector<Spoiled> BadHeads() {
  const std::string epsilon = "attention.layer_norm_rms_epsilon";
  return {
      {"heads-0", Overwrite("attention.head_count", 0u),
       "metadata \"llama.attention.head_count\" value at byte 255: found 0, expected 1 to 4096"},
      {"heads-4097", Overwrite("attention.head_count", 4097u),
       "metadata \"llama.attention.head_count\" value at byte 255: found 4097, expected 1 to 4096"},
      {"heads-not-the-tensors", Overwrite("attention.head_count", 8u),
       "tensor blk.0.attn_q.weight: shape at byte 4616: found [64, 64], expected [64, 128]"},
      {"heads-array",
       [](GgufBuilder& b) {
         b.Remove("llama.attention.head_count").Numbers<uint32_t>("llama.attention.head_count", {4, 2});
       },
       "metadata \"llama.attention.head_count\" value[1] at byte 4490: found 2, expected 4, as in the first layer; "
       "not supported here: layers of different sizes"},
      {"kv-heads-0", Overwrite("attention.head_count_kv", 0u),
       "metadata \"llama.attention.head_count_kv\" value at byte 300: found 0, expected 1 to 4096"},
      {"kv-heads-no-divisor", Overwrite("attention.head_count_kv", 3u),
       "metadata \"llama.attention.head_count_kv\" value at byte 300: found 3, expected a divisor of the head count 4"},
      {"kv-heads-more-than-heads", Overwrite("attention.head_count_kv", 8u),
       "metadata \"llama.attention.head_count_kv\" value at byte 300: found 8, expected a divisor of the head count 4"},
      {"key-length-0", Overwrite("attention.key_length", 0u),
       "metadata \"llama.attention.key_length\" value at byte 342: found 0, expected 1 to 1048576"},
      {"value-length-differs", Overwrite("attention.value_length", 8u),
       "metadata \"llama.attention.value_length\" value at byte 386: found 8, expected the key length 16"},
      {"epsilon-missing", Without("llama." + epsilon), "metadata \"llama.attention.layer_norm_rms_epsilon\": found no such key"},
      {"epsilon-0", Overwrite(epsilon, 0.0f),
       "metadata \"llama.attention.layer_norm_rms_epsilon\" value at byte 440: found 0, expected above 0 and below 1"},
      {"epsilon-negative", Overwrite(epsilon, -1e-5f),
       "metadata \"llama.attention.layer_norm_rms_epsilon\" value at byte 440: found -1e-05, expected above 0 and below 1"},
      {"epsilon-nan", Overwrite(epsilon, std::nanf("")),
       "metadata \"llama.attention.layer_norm_rms_epsilon\" value at byte 440: found nan, expected above 0 and below 1"},
      {"epsilon-integer", [=](GgufBuilder& b) { b.Remove("llama." + epsilon).Number("llama." + epsilon, 1u); },
       "metadata \"llama.attention.layer_norm_rms_epsilon\" value at byte 4474: found UINT32 1, expected FLOAT32 or FLOAT64"},
  };
}

inline std::vector<Spoiled> BadRope() {
  const auto factors = [](std::vector<float> values) {
    return [=](GgufBuilder& b) {
      b.Tensor("rope_freqs.weight", {values.size()}, 0,
               std::string(reinterpret_cast<const char*>(values.data()), 4 * values.size()));
    };
  };
  return {
      {"rope-dimensions-odd", Put("rope.dimension_count", 15u),
       "metadata \"llama.rope.dimension_count\" value at byte 4516: found 15, expected an even number from 2 to 65536"},
      {"rope-dimensions-0", Put("rope.dimension_count", 0u),
       "metadata \"llama.rope.dimension_count\" value at byte 4516: found 0, expected 1 to 1048576"},
      {"rope-dimensions-more-than-head", Put("rope.dimension_count", 18u),
       "metadata \"llama.rope.dimension_count\" value at byte 4516: found 18, expected at most the head size 16"},
      {"rope-base-0", Put("rope.freq_base", 0.0f),
       "metadata \"llama.rope.freq_base\" value at byte 4510: found 0, expected a finite number above 0"},
      {"rope-base-negative", Put("rope.freq_base", -1.0f),
       "metadata \"llama.rope.freq_base\" value at byte 4510: found -1, expected a finite number above 0"},
      {"rope-base-nan", Put("rope.freq_base", std::nanf("")),
       "metadata \"llama.rope.freq_base\" value at byte 4510: found nan, expected a finite number above 0"},
      {"rope-base-infinite", Put("rope.freq_base", std::numeric_limits<float>::infinity()),
       "metadata \"llama.rope.freq_base\" value at byte 4510: found inf, expected a finite number above 0"},
      {"rope-base-tiny", Put("rope.freq_base", 1e-30f),
       "llama.rope, frequency of pair 1: found 5623.41, expected at most 512 radians a position"},
      {"rope-factors-too-few", factors(std::vector<float>(5, 1)),
       "tensor rope_freqs.weight: shape at byte 5721: found [5], expected [8]"},
      {"rope-factors-with-0", factors({1, 1, 1, 0, 1, 1, 1, 1}),
       "tensor rope_freqs.weight: value 3 at byte 108428: found 0, expected a finite number above 0"},
      {"rope-factors-with-nan", factors({1, 1, 1, 1, 1, 1, 1, std::nanf("")}),
       "tensor rope_freqs.weight: value 7 at byte 108444: found nan, expected a finite number above 0"},
  };
}

inline std::vector<Spoiled> BadRopeScaling() {
  const auto scaling = [](const char* type, const std::string& key, float value) {
    return [=](GgufBuilder& b) {
      const std::string scaling = "llama.rope.scaling.";
      b.String(scaling + "type", type).Number(scaling + "factor", 4.0f).Number(scaling + key, value);
    };
  };
  return {
      {"rope-scaling-unknown", [](GgufBuilder& b) { b.String("llama.rope.scaling.type", "longrope"); },
       "metadata \"llama.rope.scaling.type\" value at byte 4513: found \"longrope\", expected none, linear or yarn"},
      {"rope-factor-nan", Put("rope.scaling.factor", std::nanf("")),
       "metadata \"llama.rope.scaling.factor\" value at byte 4515: found nan, expected above 0, at most 16777216"},
      {"rope-factor-negative", Put("rope.scaling.factor", -2.0f),
       "metadata \"llama.rope.scaling.factor\" value at byte 4515: found -2, expected above 0, at most 16777216"},
      {"rope-attention-factor-0", scaling("yarn", "attn_factor", 0),
       "metadata \"llama.rope.scaling.attn_factor\" value at byte 4608: found 0, expected a finite number above 0"},
      {"yarn-ext-factor-2", scaling("yarn", "yarn_ext_factor", 2),
       "metadata \"llama.rope.scaling.yarn_ext_factor\" value at byte 4612: found 2, expected 0 to 1"},
      {"yarn-beta-slow-0", scaling("yarn", "yarn_beta_slow", 0),
       "metadata \"llama.rope.scaling.yarn_beta_slow\" value at byte 4611: found 0, expected a finite number above 0"},
      {"yarn-beta-fast-below-slow", scaling("yarn", "yarn_beta_fast", 0.5f),
       "metadata \"llama.rope.scaling.yarn_beta_fast\" value at byte 4611: found 0.5, "
       "expected a finite number of at least yarn_beta_slow = 1"},
      {"yarn-original-context-float", scaling("yarn", "original_context_length", 64),
       "metadata \"llama.rope.scaling.original_context_length\" value at byte 4620: found FLOAT32 64, "
       "expected an integer of 0 or more"},
  };
}

inline void AddBadModelKeys(std::vector<BadFile>& files) {
  for (const auto& table : {BadArchitecture(), BadSizes(), BadHeads(), BadRope(), BadRopeScaling()}) {
    AddSpoiled(TinyModelBuilder({}), table, files);
  }
}

}  // namespace tessera

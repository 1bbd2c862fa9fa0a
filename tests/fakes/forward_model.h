// The tiny models of tests/golden/forward.jsonl, whose logits scripts/tests/forward_logits.py computed in FP64.
//
//   for (const ForwardCase& line : ForwardCases()) Compare(ForwardModel(line, BlockFormat::kF16), line.tokens, line.logits);
//
// Numbers are made from the tensors' names, as in the script. All are exact in FP32, and those of matrices in FP16.
#pragma once

#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "tessera/base/half.h"
#include "tessera/model/files/gguf.h"
#include "tessera/tests/fakes/golden.h"
#include "tessera/tests/fakes/tiny_model.h"

namespace tessera {

struct ForwardCase {
  std::string architecture;
  std::set<std::string> optional;  // "attn_q.bias" (in each layer), "output.weight", ...; "rope.dimension_count": half a head turns.
  std::vector<TokenId> tokens;
  std::vector<double> logits;      // After the last token: of tokens 0, 8, 16, ...

  std::string Name() const {
    std::string name = architecture;
    for (const std::string& tensor : optional) name += " " + tensor;
    return name;
  }
};

inline std::vector<ForwardCase> ForwardCases() {
  std::vector<ForwardCase> cases;
  for (const JsonValue& line : GoldenLines("forward.jsonl")) {
    ForwardCase& next = cases.emplace_back();
    next.architecture = Must(line.String("architecture"));
    for (const std::string& tensor : Must(Must(line.Array("optional")).AsStrings())) next.optional.insert(tensor);
    next.logits = Must(Must(line.Array("logits")).AsDoubles());
    next.tokens = GoldenTokens(line, "tokens");
  }
  return cases;
}

// Makes multiples of 1/1024 from -1 to below 1: FNV-1a of the name, then SplitMix64.
inline std::vector<float> ForwardNumbers(absl::string_view name, int64_t count) {
  uint64_t state = 0xcbf29ce484222325;
  for (const char letter : name) state = (state ^ static_cast<unsigned char>(letter)) * 0x100000001b3;
  std::vector<float> numbers(static_cast<size_t>(count));
  for (float& number : numbers) {
    state += 0x9e3779b97f4a7c15;
    uint64_t mixed = (state ^ state >> 30) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111eb;
    number = static_cast<float>((mixed ^ mixed >> 31) >> 53) / 1024 - 1;
  }
  return numbers;
}

inline std::vector<float> ForwardTensor(absl::string_view name, int64_t count) {
  std::vector<float> numbers = ForwardNumbers(name, count);
  if (name == "token_embd.weight") return numbers;
  const bool norm = absl::EndsWith(name, "norm.weight"), factors = name == "rope_freqs.weight";
  const bool large = norm || absl::EndsWith(name, "bias") || absl::EndsWith(name, "ffn_down.weight");
  for (float& number : numbers) number = factors ? 2 + number : (norm ? 1 : 0) + number * (large ? 0.5f : 0.25f);
  return numbers;
}

// Returns the bytes of a GGUF file. format: of matrices, FP32 or FP16.
inline std::string ForwardModel(const ForwardCase& line, BlockFormat format) {
  const bool gemma = line.architecture == "gemma3", large_heads = gemma || line.architecture == "qwen3";
  TinyModel tiny = {.architecture = line.architecture, .width = 32, .feed_forward = 64, .head_size = large_heads ? 16 : 8,
                    .layers = gemma ? 7 : 2, .window = gemma ? 4 : 0, .tied = line.optional.count("output.weight") == 0,
                    .formats = {format}, .biases = line.optional};
  for (const char* bias : {"blk.0.attn_q.bias", "blk.0.attn_k.bias", "blk.0.attn_v.bias", "blk.1.attn_q.bias", "blk.1.attn_k.bias",
                           "blk.1.attn_v.bias"}) {
    if (line.optional.count(std::string(bias).substr(6)) == 0) tiny.without.insert(bias);
  }
  GgufBuilder builder = TinyModelBuilder(tiny);
  builder.Number(line.architecture + ".rope.freq_base", 1000.0f);
  const bool half_turns = line.optional.count("rope.dimension_count") > 0;
  if (half_turns) builder.Number(line.architecture + ".rope.dimension_count", static_cast<uint32_t>(tiny.head_size) / 2);
  if (line.optional.count("rope_freqs.weight") > 0) {
    const uint64_t pairs = static_cast<uint64_t>(tiny.head_size) / (half_turns ? 4 : 2);
    builder.Tensor("rope_freqs.weight", {pairs}, 0, std::string(pairs * sizeof(float), '\0'));
  }
  std::string bytes = builder.Build();
  const auto file = Must(GgufFile::Parse({reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()}, "forward"));
  for (const GgufTensor& tensor : file->tensors()) {
    const bool halves = tensor.format->format == BlockFormat::kF16;
    const std::vector<float> numbers = ForwardTensor(tensor.name, tensor.size / (halves ? 2 : 4));
    for (size_t i = 0; i < numbers.size(); ++i) {
      const uint16_t half = FloatToHalf(numbers[i]);
      if (halves) std::memcpy(&bytes[static_cast<size_t>(tensor.offset) + 2 * i], &half, 2);
      else std::memcpy(&bytes[static_cast<size_t>(tensor.offset) + 4 * i], &numbers[i], 4);
    }
  }
  return bytes;
}

}  // namespace tessera

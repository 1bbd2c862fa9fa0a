// The fast path's logits to the last bit, as hashes kept in tests/golden/tiny/logit_bits.jsonl: whatever the compiler, the processor
// and its instruction set, they must come out the same. Where the numerics change on purpose (docs/numerics.md), so do the hashes,
// and kNumericsVersion (runtime/session/session_file.h) rises:
//
//   build/bin/tessera_model_tests --gtest_filter='GoldenBits.*' | grep '^{' > build/logit_bits.jsonl   # not over the file that it reads
//   mv build/logit_bits.jsonl tests/golden/tiny/logit_bits.jsonl
#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "tessera/base/random.h"
#include "tessera/tests/fakes/architectures.h"
#include "tessera/tests/fakes/golden.h"
#include "tessera/tests/fakes/loaded_model.h"

namespace tessera {
namespace {

using Visit = std::function<void(const std::string& name, const LoadedWeights& model, const std::vector<TokenId>& tokens)>;

// The tiny models of the golden data, whose weights are FP16, and one of each block format, made here.
void ForEachModel(const Visit& visit) {
  for (const char* name : kTinyModels) {
    const std::string path = std::string("tiny/") + name;
    visit(name, LoadedWeights(GoldenPath(path + ".gguf")), ReadGoldenLogits(path + ".logits.jsonl")[0].tokens);
  }
  SeededRandom random(17);
  std::vector<TokenId> tokens(24);
  for (TokenId& token : tokens) token = static_cast<TokenId>(random.Below(kTinyVocabulary));
  for (const BlockFormatInfo& format : AllBlockFormats()) {
    if (!format.in_gguf()) continue;
    TinyModel model = {.formats = {format.format}};
    if (format.values_per_block > 32) model.width = model.feed_forward = 256, model.head_size = 64;
    visit(absl::StrCat("made in ", format.name), LoadedWeights(TinyModelBuilder(model)), tokens);
  }
}

// FNV-1a over the logits of all tokens: the first half of them in one pass, as of a prompt, the others one at a time.
std::string HashOfLogits(const LoadedWeights& model, absl::Span<const TokenId> tokens, KernelPath path) {
  Machine machine(model, {.path = path, .slots = 128});
  const KvCache::SequenceId sequence = machine.cache().NewSequence();
  uint64_t hash = 0xcbf29ce484222325;
  const auto add_pass = [&](absl::Span<const TokenId> rows) {
    for (const std::vector<float>& logits : machine.Extend(sequence, rows)) {
      for (const float logit : logits) {
        uint32_t bits;
        std::memcpy(&bits, &logit, sizeof bits);
        for (int shift = 0; shift < 32; shift += 8) hash = (hash ^ (bits >> shift & 255)) * 0x100000001b3;
      }
    }
  };
  const size_t half = tokens.size() / 2;
  add_pass(tokens.first(half));
  for (size_t i = half; i < tokens.size(); ++i) add_pass(tokens.subspan(i, 1));
  return absl::StrFormat("%016x", hash);
}

TEST(GoldenBits, EveryPathOfEveryCpuGivesTheSameLogits) {
  std::map<std::string, std::string> expected;
  for (const JsonValue& line : GoldenLines("tiny/logit_bits.jsonl")) {
    expected[Must(line.String("model"))] = Must(line.String("fnv1a"));
  }
  size_t models = 0;
  ForEachModel([&](const std::string& name, const LoadedWeights& model, const std::vector<TokenId>& tokens) {
    ++models;
    for (const KernelPath path : SupportedKernelPaths()) {
      const std::string found = HashOfLogits(model, tokens, path);
      EXPECT_EQ(found, expected[name]) << name << " " << KernelPathName(path);
      if (path == BestKernelPath()) std::printf("{\"model\": \"%s\", \"fnv1a\": \"%s\"}\n", name.c_str(), found.c_str());
    }
  });
  EXPECT_EQ(models, expected.size());
}

}  // namespace
}  // namespace tessera

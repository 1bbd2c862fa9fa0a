// Two real models against another engine: tests/golden/README.md says what was computed and how far a good engine may be off.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "tessera/runtime/engine/core.h"
#include "tessera/runtime/engine/engine.h"
#include "tessera/runtime/scheduler/decode_loop.h"
#include "tessera/tests/fakes/golden.h"
#include "tessera/tests/fakes/real_models.h"
#include "tessera/tests/fakes/sanitized.h"

namespace tessera {
namespace {

class GoldenModel : public testing::TestWithParam<const char*> {
 protected:
  // Null, and a failed test, if the model is not there.
  std::unique_ptr<Engine> Load(ComputePath path, int context, KvFormat kv_format = KvFormat::kHalf) {
    const std::string model = RealModelPath(GetParam());
    if (model.empty()) {
      ADD_FAILURE() << RealModelMissing(GetParam());
      return nullptr;
    }
    return Must(Engine::Load({.model_path = model,
                              .compute = {.threads = 2, .path = path, .row_capacity = 1024},
                              .cache = {.context = context, .kv_format = kv_format},
                              .workload = {.sessions = 32}}));  // Texts are written side by side.
  }
  std::string File(const char* name) const { return std::string(GetParam()) + "/" + name + ".jsonl"; }
};

// All of them; under a sanitizer the first ones.
template <typename Golden>
std::vector<Golden> Share(std::vector<Golden> all, int sanitized) {
  all.erase(all.begin() + Fewer(static_cast<int>(all.size()), sanitized), all.end());
  return all;
}

TokenId Largest(absl::Span<const float> logits) {
  return static_cast<TokenId>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

double Median(std::vector<double> values) {  // If their number is even, the mean of the middle two.
  std::sort(values.begin(), values.end());
  return (values[values.size() / 2] + values[(values.size() - 1) / 2]) / 2;
}

// Errors of the log-probabilities of the golden top tokens, over all texts and positions.
std::vector<double> Errors(Engine& engine, const std::vector<GoldenLogits>& golden) {
  std::vector<double> errors;
  const auto session = Must(engine.NewSession());
  for (const GoldenLogits& text : golden) {
    session->Truncate(0);
    Must(session->AppendEach(text.tokens, [&](int index, absl::Span<const float> logits) {
      const std::vector<double> some = LogProbabilityErrors(text.positions[index], logits);
      errors.insert(errors.end(), some.begin(), some.end());
      return absl::OkStatus();
    }));
  }
  return errors;
}

// The same of the peer's logits against the truth's, where both list the token.
std::vector<double> PeerErrors(const std::vector<GoldenLogits>& truth, const std::vector<GoldenLogits>& peer) {
  std::vector<double> errors;
  for (size_t text = 0; text < truth.size(); ++text) {
    for (size_t i = 0; i < truth[text].positions.size(); ++i) {
      const GoldenPosition &a = truth[text].positions[i], &b = peer[text].positions[i];
      const std::map<TokenId, double> logits(b.top.begin(), b.top.end());
      for (const auto& [token, logit] : a.top) {
        const auto found = logits.find(token);
        if (found != logits.end()) errors.push_back(std::abs((logit - a.logsumexp) - (found->second - b.logsumexp)));
      }
    }
  }
  return errors;
}

// Several texts written at once, greedily: each pass has one row of each.
class GreedyBatch {
 public:
  explicit GreedyBatch(Engine& engine) : engine_(engine) {}

  // Reads the prompt and chooses the first token.
  void Add(absl::Span<const TokenId> prompt) {
    Text text = {CoreOf(engine_).cache().NewSequence(), {}};
    Pass({&text, 1}, {prompt});
    texts_.push_back(std::move(text));
  }
  void Step() {
    std::vector<TokenId> last;
    for (const Text& text : texts_) last.push_back(text.output.back());
    std::vector<absl::Span<const TokenId>> tokens;
    for (const TokenId& token : last) tokens.push_back({&token, 1});
    Pass(absl::MakeSpan(texts_), tokens);
  }
  const std::vector<TokenId>& output(size_t text) const { return texts_[text].output; }

 private:
  struct Text { KvCache::SequenceId sequence; std::vector<TokenId> output; };

  // Extends each text by its tokens, in one pass, and chooses what follows.
  void Pass(absl::Span<Text> texts, const std::vector<absl::Span<const TokenId>>& tokens) {
    std::vector<int> last;
    std::vector<TokenId> rows;
    std::vector<KvCache::Paths> paths;
    int count = 0;
    for (const absl::Span<const TokenId> of_text : tokens) count += static_cast<int>(of_text.size());
    Must(CoreOf(engine_).cache().MakeRoom(count));
    for (size_t i = 0; i < texts.size(); ++i) {
      const int before = CoreOf(engine_).cache().Length(texts[i].sequence), added = static_cast<int>(tokens[i].size());
      Must(CoreOf(engine_).cache().Extend(texts[i].sequence, added));
      for (int t = 0; t < added; ++t) paths.push_back(CoreOf(engine_).cache().PathsOf(texts[i].sequence, before + t + 1));
      rows.insert(rows.end(), tokens[i].begin(), tokens[i].end());
      last.push_back(static_cast<int>(rows.size()) - 1);
    }
    std::vector<PassRow> pass_rows;
    for (size_t r = 0; r < rows.size(); ++r) pass_rows.push_back({rows[r], paths[r], nullptr});
    PassRunner& runner = CoreOf(engine_).runner();
    const HiddenRows done = Must(runner.Run(pass_rows, CoreOf(engine_).cache(), last));
    const int64_t vocabulary = engine_.config().vocabulary;
    std::vector<float> logits(texts.size() * vocabulary);
    Must(runner.Logits(done, last, TensorView<float>(logits.data(), static_cast<int64_t>(texts.size()), vocabulary)));
    for (size_t i = 0; i < texts.size(); ++i) {
      texts[i].output.push_back(Largest({&logits[i * vocabulary], static_cast<size_t>(vocabulary)}));
    }
  }

  Engine& engine_;
  std::vector<Text> texts_;
};

struct Agreement { int equal = 0; double largest_gap = 0; std::string where; };

// Compares the first `tokens` tokens: how many texts are equal, and the largest gap of the truth at a first difference.
Agreement Compare(const std::vector<GoldenText>& golden, const std::vector<std::vector<TokenId>>& outputs, size_t tokens) {
  Agreement agreement;
  for (size_t text = 0; text < golden.size(); ++text) {
    const size_t length = std::min(tokens, golden[text].output.size());
    EXPECT_GE(outputs[text].size(), length) << golden[text].id;
    size_t i = 0;
    while (i < length && i < outputs[text].size() && outputs[text][i] == golden[text].output[i]) ++i;
    if (i == length) {
      ++agreement.equal;
    } else if (golden[text].gap[i] > agreement.largest_gap) {
      agreement.largest_gap = golden[text].gap[i];
      agreement.where = absl::StrCat(golden[text].id, " token ", i);
    }
  }
  return agreement;
}

TEST_P(GoldenModel, TheReferencePathIsTheTruth) {
  const auto engine = Load(ComputePath::kReference, 1024);
  ASSERT_NE(engine, nullptr);
  const std::vector<double> errors = Errors(*engine, Share(ReadGoldenLogits(File("logits_f32")), 1));
  EXPECT_LE(*std::max_element(errors.begin(), errors.end()), 1e-2);
}

// FP32 is slow: the fourteen shorter prompts, and of what follows them the first 24 tokens.
TEST_P(GoldenModel, TheReferencePathWritesTheSameText) {
  constexpr size_t kLongestPrompt = 100;
  const size_t tokens = Fewer(24, 4);
  const auto engine = Load(ComputePath::kReference, 4096);
  ASSERT_NE(engine, nullptr);
  std::vector<GoldenText> golden = ReadGoldenTexts(File("generate_f32"));
  std::erase_if(golden, [](const GoldenText& text) { return text.prompt.size() > kLongestPrompt; });
  ASSERT_EQ(golden.size(), 14u);
  golden = Share(std::move(golden), 2);
  GreedyBatch batch(*engine);
  for (const GoldenText& text : golden) batch.Add(text.prompt);
  for (size_t token = 1; token < tokens; ++token) batch.Step();
  std::vector<std::vector<TokenId>> outputs;
  for (size_t i = 0; i < golden.size(); ++i) outputs.push_back(batch.output(i));
  const Agreement agreement = Compare(golden, outputs, tokens);
  EXPECT_LT(agreement.largest_gap, 0.02) << agreement.where;
  EXPECT_GE(agreement.equal, static_cast<int>(golden.size()) - 2);
}

TEST_P(GoldenModel, TheFastPathIsAsNearTheTruthAsThePeer) {
  const auto engine = Load(ComputePath::kFast, 1024);
  ASSERT_NE(engine, nullptr);
  const std::vector<GoldenLogits> truth = Share(ReadGoldenLogits(File("logits_f32")), 3);
  const double ours = Median(Errors(*engine, truth)), peers = Median(PeerErrors(truth, ReadGoldenLogits(File("logits_peer"))));
  std::cout << GetParam() << ": median error of log-probabilities " << absl::StrFormat("%.4f, the peer's %.4f\n", ours, peers);
  EXPECT_LE(ours, 1.05 * peers);
}

TEST_P(GoldenModel, TheFastPathLeavesTheTruthOnlyInCloseDecisions) {
  const auto engine = Load(ComputePath::kFast, 4096);
  ASSERT_NE(engine, nullptr);
  const std::vector<GoldenText> golden = Share(ReadGoldenTexts(File("generate_f32")), 5);
  const int tokens = Fewer(64, 12);
  std::vector<std::vector<TokenId>> outputs;
  GreedyBatch batch(*engine);
  for (const GoldenText& text : golden) batch.Add(text.prompt);
  for (int token = 1; token < tokens; ++token) batch.Step();
  for (size_t i = 0; i < golden.size(); ++i) outputs.push_back(batch.output(i));
  const Agreement agreement = Compare(golden, outputs, tokens);
  EXPECT_LE(agreement.largest_gap, 0.6) << agreement.where;
  EXPECT_GE(agreement.equal, static_cast<int>(golden.size()) / 5);
}

// Rows of other texts change no bit: a text written alone is the one written among seventeen.
TEST_P(GoldenModel, ATextWrittenAloneIsTheSame) {
  const auto engine = Load(ComputePath::kFast, 2048);
  ASSERT_NE(engine, nullptr);
  std::vector<GoldenText> golden = ReadGoldenTexts(File("generate_f32"));
  golden.erase(golden.begin(), golden.end() - Fewer(4, 2));
  const int tokens = Fewer(24, 6);
  GreedyBatch batch(*engine);
  for (const GoldenText& text : golden) batch.Add(text.prompt);
  for (int token = 1; token < tokens; ++token) batch.Step();
  const Sampler greedy = Must(Sampler::Create({.temperature = 0}));
  for (size_t i = 0; i < golden.size(); ++i) {
    const auto session = Must(engine->NewSession());
    Must(session->Append(golden[i].prompt));
    EXPECT_EQ(Must(Generate(*session, greedy, {.max_tokens = tokens, .ignore_end = true})).tokens, batch.output(i))
        << golden[i].id;
  }
}

constexpr int kScored = 511;  // Tokens of a window.
constexpr int kWindows = 2;   // Windows of an article.

// Negative log-likelihoods of the first windows of 512 tokens, as tests/golden/README.md defines them.
std::vector<double> ScoreWindows(Engine& engine, const std::string& text) {
  const size_t most_windows = Fewer(kWindows, 1);
  const std::vector<TokenId> tokens = engine.tokenizer().Encode(text);
  const bool add_bos = engine.tokenizer().adds_bos();
  const size_t of_text = add_bos ? 511 : 512;
  const auto session = Must(engine.NewSession());
  std::vector<double> scores;
  for (size_t i = 0; i < most_windows && (i + 1) * of_text <= tokens.size(); ++i) {
    std::vector<TokenId> window(tokens.begin() + i * of_text, tokens.begin() + (i + 1) * of_text);
    if (add_bos) window.insert(window.begin(), *engine.tokenizer().bos());
    session->Truncate(0);
    scores.push_back(0);
    Must(session->AppendEach(absl::MakeConstSpan(window).first(kScored), [&](int index, absl::Span<const float> logits) {
      scores.back() += LogSumExpOf(logits) - logits[window[index + 1]];
      return absl::OkStatus();
    }));
  }
  return scores;
}

// The windows of the golden articles, one after the other; under a sanitizer those of the first article.
class Perplexity : public GoldenModel {
 protected:
  std::vector<double> Truth() const {
    std::vector<double> scores;
    for (const JsonValue& line : Lines()) {
      const std::vector<double> windows = Must(line.Doubles("nll_per_window"));
      scores.insert(scores.end(), windows.begin(), windows.begin() + std::min<size_t>(Fewer(kWindows, 1), windows.size()));
    }
    return scores;
  }
  std::vector<double> OfFastPath(KvFormat kv_format) {
    const auto engine = Load(ComputePath::kFast, 512, kv_format);
    if (engine == nullptr) return {};
    std::map<std::string, std::string> articles;
    for (const JsonValue& line : GoldenLines("wikitext2_articles.jsonl")) articles[Must(line.String("id"))] = Must(line.String("text"));
    std::vector<double> scores;
    for (const JsonValue& line : Lines()) {
      const std::vector<double> windows = ScoreWindows(*engine, articles.at(Must(line.String("id"))));
      scores.insert(scores.end(), windows.begin(), windows.end());
    }
    return scores;
  }
  // With the cache's default format, which two tests need; computed once.
  const std::vector<double>& OfHalves() {
    static std::map<std::string, std::vector<double>> known;
    std::vector<double>& scores = known[GetParam()];
    if (scores.empty()) scores = OfFastPath(KvFormat::kHalf);
    return scores;
  }

 private:
  std::vector<JsonValue> Lines() const { return Share(GoldenLines(File("perplexity_f32")), 1); }
};

// How much larger the perplexity is.
double Difference(const std::vector<double>& scores, const std::vector<double>& before) {
  const double sum = std::accumulate(scores.begin(), scores.end(), 0.0) - std::accumulate(before.begin(), before.end(), 0.0);
  return std::exp(sum / (kScored * static_cast<double>(scores.size()))) - 1;
}

TEST_P(Perplexity, OfTheFastPathIsTheTruths) {
  const std::vector<double> truth = Truth(), ours = OfHalves();
  ASSERT_FALSE(truth.empty());
  ASSERT_EQ(ours.size(), truth.size());
  const double difference = Difference(ours, truth);
  EXPECT_LE(std::abs(difference), 0.004);
  std::cout << GetParam() << absl::StrFormat(": perplexity differs from the truth's by %+.3f %%\n", 100 * difference);
}

TEST_P(Perplexity, WithKeysAndValuesOfEightBitsIsThatOfHalves) {
  const std::vector<double> halves = OfHalves(), bytes = OfFastPath(KvFormat::kInt8);
  ASSERT_FALSE(halves.empty());
  ASSERT_EQ(bytes.size(), halves.size());
  const double difference = Difference(bytes, halves);
  EXPECT_LE(std::abs(difference), Fewer(2, 10) * 0.001);  // One article is too few to judge by.
  EXPECT_NE(difference, 0) << "they are two computations";
  std::cout << GetParam()
            << absl::StrFormat(": with keys and values of 8 bits, perplexity differs from FP16's by %+.3f %%\n",
                               100 * difference);
}

INSTANTIATE_TEST_SUITE_P(Models, Perplexity, testing::Values("smollm2", "gemma3"), [](const auto& info) { return info.param; });
INSTANTIATE_TEST_SUITE_P(Models, GoldenModel, testing::Values("smollm2", "gemma3"), [](const auto& info) { return info.param; });

}  // namespace
}  // namespace tessera

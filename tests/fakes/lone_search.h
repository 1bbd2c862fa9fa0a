// The beam search of runtime/scale/beam_run.h as the headers state the algorithm. Each step is written in a new session, one token after
// another. Only the numbers of streams are shared.
//
//   CompareWithLone(LettersModel(), options, /*prompt_tokens=*/20);      // both ways give the same texts, scores and paths, to the bit
//   LoneSearch lone(*engine, prompt, options);
//   for (const int expansion : path) text = lone.After(text, expansion); // one text alone
//
// Texts are scored by HashScorer. CHECKs that no call fails. Thread-compatible.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "tessera/base/crc32c.h"
#include "tessera/base/random.h"
#include "tessera/model/text/text_stream.h"
#include "tessera/runtime/scale/beam_run.h"
#include "tessera/runtime/scale/confidence.h"
#include "tessera/runtime/session/session.h"
#include "tessera/tests/fakes/tiny_engine.h"

namespace tessera {

// Returns a number that any change of tokens or text changes.
inline double ScoreOf(absl::Span<const TokenId> tokens, absl::string_view text) {
  uint64_t hash = Crc32c({reinterpret_cast<const std::byte*>(text.data()), text.size()});
  for (const TokenId token : tokens) hash = CounterRandom(hash, static_cast<uint64_t>(token), 0);
  return CounterUniform(hash, 0, 0);
}

class HashScorer : public Scorer {
 public:
  absl::string_view name() const override { return "hash"; }
  absl::StatusOr<double> Score(const SampleText& sample) override {
    ++scored_;
    return ScoreOf(sample.tokens, sample.text);
  }
  int scored() const { return scored_; }

 private:
  int scored_ = 0;
};

// Returns an engine that is planned for the search.
inline std::unique_ptr<Engine> EngineFor(const TinyModel& model, const BeamRunOptions& options, EngineOptions engine = {}) {
  engine.compute.threads = 1;
  if (engine.compute.row_capacity == 0) engine.compute.row_capacity = 64;
  Must(PlanBeams(options, engine));
  return TinyEngine(model, engine);
}

inline TinyModel LettersModel() { return {.writes_letters = true, .seed = 3}; }

// Draws among all tokens.
inline SamplingOptions AnyToken(uint64_t seed) { return {.temperature = 1, .top_k = 0, .top_p = 1, .min_p = 0, .seed = seed}; }

// The text is TextStream's output for all tokens, from the first.
class LoneSearch {
 public:
  struct Text {
    std::vector<TokenId> tokens = {};
    size_t begin = 0, end = 0;            // The last step, as offsets in the text of the tokens.
    std::string text = {};                // Up to the end of the last step.
    bool ended = false;
    FinishReason reason = FinishReason::kLength;
    TextConfidence confidence = {};
    std::vector<int> path = {};
    double score = 0;
  };

  LoneSearch(Engine& engine, const std::vector<TokenId>& prompt, const BeamRunOptions& options)
      : engine_(engine), prompt_(prompt), options_(options), sampler_(Must(Sampler::Create(options.sampling))) {}

  std::vector<Text> Run() {
    const size_t width = static_cast<size_t>(options_.beams.width);
    std::vector<Text> living(1), ended;
    for (int step = 0; step < options_.beams.most_steps && !living.empty(); ++step) {
      std::vector<Text> all;
      for (const Text& text : living) {
        const int each = step == 0 ? options_.beams.width * options_.beams.expansions : options_.beams.expansions;
        for (int i = 0; i < each; ++i) all.push_back(After(text, i));
      }
      std::stable_sort(all.begin(), all.end(), [](const Text& a, const Text& b) { return a.score > b.score; });
      all.resize(std::min(all.size(), width - ended.size()));
      living.clear();
      for (Text& text : all) (text.ended ? ended : living).push_back(text);
    }
    return ended.empty() ? living : ended;
  }

  // Returns the text with one more step.
  Text After(Text text, int expansion) {
    text.path.push_back(expansion);
    uint64_t stream = static_cast<uint64_t>(text.path[0]);
    for (size_t i = 1; i < text.path.size(); ++i) stream = StreamOfBeamStep(stream, text.path[i]);
    text.begin = text.end;
    const auto session = Must(engine_.NewSession());
    Must(session->Append(prompt_));
    Must(session->Append(text.tokens));
    for (std::vector<TokenId> step; step.empty() || Goes(text, step.size());) {
      const TokenId token = Must(sampler_.Choose(session->logits(), step, stream, step.size()));
      step.push_back(token);
      text.tokens.push_back(token);
      text.confidence.Add(token, session->logits());
      if (session->length() < engine_.context()) Must(session->Append({token}));
    }
    text.score = ScoreOf(text.tokens, text.text);
    return text;
  }

  int rests() const { return rests_; }   // Steps that ended within a token.

 private:
  std::string Said(absl::Span<const TokenId> tokens, bool ends) const {
    TextStream stream(&engine_.tokenizer(), {.starts_text = options_.starts_text});
    std::string said;
    for (const TokenId token : tokens) said += stream.Append(token);
    return ends ? said + stream.Finish() : said;
  }

  void End(Text& text, FinishReason reason) {
    text.ended = true;
    text.reason = reason;
    text.text = Said(text.tokens, /*ends=*/true);
    for (const std::string& stop : options_.stop) text.text = text.text.substr(0, text.text.find(stop));
    text.end = text.text.size();
  }

  // Returns whether the step goes on after its last token.
  bool Goes(Text& text, size_t step_tokens) {
    if (engine_.tokenizer().IsEnd(text.tokens.back())) return End(text, FinishReason::kEndToken), false;
    const std::string before = Said(absl::MakeConstSpan(text.tokens).first(text.tokens.size() - 1), /*ends=*/false);
    const std::string said = Said(text.tokens, /*ends=*/false);
    for (const std::string& stop : options_.stop) {
      if (absl::StrContains(said, stop)) return End(text, FinishReason::kStopString), false;
    }
    if (static_cast<int>(text.tokens.size()) == options_.max_tokens) return End(text, FinishReason::kLength), false;
    if (static_cast<int>(prompt_.size() + text.tokens.size()) == engine_.context() + 1) {
      return End(text, FinishReason::kContextFull), false;
    }
    const std::string& delimiter = options_.beams.delimiter;
    for (size_t at = text.begin; at + delimiter.size() <= said.size(); ++at) {
      if (said.compare(at, delimiter.size(), delimiter) != 0 || at + delimiter.size() <= before.size()) continue;
      text.end = at + delimiter.size();
      text.text = said.substr(0, text.end);
      rests_ += text.end < said.size() ? 1 : 0;
      return false;
    }
    text.end = said.size();
    text.text = said;
    return static_cast<int>(step_tokens) < options_.max_step_tokens;
  }

  Engine& engine_;
  const std::vector<TokenId> prompt_;
  const BeamRunOptions options_;
  const Sampler sampler_;
  int rests_ = 0;
};

inline void ExpectSame(const BeamText& text, const LoneSearch::Text& alone) {
  EXPECT_EQ(text.tokens, alone.tokens);
  EXPECT_EQ(text.text, alone.text);
  EXPECT_EQ(text.path, alone.path);
  EXPECT_EQ(text.reason, alone.reason);
  EXPECT_EQ(text.score, alone.score) << "to the bit";
  EXPECT_EQ(text.mean_log_probability, alone.confidence.mean_log_probability());
  EXPECT_EQ(text.self_certainty, alone.confidence.self_certainty());
}

// Runs both ways in separate engines, and returns the number of steps that ended within a token.
inline int CompareWithLone(const TinyModel& model, const BeamRunOptions& options, int prompt_tokens, EngineOptions engine_options = {},
                    BeamTexts* result = nullptr) {
  const std::vector<TokenId> prompt = RandomTokens(prompt_tokens, 7);
  const auto engine = EngineFor(model, options, engine_options);
  HashScorer scorer;
  const BeamTexts written = Must(RunBeams(*engine, prompt, scorer, options));
  EXPECT_EQ(written.steps, scorer.scored());
  const auto lone_engine = EngineFor(model, options);
  LoneSearch lone(*lone_engine, prompt, options);
  const std::vector<LoneSearch::Text> alone = lone.Run();
  EXPECT_EQ(written.texts.size(), alone.size());
  if (written.texts.size() != alone.size()) return 0;
  double best = -1;
  for (size_t i = 0; i < alone.size(); ++i) {
    ExpectSame(written.texts[i], alone[i]);
    best = std::max(best, alone[i].score);
  }
  EXPECT_EQ(written.best().score, best);
  if (result != nullptr) *result = written;
  return lone.rests();
}

}  // namespace tessera

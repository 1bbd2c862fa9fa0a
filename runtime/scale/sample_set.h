// Generates N samples of one prompt and chooses one: the sample with the largest score, or the first sample whose answer wins the vote.
// Samples that can no longer change the choice are cut off.
//
//   SampleSetOptions options = {.samples = 8, .selection = Selection::kMajority, .answer = AnswerOf, .same = SameText};
//   ParallelOptions parallel = {.texts = 8};                               // most that are written at once; more samples take their turns
//   RETURN_IF_ERROR(PlanParallel(parallel, engine_options));               // before the engine is opened
//   PlanSampleSet(options.samples, /*max_tokens=*/128, engine_options);
//   ...
//   ASSIGN_OR_RETURN(const std::unique_ptr<ParallelAnswers> answers, ParallelAnswers::Create(*engine, parallel));
//   SampleSet set(*engine, {.prompt = tokens, .sampling = {.temperature = 1}, .max_tokens = 128}, options, *answers);
//   RETURN_IF_ERROR(set.Run());                                            // or answers->Step() and set.Advance() until set.done()
//   set.result().best().written.text.text;
//
// All samples begin with the prompt, which is computed once. Sample i draws from stream i of the seed, and has the bits of a sample
// generated alone. With DraftRule::kRejection the bits may differ, since the tokens depend on the drafts. A sample that ends gives its rows
// to the next sample at once.
//
// Early stop: once the vote is decided (VoteCount::IsDecided), no pending sample can change the winning answer. A sample before the leading
// answer's first sample may still give the same answer and become the chosen sample. Such samples continue; all others are cut off. So the
// chosen sample is the same with and without early stop, no matter how many samples run at once.
//
// Threads: one at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tessera/base/cpp20.h"
#include "tessera/base/json_writer.h"
#include "tessera/base/token.h"
#include "tessera/runtime/chat/parallel_answers.h"
#include "tessera/runtime/chat/timings.h"
#include "tessera/runtime/engine/engine.h"
#include "tessera/runtime/engine/options.h"
#include "tessera/runtime/scale/confidence.h"
#include "tessera/runtime/scale/scorer.h"
#include "tessera/runtime/scale/vote.h"

namespace tessera {

// The number of samples, and the way to choose.
struct SampleSetOptions {
  int samples = 8;                              // 1 or more.
  Selection selection = Selection::kBestOfN;
  std::shared_ptr<Scorer> scorer = nullptr;     // Null only for kMajority, which uses no scores but reports scores.
  std::string problem = {};                     // SampleText::problem.
  // Returns the answer in a text; nullopt: the text has no answer. Null: the text is the answer; an empty text has no answer.
  std::function<std::optional<std::string>(absl::string_view text)> answer = nullptr;
  // Returns whether two answers mean the same; an equivalence relation. Null: compares letter by letter.
  std::function<bool(absl::string_view a, absl::string_view b)> same = nullptr;
  // For kWeighted: the vote's weight for a score, 0 or more. most_weight is the largest possible weight; infinity: not known, so that no
  // vote is decided early. Null: the weight is the score.
  std::function<double(double score)> weight = nullptr;
  double most_weight = std::numeric_limits<double>::infinity();
  bool stops_early = true;
};

// Returns WrongUsage (the field) for no samples, and for a selection that lacks a scorer.
absl::Status CheckSampleSet(const SampleSetOptions& options);

// An ended sample.
struct SetSample {
  TimedAnswer written = {};                     // Reason kCancelled: the sample was cut off, perhaps before it began.
  double mean_log_probability = 0, self_certainty = 0;   // See confidence.h.
  std::optional<double> score = {};             // Nullopt: cut off, or no scorer.
  std::optional<std::string> answer = {};       // From SampleSetOptions::answer.
  bool whole() const { return written.text.reason != FinishReason::kCancelled; }
};

// The samples and the choice.
struct SampleSetResult {
  Selection selection = Selection::kBestOfN;
  std::string scorer = {};                      // The scorer's name; empty: no scorer.
  std::vector<SetSample> samples = {};          // By number.
  int chosen = 0;                               // Index of the chosen sample.
  // Whole samples when the choice was decided; all samples if the choice was not decided earlier.
  int whole_when_decided = 0;
  int64_t tokens = 0;                           // Generated tokens, including samples that were cut off.
  int64_t most_tokens_left_out = 0;             // Upper bound on the tokens saved by cutting samples off, from the samples' limits.
  const SetSample& best() const { return samples[static_cast<size_t>(chosen)]; }
};

// Changes the plan of PlanParallel to count the samples' common tokens once. The plan then has a usual text (kUsualText) for the first
// sample, and the generated tokens of each other sample. Only samples that run at once count. Does nothing if the cache size is given.
// max_tokens: per sample; 0: no limit. REQUIRES: samples > 0.
void PlanSampleSet(int samples, int max_tokens, EngineOptions& options);

// The samples of one prompt.
class SampleSet {
 public:
  // Adds the samples to `answers`, which may have other answers, too. The samples draft from each other if the speculation of `answers` can
  // (siblings). asked: the common options of the samples. The stream, first token, siblings, on_token and on_end of `asked` are ignored.
  // `answers` must outlive the set. REQUIRES: CheckSampleSet was OK; asked.on_text is null, since the chosen sample is known only at the
  // end.
  SampleSet(const Engine& engine, const NewAnswer& asked, const SampleSetOptions& options, ParallelAnswers& answers);
  SampleSet(const SampleSet&) = delete;
  SampleSet& operator=(const SampleSet&) = delete;
  ~SampleSet();   // Cancels samples that have not ended.

  // Takes the samples that have ended. To be called after each Step of the answers, outside of callbacks. Scorers run here. A scorer that
  // finds no room next to running texts is called again in the next call.
  //
  // Errors: the error of a sample or of a score ("sample 3: ..."); Cancelled once the engine is cancelled. After an error the other samples
  // are cancelled, and the error is returned once all samples have ended. So no sample of the set runs after the error, and the answers may
  // continue. REQUIRES: not done, no error before.
  absl::Status Advance();
  // Calls Step and Advance until the set is done. Errors: as Step and Advance. after_step: called after each step with the number of ended
  // samples.
  absl::Status Run(const std::function<void(int ended)>& after_step = nullptr);

  bool done() const { return done_; }
  const SampleSetResult& result() const;        // REQUIRES: done.

 private:
  // The data that a sample's callbacks fill. The callbacks keep the slot alive.
  struct Slot {
    TextConfidence confidence;
    std::optional<absl::StatusOr<TimedAnswer>> ended;
  };
  struct Underway {
    AnswerId id = 0;
    std::shared_ptr<Slot> slot;
    bool taken = false, cut = false;
    double weight = 1;
  };
  int samples() const { return options_.samples; }
  void Add(NewAnswer answer, int sample);
  absl::Status TakeEnded();
  absl::Status Take(int sample);
  absl::Status Score(int sample);
  absl::Status ScoreAll();
  bool WaitsForRoom(const absl::Status& status) const;
  bool StopsEarly() const;
  bool ScoresAtOnce() const;
  std::vector<int> Groups() const;
  VoteCount Votes() const;
  void CutOff();
  absl::Status Finish();
  int64_t MostTokens() const;                   // Largest number of tokens of a sample.

  const SampleSetOptions options_;
  const std::vector<TokenId> prompt_;
  const int max_tokens_, context_;
  ParallelAnswers& answers_;
  std::vector<Underway> underway_;              // By number.
  SampleSetResult result_;
  int ended_ = 0, votes_ = 0;                   // Ended samples; samples whose vote is known.
  bool done_ = false;
  absl::Status error_;                          // The first error.
};

// Writes {"chosen", "selection", "scorer", "whole_when_decided", "tokens", "most_tokens_left_out", "samples": [{"text", "finish", "tokens",
// "answer", "score", "mean_log_probability", "self_certainty"}, ...]}; null: no value.
void WriteSampleSet(JsonWriter& json, const SampleSetResult& result);

}  // namespace tessera

// N samples of one prompt, of which one is chosen: that with the largest score, or the first whose answer wins the vote. Samples that can
// no longer change the choice are cut off.
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
// All samples begin with the prompt, which is computed once. Sample i draws from stream i of the seed, and is, bit for bit, what it is
// alone; but not with DraftRule::kRejection, whose tokens depend on what was drafted. One that ends gives its rows to the next at once.
//
// Early stop: once the vote is decided (VoteCount::IsDecided), nothing that is still to come changes which answer wins. Samples before the
// leading answer's first one may still give the same answer and be the chosen text, so they go on; all others are cut off. So the chosen
// sample is the same with and without early stop, however many are written at once. Threads: one at a time.
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

struct SampleSetOptions {
  int samples = 8;                              // 1 or more.
  Selection selection = Selection::kBestOfN;
  std::shared_ptr<Scorer> scorer = nullptr;     // Null only for kMajority, which reads no scores but reports them.
  std::string problem = {};                     // SampleText::problem.
  // What a text answers; nullopt: it has no answer. Null: the text itself, or no answer if it is empty.
  std::function<std::optional<std::string>(absl::string_view text)> answer = nullptr;
  // Whether two answers say the same: an equivalence. Null: letter by letter.
  std::function<bool(absl::string_view a, absl::string_view b)> same = nullptr;
  // For kWeighted: what a score counts for in the vote, 0 or more, and the most that any score does; infinity: not known, so no vote is
  // decided early. Null: the score itself.
  std::function<double(double score)> weight = nullptr;
  double most_weight = std::numeric_limits<double>::infinity();
  bool stops_early = true;
};

// WrongUsage (the field) for no samples, and for a way to choose that has no scorer.
absl::Status CheckSampleSet(const SampleSetOptions& options);

// A sample, as it ended.
struct SetSample {
  TimedAnswer written = {};                     // Reason kCancelled: it was cut off, perhaps before it began.
  double mean_log_probability = 0, self_certainty = 0;   // By confidence.h.
  std::optional<double> score = {};             // Nullopt: it has none, since it was cut off or nothing scores.
  std::optional<std::string> answer = {};       // By SampleSetOptions::answer.
  bool whole() const { return written.text.reason != FinishReason::kCancelled; }
};

struct SampleSetResult {
  Selection selection = Selection::kBestOfN;
  std::string scorer = {};                      // Its name; empty: none.
  std::vector<SetSample> samples = {};          // By number.
  int chosen = 0;                               // One of them.
  int whole_when_decided = 0;                   // Samples that were whole when the choice was; all of them: it was not before.
  int64_t tokens = 0;                           // Written, those of samples that were cut off too.
  int64_t most_tokens_left_out = 0;             // What samples that were cut off would have had more, at most: up to their limits.
  const SetSample& best() const { return samples[static_cast<size_t>(chosen)]; }
};

// Makes the plan that PlanParallel made count what samples have in common once: a usual text (kUsualText) for the first, and what each
// other one writes, of as many as are written at once. Nothing changes where the cache's size is given. max_tokens: of a sample;
// 0: no limit. REQUIRES: samples > 0.
void PlanSampleSet(int samples, int max_tokens, EngineOptions& options);

class SampleSet {
 public:
  // Adds the samples to `answers`, which may have other answers, too; they draft from each other if its speculation can (siblings). asked:
  // what they have in common; its stream, first token, siblings, on_token and on_end count for nothing. `answers` must outlive the set.
  // REQUIRES: CheckSampleSet was OK; asked.on_text is null, since what is chosen is known at the end.
  SampleSet(const Engine& engine, const NewAnswer& asked, const SampleSetOptions& options, ParallelAnswers& answers);
  SampleSet(const SampleSet&) = delete;
  SampleSet& operator=(const SampleSet&) = delete;
  ~SampleSet();   // Cancels samples that have not ended.

  // Takes the samples that have ended, after each Step of the answers, outside of their callbacks. Scorers run here; one that finds no room
  // beside texts that are being written is asked again in the next call. Errors: that of a
  // sample or of its score ("sample 3: ..."); Cancelled once the engine is. The others are cancelled then, and the error is returned when
  // they have ended, too: none of the set's samples is under way after it, and the answers may go on. REQUIRES: not done, no error before.
  absl::Status Advance();
  // Step and Advance until it is done. Errors: theirs. after_step: told after each how many samples have ended.
  absl::Status Run(const std::function<void(int ended)>& after_step = nullptr);

  bool done() const { return done_; }
  const SampleSetResult& result() const;        // REQUIRES: done.

 private:
  // What the callbacks of a sample fill; they keep it alive.
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
  int64_t MostTokens() const;                   // That a sample may have.

  const SampleSetOptions options_;
  const std::vector<TokenId> prompt_;
  const int max_tokens_, context_;
  ParallelAnswers& answers_;
  std::vector<Underway> underway_;              // By number.
  SampleSetResult result_;
  int ended_ = 0, votes_ = 0;                   // Samples; those of them whose vote is known.
  bool done_ = false;
  absl::Status error_;                          // The first.
};

// {"chosen", "selection", "scorer", "whole_when_decided", "tokens", "most_tokens_left_out", "samples": [{"text", "finish", "tokens",
// "answer", "score", "mean_log_probability", "self_certainty"}, ...]}; null: there is none.
void WriteSampleSet(JsonWriter& json, const SampleSetResult& result);

}  // namespace tessera

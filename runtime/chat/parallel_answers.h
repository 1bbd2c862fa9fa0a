// Generates many answers at once, in shared passes (stepper.h). Each answer has the tokens that the answer would have alone.
//
//   ParallelOptions options = {.texts = 8};
//   RETURN_IF_ERROR(PlanParallel(options, engine_options));                       // before the engine is opened: memory plans count it
//   ASSIGN_OR_RETURN(const std::unique_ptr<ParallelAnswers> answers, ParallelAnswers::Create(*engine, options));
//   for (const Question& question : questions) {
//     answers->Add({.prompt = question.tokens, .max_tokens = 64, .on_end = [&](auto& answer) { Show(answer); }});
//   }
//   RETURN_IF_ERROR(answers->Run());                       // or Step() after Step(), with more questions in between
//   RETURN_IF_ERROR(answers->Save());                      // history and costs
//
// Answers to one prompt differ in `stream`, or in the first token (AskFirstTokens). The prompt is computed once for all answers. Each
// answer has its own drafters; history and costs are shared. EngineOptions::cancel ends all answers early, which is no error.
//
// Threads: one at a time. Callbacks run in Step, and may add answers.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tessera/base/clock.h"
#include "tessera/base/elapsed.h"
#include "tessera/base/token.h"
#include "tessera/model/text/sampler.h"
#include "tessera/runtime/chat/timings.h"
#include "tessera/runtime/draft/speculation.h"
#include "tessera/runtime/engine/engine.h"
#include "tessera/runtime/scheduler/first_tokens.h"
#include "tessera/runtime/scheduler/stepper.h"

namespace tessera {

inline constexpr int kMostTexts = 64;        // Largest number of answers at once, and of answers to one prompt.
inline constexpr int kUsualText = 1024;      // Tokens of prompt and answer per text in the plan of PlanParallel.

// Options of all answers.
struct ParallelOptions {
  int texts = 1;                             // Most answers at once, 1 to kMostTexts; further answers wait.
  SpeculationOptions speculation = {};
  double flash_bytes_per_second = 0;         // This and the next two: as in AnswererOptions.
  const Clock* clock = nullptr;
  int64_t asked_nanos = -1;
};

// Checks the options, and adds `parallel.texts` answers to memory plans. Each answer counts logits, drafters and, unless the cache size is
// given, a share of the cache. WrongUsage names the field.
absl::Status PlanParallel(const ParallelOptions& parallel, EngineOptions& options);

// Returns WrongUsage (field) if several answers to one prompt would be equal, because the likeliest token is always chosen.
absl::Status CheckAnswersDiffer(int answers, const SamplingOptions& sampling, absl::string_view field = "answers");

// Describes an answer to generate.
struct NewAnswer {
  std::vector<TokenId> prompt = {};
  SamplingOptions sampling = {};
  uint64_t stream = 0;                       // See GenerateOptions.
  std::optional<FirstToken> first = std::nullopt;   // The answer's first token; nullopt: the sampler chooses.
  std::vector<std::string> stop = {};
  int max_tokens = 0;                        // 0: until the context is full.
  bool starts_text = true;                   // False if the answer continues a raw prompt.
  const LoraAdapter* adapter = nullptr;      // Must outlive the answers. Null: no adapter.
  // The set of answers to one prompt, which draft from each other (ParallelAnswers::NewSet). Null: no set.
  std::shared_ptr<SharedHistory> siblings = nullptr;
  int64_t begin_nanos = -1;                  // Time of the request on the clock; below 0: the time of Add.
  std::function<void(absl::string_view text)> on_text = nullptr;
  std::function<void(TokenId token, absl::Span<const float> logits)> on_token = nullptr;   // See GenerateOptions.
  // Called once, with the answer or the first error. Reason kCancelled: the engine was cancelled, or Cancel was called.
  std::function<void(const absl::StatusOr<TimedAnswer>& answer)> on_end = nullptr;
};

using AnswerId = int64_t;

// Generates answers on one engine.
class ParallelAnswers {
 public:
  // Waits until all weights are verified, so that no word of an answer comes from a file that is damaged anywhere. The engine must outlive
  // the result. Errors: the errors of reading weights, of the history and cost files, and of Stepper::Create. REQUIRES: PlanParallel was OK
  // with these options before the engine was opened.
  static absl::StatusOr<std::unique_ptr<ParallelAnswers>> Create(Engine& engine, const ParallelOptions& options);

  // Adds an answer. Errors reach on_end in a later Step: the errors of Answerer::Run and of Sampler::Create.
  AnswerId Add(NewAnswer answer);
  // Ends an answer with kCancelled in a later Step, before the answer's next pass. A waiting answer is not started. Does nothing for an
  // ended answer.
  void Cancel(AnswerId answer);
  // Reads the prompt and finds the likeliest first tokens for `count` answers that begin differently (first_tokens.h). A later Step calls
  // on_found once, with the tokens, with an error of the prompt, or with Cancelled. on_found may add the answers. Answers with the same
  // adapter share the computed prompt.
  void AskFirstTokens(std::vector<TokenId> prompt, const LoraAdapter* adapter, int count, FirstTokensCallback on_found);
  // Returns a set for several answers to one prompt: NewAnswer::siblings of each. Null if nothing is drafted from sets
  // (SpeculationOptions::siblings).
  std::shared_ptr<SharedHistory> NewSet() const { return speculation_ == nullptr ? nullptr : speculation_->NewSet(); }
  int unended() const { return unended_; }   // Added or asked for, while on_end or on_found is still due.

  // Runs one pass. Returns false if there was nothing to do. Errors: as Stepper::Step. After an error no answer can be generated any more.
  absl::StatusOr<bool> Step();
  // Calls Step until there is nothing to do. Once the engine is cancelled, all answers end with the tokens so far.
  absl::Status Run();

  // Saves history and costs for later runs.
  absl::Status Save() const { return speculation_ == nullptr ? absl::OkStatus() : speculation_->Save(); }
  const Speculation* speculation() const { return speculation_.get(); }   // Null: nothing is drafted or kept.
  // Returns the timings of all ended answers. Tokens and seconds of prompts count only for passes without other rows.
  Timings timings() const;
  const StepperReport& report() const { return stepper_->report(); }

 private:
  struct Text;

  ParallelAnswers(Engine& engine, const ParallelOptions& options, std::unique_ptr<Speculation> speculation);
  double SecondsSince(int64_t nanos) const { return ElapsedSeconds(nanos, clock_.NowNanos()); }
  void SubmitWaiting();
  void Submit(const std::shared_ptr<Text>& text);
  void SubmitReader(const std::shared_ptr<Text>& text);
  void EndReader(const Text& text, const absl::StatusOr<std::vector<FirstToken>>& firsts);
  void End(Text& text, const absl::StatusOr<Generation>& result);

  Engine& engine_;
  const int most_texts_;
  const double flash_;
  const Clock& clock_;
  const int64_t asked_nanos_;
  std::unique_ptr<Speculation> speculation_;   // Null: one token per pass.
  std::deque<std::shared_ptr<Text>> waiting_;
  std::map<AnswerId, std::shared_ptr<Text>> answers_;   // Answers that have not ended.
  AnswerId next_ = 0;
  int unended_ = 0, submitted_ = 0;
  Timings timings_;
  std::optional<StreamingFigures> streaming_before_;   // If weights are streamed.
  std::unique_ptr<Stepper> stepper_;           // Destroyed first: streams have speculators.
};

}  // namespace tessera

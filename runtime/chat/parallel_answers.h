// Writes many answers at once, in passes that they share (stepper.h): each has the tokens that it would have alone.
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
// Answers to one prompt differ if their `stream` does, or if they are told to begin differently (AskFirstTokens); the prompt is computed
// once for all of them. Each text has drafters of its own;
// history and costs are shared. EngineOptions::cancel ends all of them early, which is no error. Threads: one at a time; callbacks run in
// Step, and may add answers.
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

inline constexpr int kMostTexts = 64;        // Written at once, and answers to one prompt.
inline constexpr int kUsualText = 1024;      // Tokens of prompt and answer for which PlanParallel makes room, for each text.

struct ParallelOptions {
  int texts = 1;                             // Most that are written at once, 1 to kMostTexts; more wait.
  SpeculationOptions speculation = {};
  double flash_bytes_per_second = 0;         // As AnswererOptions has them, as the next two.
  const Clock* clock = nullptr;
  int64_t asked_nanos = -1;
};

// Checks the options, and makes memory plans include so many texts: their share of the cache unless its size is given, their logits, and
// drafters for each. WrongUsage names the field.
absl::Status PlanParallel(const ParallelOptions& parallel, EngineOptions& options);

// WrongUsage (field) if several answers to one prompt would be the same: the likeliest token is always taken.
absl::Status CheckAnswersDiffer(int answers, const SamplingOptions& sampling, absl::string_view field = "answers");

// An answer to be written.
struct NewAnswer {
  std::vector<TokenId> prompt = {};
  SamplingOptions sampling = {};
  uint64_t stream = 0;                       // See GenerateOptions.
  std::optional<FirstToken> first = std::nullopt;   // What the answer begins with; nullopt: what the sampler says.
  std::vector<std::string> stop = {};
  int max_tokens = 0;                        // 0: until the context is full.
  bool starts_text = true;                   // False if the answer continues a raw prompt.
  const LoraAdapter* adapter = nullptr;      // Must outlive the answers. Null: the model as it is.
  // The set of the answers to one prompt, which then draft from each other (ParallelAnswers::NewSet). Null: it is in none.
  std::shared_ptr<SharedHistory> siblings = nullptr;
  int64_t begin_nanos = -1;                  // When it was asked for, by the clock; below 0: when it is added.
  std::function<void(absl::string_view text)> on_text = nullptr;
  std::function<void(TokenId token, absl::Span<const float> logits)> on_token = nullptr;   // See GenerateOptions.
  // Once: what was written, or the first error. Reason kCancelled: the engine was cancelled, or Cancel was called.
  std::function<void(const absl::StatusOr<TimedAnswer>& answer)> on_end = nullptr;
};

using AnswerId = int64_t;

class ParallelAnswers {
 public:
  // Waits until all weights are verified: no word of an answer comes from a file that is damaged anywhere. Errors are those of reading
  // them, of files of history and costs, and of Stepper::Create. REQUIRES: PlanParallel was OK with these options before the engine was
  // opened, which must outlive this.
  static absl::StatusOr<std::unique_ptr<ParallelAnswers>> Create(Engine& engine, const ParallelOptions& options);

  // What is wrong with it is told to its on_end, in a later Step: as Answerer::Run has it, and the errors of Sampler::Create.
  AnswerId Add(NewAnswer answer);
  // Ends an answer with kCancelled in a later Step, before its next pass; one that waits is not begun. Nothing happens if it has ended.
  void Cancel(AnswerId answer);
  // Reads the prompt, for as many answers to it as are to begin differently: on_found, which may add them, is called once in a later Step,
  // with the likeliest tokens to begin them with (first_tokens.h), with what is wrong with the prompt, or with Cancelled. What is read is
  // shared by answers with the same adapter.
  void AskFirstTokens(std::vector<TokenId> prompt, const LoraAdapter* adapter, int count, FirstTokensCallback on_found);
  // For several answers to one prompt: NewAnswer::siblings of each. Null if nothing is drafted from them (SpeculationOptions::siblings).
  std::shared_ptr<SharedHistory> NewSet() const { return speculation_ == nullptr ? nullptr : speculation_->NewSet(); }
  int unended() const { return unended_; }   // Added or asked for, and on_end or on_found was not called so far.

  // One pass. False: there was nothing to do. The errors of Stepper::Step, after which nothing can be written any more.
  absl::StatusOr<bool> Step();
  // Step until there is nothing to do. Once the engine is cancelled all answers end with what they have.
  absl::Status Run();

  // Saves what later runs may use: history and costs.
  absl::Status Save() const { return speculation_ == nullptr ? absl::OkStatus() : speculation_->Save(); }
  const Speculation* speculation() const { return speculation_.get(); }   // Null: nothing is drafted or kept.
  // All answers that ended. Prompts are counted, tokens and seconds, where a pass had nothing else.
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
  std::map<AnswerId, std::shared_ptr<Text>> answers_;   // Those that have not ended.
  AnswerId next_ = 0;
  int unended_ = 0, submitted_ = 0;
  Timings timings_;
  std::optional<StreamingFigures> streaming_before_;   // If weights are streamed.
  std::unique_ptr<Stepper> stepper_;           // Ends first: its streams have speculators.
};

}  // namespace tessera

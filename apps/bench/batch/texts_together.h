// Sequences of one Stepper, for a measurement: the caller runs step by step, and each step reports the time and the tokens.
//
//   CostProfile costs;                                                        // of all steppers of this engine: measured once
//   ASSIGN_OR_RETURN(const std::unique_ptr<TextsTogether> texts, TextsTogether::Create(*engine, costs));
//   for (int i = 0; i < 8; ++i) texts->Add(prompt, {.max_tokens = 129, .ignore_end = true});
//   ASSIGN_OR_RETURN(const TimedStep step, texts->Step());
//   step.tokens / step.seconds;                                               // tokens per second, if step.prompt_rows is 0
//   texts->text(0).token_seconds;                                             // when each token came
//
// Times are by the engine's clock. Decoding is greedy unless Add gets other sampling options. No sequence reuses a prefix that another left
// in the cache. The destructor drops sequences that have not ended. Threads: the engine's, one call at a time.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tessera/runtime/engine/engine.h"
#include "tessera/runtime/scheduler/stepper.h"
#include "tessera/spec/speculation/drafter_registry.h"

namespace tessera {

struct TimedStep {
  bool any = false;              // False: there was nothing to do.
  double seconds = 0;
  int texts = 0;                 // Sequences that got a token,
  int tokens = 0;                // and all tokens of the step.
  int64_t prompt_rows = 0;
};

class TextsTogether {
 public:
  struct Text {
    double begin_seconds = 0;                   // When the sequence was added.
    std::vector<TokenId> tokens = {};
    std::vector<double> token_seconds = {};     // On the same clock.
    bool ended = false;
    int last_step = 0;                          // The last step with a token for the sequence; from 1 on.
  };

  // Creates an object without sequences. engine, costs: must outlive the object. most_gap: see StepperOptions.
  static absl::StatusOr<std::unique_ptr<TextsTogether>> Create(Engine& engine, CostProfile& costs, double most_gap = 2);

  // Adds a sequence and returns the sequence's number. on_token of the options is not called. adapter: must outlive the object; null: the
  // base model.
  int Add(std::vector<TokenId> prompt, const GenerateOptions& options, const LoraAdapter* adapter = nullptr,
          const SamplingOptions& sampling = {.temperature = 0});
  const Text& text(int number) const { return *texts_[static_cast<size_t>(number)]; }

  // Runs one step. Returns the first error of a sequence, or Cancelled once the engine's cancel flag is set.
  absl::StatusOr<TimedStep> Step();
  // Steps until `done`, or until nothing is left to do. Returns the number of steps.
  absl::StatusOr<int> StepUntil(const std::function<bool()>& done);

 private:
  explicit TextsTogether(const Engine& engine) : engine_(engine) {}
  double Now() const { return static_cast<double>(engine_.ClockOr(nullptr).NowNanos()) * 1e-9; }

  const Engine& engine_;
  std::vector<std::unique_ptr<Text>> texts_;    // Streams hold pointers to the elements.
  absl::Status error_;                          // The first error of a sequence.
  TimedStep step_;                              // The current step so far,
  int steps_ = 0;                               // and the step's number.
  std::unique_ptr<Stepper> stepper_;
};

// Returns a new speculator with the drafters of `list`, for a sequence of `engine`. costs: must outlive the speculator. Returns the errors
// of DrafterRegistry::Make.
absl::StatusOr<std::unique_ptr<Speculator>> NewSpeculator(const Engine& engine, const DrafterRegistry& registry, const std::string& list,
                                                          CostProfile& costs);

// Tokens, steps and time while all sequences were decoded and no prompt was read.
struct SteadyRate {
  int64_t tokens = 0, steps = 0;
  double seconds = 0;
  double TokensPerSecond() const { return static_cast<double>(tokens) / seconds; }
  double StepSeconds() const { return seconds / static_cast<double>(steps); }
};

struct SteadyTexts {
  int texts = 1;                                          // At once.
  int tokens = 1;                                         // Per sequence, after the first token. A new sequence follows each that ends.
  absl::Span<const std::vector<TokenId>> prompts = {};    // In this order, cyclically.
  absl::Span<const LoraAdapter* const> adapters = {};     // Likewise. Empty: the base model.
  bool ignore_end = false;
  // Makes a speculator for each sequence; null: each step gives a sequence one token.
  std::function<absl::StatusOr<std::unique_ptr<Speculator>>()> make_speculator = nullptr;
};

// Decodes until texts * tokens tokens have been counted, or until 8 * texts sequences have ended. ResourceExhausted (limited by
// cache_tokens) if all sequences were never decoded at once.
absl::StatusOr<SteadyRate> WriteTogether(Engine& engine, CostProfile& costs, const SteadyTexts& texts);

}  // namespace tessera

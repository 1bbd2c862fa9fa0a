// Texts that one stepper writes, for a measurement: it is driven step by step, and says what each step took and gave.
//
//   CostProfile costs;                                                        // of all steppers of this engine: measured once
//   ASSIGN_OR_RETURN(const std::unique_ptr<TextsTogether> texts, TextsTogether::Create(*engine, costs));
//   for (int i = 0; i < 8; ++i) texts->Add(prompt, {.max_tokens = 129, .ignore_end = true});
//   ASSIGN_OR_RETURN(const TimedStep step, texts->Step());
//   step.tokens / step.seconds;                                               // tokens per second, if step.prompt_rows is 0
//   texts->text(0).token_seconds;                                             // when each token came
//
// Times are by the engine's clock. Texts are greedy unless they are sampled by what is given, and none begins with what another left in the
// cache. Those that have not ended when this goes are dropped. Threads: the engine's, one call at a time.
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
  int texts = 0;                 // That got a token,
  int tokens = 0;                // all together so many.
  int64_t prompt_rows = 0;
};

class TextsTogether {
 public:
  struct Text {
    double begin_seconds = 0;                   // When it was added.
    std::vector<TokenId> tokens = {};
    std::vector<double> token_seconds = {};     // On the same clock.
    bool ended = false;
    int last_step = 0;                          // In which it got a token; from 1 on.
  };

  // engine, costs: must outlive this. most_gap: StepperOptions'.
  static absl::StatusOr<std::unique_ptr<TextsTogether>> Create(Engine& engine, CostProfile& costs, double most_gap = 2);

  // Its number. on_token of the options is not called. adapter: must outlive this; null: the model as it is.
  int Add(std::vector<TokenId> prompt, const GenerateOptions& options, const LoraAdapter* adapter = nullptr,
          const SamplingOptions& sampling = {.temperature = 0});
  const Text& text(int number) const { return *texts_[static_cast<size_t>(number)]; }

  // The first error of a text, or Cancelled once the engine's cancel flag is set.
  absl::StatusOr<TimedStep> Step();
  // Step until `done`, or nothing is left to do. Returns the number of steps.
  absl::StatusOr<int> StepUntil(const std::function<bool()>& done);

 private:
  explicit TextsTogether(const Engine& engine) : engine_(engine) {}
  double Now() const { return static_cast<double>(engine_.ClockOr(nullptr).NowNanos()) * 1e-9; }

  const Engine& engine_;
  std::vector<std::unique_ptr<Text>> texts_;    // Streams hold pointers to them.
  absl::Status error_;                          // The first of a text.
  TimedStep step_;                              // So far,
  int steps_ = 0;                               // and its number.
  std::unique_ptr<Stepper> stepper_;
};

// A new one with drafters of the list, for a text of this engine. costs: must outlive it. The errors of DrafterRegistry::Make.
absl::StatusOr<std::unique_ptr<Speculator>> NewSpeculator(const Engine& engine, const DrafterRegistry& registry, const std::string& list,
                                                          CostProfile& costs);

// What texts gave while all of them were written, and no prompt was read.
struct SteadyRate {
  int64_t tokens = 0, steps = 0;
  double seconds = 0;
  double TokensPerSecond() const { return static_cast<double>(tokens) / seconds; }
  double StepSeconds() const { return seconds / static_cast<double>(steps); }
};

struct SteadyTexts {
  int texts = 1;                                          // At once.
  int tokens = 1;                                         // Each, after its first: a text that ends is followed by another.
  absl::Span<const std::vector<TokenId>> prompts = {};    // In this order, and again from the first.
  absl::Span<const LoraAdapter* const> adapters = {};     // Likewise. Empty: the model as it is.
  bool ignore_end = false;
  // A new one for each text; null: each step gives a text one token.
  std::function<absl::StatusOr<std::unique_ptr<Speculator>>()> make_speculator = nullptr;
};

// Writes until there are texts x tokens, or eight times as many texts have ended. ResourceExhausted (limited by cache_tokens) if they never
// were all there at once.
absl::StatusOr<SteadyRate> WriteTogether(Engine& engine, CostProfile& costs, const SteadyTexts& texts);

}  // namespace tessera

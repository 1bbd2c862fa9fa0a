#include "tessera/apps/bench/batch/texts_together.h"

#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"

namespace tessera {
namespace {

constexpr double kMeasureSeconds = 0.15;
constexpr int kMostTexts = 8;              // Maximum sequences for each one decoded at once.

}  // namespace

absl::StatusOr<std::unique_ptr<TextsTogether>> TextsTogether::Create(Engine& engine, CostProfile& costs, double most_gap) {
  std::unique_ptr<TextsTogether> together(new TextsTogether(engine));
  ASSIGN_OR_RETURN(together->stepper_,
                   Stepper::Create(engine, {.costs = &costs, .measure_seconds = kMeasureSeconds, .most_gap = most_gap,
                                            .keeps_prefixes = false}));
  return together;
}

int TextsTogether::Add(std::vector<TokenId> prompt, const GenerateOptions& options, const LoraAdapter* adapter,
                       const SamplingOptions& sampling) {
  texts_.push_back(std::make_unique<Text>(Text{.begin_seconds = Now()}));
  Text* const text = texts_.back().get();
  StreamOptions stream = {.prompt = std::move(prompt), .sampling = sampling, .text = options,
                          .adapter = adapter, .cancel = engine_.options().cancel};
  stream.text.on_token = [this, text](TokenId token, absl::Span<const float>) {
    text->tokens.push_back(token);
    text->token_seconds.push_back(Now());
    step_.tokens += 1;
    step_.texts += std::exchange(text->last_step, steps_) == steps_ ? 0 : 1;
  };
  stream.on_end = [this, text](const absl::StatusOr<Generation>& result) {
    text->ended = true;
    if (error_.ok()) error_ = result.status();
  };
  stepper_->Submit(std::move(stream));
  return static_cast<int>(texts_.size()) - 1;
}

absl::StatusOr<TimedStep> TextsTogether::Step() {
  const int64_t prompt_rows = stepper_->report().prompt_rows;
  step_ = {};
  steps_ += 1;
  const double begin = Now();
  ASSIGN_OR_RETURN(step_.any, stepper_->Step());
  step_.seconds = Now() - begin;
  step_.prompt_rows = stepper_->report().prompt_rows - prompt_rows;
  RETURN_IF_ERROR(error_);
  const std::atomic<bool>* const cancel = engine_.options().cancel;
  if (cancel != nullptr && cancel->load()) return absl::CancelledError("stopped");
  return step_;
}

absl::StatusOr<int> TextsTogether::StepUntil(const std::function<bool()>& done) {
  int steps = 0;
  for (; !done(); ++steps) {
    ASSIGN_OR_RETURN(const TimedStep step, Step());
    if (!step.any) break;
  }
  return steps;
}

absl::StatusOr<std::unique_ptr<Speculator>> NewSpeculator(const Engine& engine, const DrafterRegistry& registry, const std::string& list,
                                                          CostProfile& costs) {
  const DraftingSize size = {.context = engine.context(), .vocabulary = engine.config().vocabulary};
  ASSIGN_OR_RETURN(std::vector<std::unique_ptr<Drafter>> drafters, registry.Make(list, size));
  return std::make_unique<Speculator>(std::move(drafters), Speculator::Options{.costs = &costs,
                                                                              .clock = &engine.ClockOr(nullptr),
                                                                              .drafted = SpendDraftStep(engine.options())});
}

absl::StatusOr<SteadyRate> WriteTogether(Engine& engine, CostProfile& costs, const SteadyTexts& texts) {
  struct Slot { int text = -1; std::unique_ptr<Speculator> speculator = nullptr; };
  std::vector<Slot> slots(static_cast<size_t>(texts.texts));   // The slots outlive the streams.
  // Prompts are read as fast as possible, or short sequences would end before all sequences are decoded at once.
  ASSIGN_OR_RETURN(const std::unique_ptr<TextsTogether> together,
                   TextsTogether::Create(engine, costs, /*most_gap=*/std::numeric_limits<double>::max()));
  SteadyRate rate;
  int added = 0;
  while (rate.tokens < int64_t{texts.texts} * texts.tokens) {
    for (Slot& slot : slots) {
      if ((slot.text >= 0 && !together->text(slot.text).ended) || added == kMostTexts * texts.texts) continue;
      if (texts.make_speculator != nullptr) {
        ASSIGN_OR_RETURN(slot.speculator, texts.make_speculator());
      }
      const size_t number = static_cast<size_t>(added++);
      slot.text = together->Add(texts.prompts[number % texts.prompts.size()],
                                {.max_tokens = texts.tokens + 1, .ignore_end = texts.ignore_end, .speculator = slot.speculator.get()},
                                texts.adapters.empty() ? nullptr : texts.adapters[number % texts.adapters.size()]);
    }
    ASSIGN_OR_RETURN(const TimedStep step, together->Step());
    if (!step.any) break;
    if (step.texts < texts.texts || step.prompt_rows > 0) continue;
    rate.tokens += step.tokens;
    rate.seconds += step.seconds;
    rate.steps += 1;
  }
  if (rate.steps > 0) return rate;
  return LimitedBy("cache_tokens", absl::ResourceExhaustedError(absl::StrCat(
                                  "streams: found no pass in which all ", texts.texts,
                                  " texts were written, expected a cache with room for them and texts of two tokens or more")));
}

}  // namespace tessera

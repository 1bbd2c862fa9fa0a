#include "tessera/runtime/chat/parallel_answers.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"
#include "tessera/runtime/chat/prompt_size.h"

namespace tessera {

absl::Status PlanParallel(const ParallelOptions& parallel, EngineOptions& options) {
  if (parallel.texts < 1 || parallel.texts > kMostTexts) return WrongUsage("texts", parallel.texts, absl::StrCat("1 to ", kMostTexts));
  options.workload.sessions = parallel.texts;
  options.cache.text_share = kUsualText;
  const int without_drafts = options.workload.logit_rows;
  RETURN_IF_ERROR(PlanSpeculation(parallel.speculation, options));
  // The planned logits for drafts serve decoding, too.
  if (options.workload.logit_rows > without_drafts) return absl::OkStatus();
  options.workload.least_logit_rows = options.workload.logit_rows + 1;
  options.workload.logit_rows += std::min(parallel.texts, Session::kLogitRows);
  return absl::OkStatus();
}

absl::Status CheckAnswersDiffer(int answers, const SamplingOptions& sampling, absl::string_view field) {
  if (answers == 1) return absl::OkStatus();
  const char* same = nullptr;
  if (sampling.min_p == 1) same = "min_p 1";
  if (sampling.top_k == 1) same = "top_k 1";
  if (sampling.temperature == 0) same = "temperature 0";
  if (same == nullptr) return absl::OkStatus();
  return WrongUsage(field, absl::StrCat(answers, " with ", same), "1, since all would be the same, or other sampling");
}

struct ParallelAnswers::Text {
  NewAnswer asked;
  AnswerId id = -1;                         // Below 0: not an answer.
  std::optional<StreamId> stream = std::nullopt;   // Nullopt: waiting.
  bool cancelled = false;
  int64_t begin_nanos = 0;
  double first_token_seconds = -1;
  Speculator* speculator = nullptr;   // Null: none so far, or nothing is drafted.
  // Null: an answer. Otherwise the prompt is read to find `first_tokens` likeliest first tokens.
  FirstTokensCallback on_found = nullptr;
  int first_tokens = 0;
};

ParallelAnswers::ParallelAnswers(Engine& engine, const ParallelOptions& options, std::unique_ptr<Speculation> speculation)
    : engine_(engine), most_texts_(options.texts), flash_(options.flash_bytes_per_second), clock_(engine.ClockOr(options.clock)),
      asked_nanos_(options.asked_nanos >= 0 ? options.asked_nanos : clock_.NowNanos()), speculation_(std::move(speculation)) {}

absl::StatusOr<std::unique_ptr<ParallelAnswers>> ParallelAnswers::Create(Engine& engine, const ParallelOptions& options) {
  if (options.texts < 1 || options.texts > kMostTexts) return WrongUsage("texts", options.texts, absl::StrCat("1 to ", kMostTexts));
  RETURN_IF_ERROR(engine.AwaitWeights(Engine::WeightsAre::kVerified));
  ASSIGN_OR_RETURN(std::unique_ptr<Speculation> speculation,
                   Speculation::Create(engine, options.speculation, engine.ClockOr(options.clock)));
  std::unique_ptr<ParallelAnswers> answers(new ParallelAnswers(engine, options, std::move(speculation)));
  StepperOptions stepper = {.most_texts = options.texts, .clock = &engine.ClockOr(options.clock)};
  if (Speculation* const drafts = answers->speculation_.get(); drafts != nullptr) {
    stepper.costs = &drafts->costs();
    stepper.measure_seconds = drafts->measure_seconds();
  }
  ASSIGN_OR_RETURN(answers->stepper_, Stepper::Create(engine, stepper));
  if (engine.model().streamer() != nullptr) {
    answers->streaming_before_ = StreamingFigures::Of(engine, options.flash_bytes_per_second);
  }
  return answers;
}

AnswerId ParallelAnswers::Add(NewAnswer answer) {
  auto text = std::make_shared<Text>();
  const AnswerId id = next_++;
  text->id = id;
  answers_[id] = text;
  text->asked = std::move(answer);
  text->begin_nanos = text->asked.begin_nanos >= 0 ? text->asked.begin_nanos : clock_.NowNanos();
  waiting_.push_back(std::move(text));
  ++unended_;
  return id;
}

void ParallelAnswers::Cancel(AnswerId answer) {
  const auto text = answers_.find(answer);
  if (text == answers_.end()) return;
  if (text->second->stream.has_value()) stepper_->Cancel(*text->second->stream);
  else text->second->cancelled = true;
}

void ParallelAnswers::AskFirstTokens(std::vector<TokenId> prompt, const LoraAdapter* adapter, int count, FirstTokensCallback on_found) {
  auto text = std::make_shared<Text>();
  text->asked.prompt = std::move(prompt);
  text->asked.adapter = adapter;
  text->on_found = std::move(on_found);
  text->first_tokens = count;
  waiting_.push_back(std::move(text));
  ++unended_;
}

void ParallelAnswers::SubmitWaiting() {
  while (!waiting_.empty() && (submitted_ < most_texts_ || waiting_.front()->cancelled)) {
    const std::shared_ptr<Text> next = std::move(waiting_.front());
    waiting_.pop_front();
    ++submitted_;
    if (next->cancelled) End(*next, Generation{.reason = FinishReason::kCancelled});
    else if (next->on_found == nullptr) Submit(next);
    else SubmitReader(next);
  }
}

void ParallelAnswers::SubmitReader(const std::shared_ptr<Text>& text) {
  const absl::Status fits = CheckTokensFit(text->asked.prompt.size(), engine_.context());
  if (!fits.ok()) return EndReader(*text, fits);
  StreamOptions stream = FirstTokensStream(engine_.tokenizer(), text->asked.prompt, text->first_tokens,
                                           [this, text](const auto& firsts) { EndReader(*text, firsts); });
  stream.adapter = text->asked.adapter;
  stream.cancel = engine_.options().cancel;
  stepper_->Submit(std::move(stream));
}

void ParallelAnswers::EndReader(const Text& text, const absl::StatusOr<std::vector<FirstToken>>& firsts) {
  --submitted_;
  --unended_;
  text.on_found(firsts);
}

void ParallelAnswers::Submit(const std::shared_ptr<Text>& text) {
  const absl::Status fits = CheckTokensFit(text->asked.prompt.size(), engine_.context());
  if (!fits.ok()) return End(*text, fits);
  if (speculation_ != nullptr) {
    const absl::StatusOr<Speculator*> speculator = speculation_->Take();
    if (!speculator.ok()) return End(*text, speculator.status());
    text->speculator = *speculator;
  }
  StreamOptions stream = {.prompt = text->asked.prompt, .sampling = text->asked.sampling, .cancel = engine_.options().cancel};
  stream.adapter = text->asked.adapter;
  stream.text = {.max_tokens = text->asked.max_tokens, .stop = text->asked.stop, .stream = text->asked.stream,
                 .starts_text = text->asked.starts_text};
  if (text->asked.first.has_value()) stream.text.first = text->asked.first->token;
  stream.text.siblings = text->asked.siblings;
  if (text->speculator != nullptr) speculation_->Equip(*text->speculator, stream.text);
  stream.text.on_text = [this, text](absl::string_view shown) {
    if (timings_.first_token_seconds < 0) timings_.first_token_seconds = SecondsSince(asked_nanos_);
    if (text->asked.on_text) text->asked.on_text(shown);
  };
  stream.text.on_token = [this, text](TokenId token, absl::Span<const float> logits) {
    if (text->first_token_seconds < 0) text->first_token_seconds = SecondsSince(text->begin_nanos);
    if (text->asked.on_token) text->asked.on_token(token, logits);
  };
  stream.on_end = [this, text](const absl::StatusOr<Generation>& result) { End(*text, result); };
  text->stream = stepper_->Submit(std::move(stream));
}

void ParallelAnswers::End(Text& text, const absl::StatusOr<Generation>& result) {
  --submitted_;
  --unended_;
  answers_.erase(text.id);
  if (text.speculator != nullptr) speculation_->GiveBack(text.speculator);
  if (!result.ok()) {
    if (text.asked.on_end) text.asked.on_end(result.status());
    return;
  }
  if (speculation_ != nullptr) speculation_->Finish(text.asked.prompt, *result);
  timings_.pruning.Add(result->pruned);
  const int64_t tokens = static_cast<int64_t>(result->tokens.size());
  timings_.output_tokens += tokens;
  timings_.timed_tokens += std::max<int64_t>(tokens - 1, 0);
  if (!text.asked.on_end) return;
  text.asked.on_end(TimedAnswer{.text = *result,
                                .first_token_seconds = text.first_token_seconds,
                                .seconds = SecondsSince(text.begin_nanos),
                                .shared_tokens = result->shared_tokens,
                                .first = text.asked.first});
}

absl::StatusOr<bool> ParallelAnswers::Step() {
  SubmitWaiting();
  const StepperReport before = stepper_->report();
  const int64_t begin = clock_.NowNanos();
  ASSIGN_OR_RETURN(const bool more, stepper_->Step());
  const StepperReport& after = stepper_->report();
  const int64_t prompt_rows = after.prompt_rows - before.prompt_rows;
  const bool only_prompts = after.rows - before.rows == prompt_rows;
  (only_prompts ? timings_.prompt_seconds : timings_.generation_seconds) += SecondsSince(begin);
  if (only_prompts) timings_.prompt_tokens += prompt_rows;
  return more || unended_ > 0;
}

absl::Status ParallelAnswers::Run() {
  while (true) {
    ASSIGN_OR_RETURN(const bool more, Step());
    if (!more) return absl::OkStatus();
  }
}

Timings ParallelAnswers::timings() const {
  Timings timings = timings_;
  if (speculation_ != nullptr) timings.speculation = speculation_->report();
  if (streaming_before_.has_value()) timings.streaming = StreamingFigures::Of(engine_, flash_).Since(*streaming_before_);
  return timings;
}

}  // namespace tessera

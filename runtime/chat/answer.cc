#include "tessera/runtime/chat/answer.h"

#include <algorithm>

#include "tessera/base/status_macros.h"
#include "tessera/runtime/chat/prompt_size.h"
#include "tessera/runtime/chat/shown_text.h"
#include "tessera/runtime/session/prompt.h"

namespace tessera {
namespace {

void Tell(const AnswerOptions& options, AnswerOptions::Stage stage, int64_t most) {
  if (options.on_stage) options.on_stage(stage, most);
}

}  // namespace

Answerer::Answerer(Engine& engine, const Sampler& sampler, const AnswererOptions& options, std::unique_ptr<Session> session,
                   std::unique_ptr<Speculation> speculation)
    : engine_(&engine), sampler_(sampler), stop_(options.stop), session_(std::move(session)), speculation_(std::move(speculation)),
      flash_(options.flash_bytes_per_second),
      clock_(&engine.ClockOr(options.clock)),
      asked_nanos_(options.asked_nanos >= 0 ? options.asked_nanos : clock_->NowNanos()) {}

absl::StatusOr<Answerer> Answerer::Create(Engine& engine, const AnswererOptions& options) {
  ASSIGN_OR_RETURN(const Sampler sampler, Sampler::Create(options.sampling));
  ASSIGN_OR_RETURN(std::unique_ptr<Session> session, engine.NewSession());
  const Clock& clock = engine.ClockOr(options.clock);
  ASSIGN_OR_RETURN(std::unique_ptr<Speculation> speculation, Speculation::Create(engine, options.speculation, clock));
  return Answerer(engine, sampler, options, std::move(session), std::move(speculation));
}

absl::Status Answerer::UseAdapter(const LoraAdapter* adapter) {
  if (adapter == session_->adapter()) return absl::OkStatus();
  ASSIGN_OR_RETURN(session_, engine_->NewSession({.adapter = adapter}));
  return absl::OkStatus();
}

absl::Status Answerer::AppendPrompt(const std::vector<TokenId>& prompt, const AnswerOptions& options) {
  const absl::Span<const TokenId> held = session_->tokens();
  // The last token is always computed, since its row gives the logits.
  const size_t most = std::min(held.size(), prompt.size() - 1);
  const size_t common = std::mismatch(held.begin(), held.begin() + most, prompt.begin()).first - held.begin();
  session_->Truncate(static_cast<int>(common));
  const absl::Span<const TokenId> rest = absl::MakeConstSpan(prompt).subspan(common);
  Tell(options, AnswerOptions::Stage::kPrompt, static_cast<int64_t>(rest.size()));
  const absl::Status appended = tessera::AppendPrompt(*session_, speculator(), rest);
  Tell(options, AnswerOptions::Stage::kDone, 0);
  if (appended.ok()) timings_.prompt_tokens += rest.size();
  return appended;
}

template <typename Call>
auto Answerer::CountingReads(Call call) -> decltype(call()) {
  if (engine_->model().streamer() == nullptr) return call();
  const StreamingFigures before = StreamingFigures::Of(*engine_, flash_);
  auto result = call();
  const StreamingFigures taken = StreamingFigures::Of(*engine_, flash_).Since(before);
  if (timings_.streaming.has_value()) timings_.streaming->Add(taken);
  else timings_.streaming = taken;
  return result;
}

absl::StatusOr<Generation> Answerer::Run(const std::vector<TokenId>& prompt, const AnswerOptions& options) {
  return CountingReads([&] { return RunTimed(prompt, options); });
}

absl::StatusOr<std::vector<FirstToken>> Answerer::FirstTokens(const std::vector<TokenId>& prompt, int count,
                                                              const AnswerOptions& options) {
  RETURN_IF_ERROR(CountingReads([&] { return ReadPrompt(prompt, options); }));
  return LikeliestFirstTokens(session_->logits(), engine_->tokenizer(), count);
}

absl::Status Answerer::ReadPrompt(const std::vector<TokenId>& prompt, const AnswerOptions& options) {
  RETURN_IF_ERROR(CheckTokensFit(prompt.size(), engine_->context()));
  const int64_t begin = clock_->NowNanos();
  const double loading = engine_->stats().loading_seconds;
  RETURN_IF_ERROR(AppendPrompt(prompt, options));
  // No word of an answer comes from a file that is damaged anywhere.
  RETURN_IF_ERROR(engine_->AwaitWeights(Engine::WeightsAre::kVerified));
  // In real time, which may exceed the time that passed on our clock.
  const double waited = engine_->stats().loading_seconds - loading;
  timings_.prompt_seconds += std::max(0.0, SecondsSince(begin) - waited);
  return absl::OkStatus();
}

absl::StatusOr<Generation> Answerer::RunTimed(const std::vector<TokenId>& prompt, const AnswerOptions& options) {
  const absl::Status read = ReadPrompt(prompt, options);
  if (absl::IsCancelled(read)) return Generation{.reason = FinishReason::kCancelled};
  RETURN_IF_ERROR(read);
  const int64_t prompt_end = clock_->NowNanos();
  ASSIGN_OR_RETURN(Generation result, GenerateText(options));
  timings_.generation_seconds += SecondsSince(prompt_end);
  if (speculation_ != nullptr) {
    speculation_->Finish(prompt, result);
    timings_.speculation = speculation_->report();
    timings_.pruning.Add(result.pruned);
  }
  if (result.reason == FinishReason::kStopString) {
    const ShownText shown = ShownTextOf(result, engine_->tokenizer(), options.starts_text);
    session_->Truncate(std::min(session_->length(), static_cast<int>(prompt.size()) + shown.tokens));
  }
  timings_.output_tokens += result.tokens.size();
  timings_.timed_tokens += result.tokens.empty() ? 0 : static_cast<int64_t>(result.tokens.size()) - 1;
  return result;
}

absl::StatusOr<Generation> Answerer::GenerateText(const AnswerOptions& options) {
  Tell(options, AnswerOptions::Stage::kAnswer, options.max_tokens);
  GenerateOptions generate = {.max_tokens = options.max_tokens, .stop = options.stop.value_or(stop_), .stream = options.stream,
                              .first = options.first, .starts_text = options.starts_text};
  generate.on_text = [&](absl::string_view text) {
    if (timings_.first_token_seconds < 0) timings_.first_token_seconds = SecondsSince(asked_nanos_);
    if (options.on_text) options.on_text(text);
  };
  generate.on_token = options.on_token;
  if (speculation_ != nullptr) {
    speculation_->Equip(speculation_->speculator(), generate);
    generate.measure_seconds = speculation_->measure_seconds();
  }
  absl::StatusOr<Generation> result = Generate(*session_, options.sampler.has_value() ? *options.sampler : sampler_, generate);
  Tell(options, AnswerOptions::Stage::kDone, 0);
  return result;
}

}  // namespace tessera

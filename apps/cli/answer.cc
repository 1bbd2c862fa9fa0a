#include "tessera/apps/cli/answer.h"

#include <algorithm>

#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tessera/apps/cli/app_main.h"
#include "tessera/apps/cli/engine_flags.h"
#include "tessera/apps/cli/prompt_size.h"
#include "tessera/apps/cli/warnings.h"
#include "tessera/base/byte_size.h"
#include "tessera/base/peak_memory.h"
#include "tessera/base/status_macros.h"
#include "tessera/runtime/prompt.h"

namespace tessera {
namespace {

double PerSecond(int64_t tokens, double seconds) { return seconds > 0 ? static_cast<double>(tokens) / seconds : 0; }

}  // namespace

absl::StatusOr<Answerer> Answerer::FromFlags(Engine& engine, double flash_bytes_per_second) {
  WarnOfShortages(engine);
  ASSIGN_OR_RETURN(const Sampler sampler, SamplerOfFlags());
  ASSIGN_OR_RETURN(std::vector<std::string> stop, StopStringsOfFlag());
  ASSIGN_OR_RETURN(std::unique_ptr<Session> session, engine.NewSession());
  ASSIGN_OR_RETURN(std::unique_ptr<Speculation> speculation, Speculation::FromFlags(engine));
  return Answerer(engine, sampler, std::move(stop), std::move(session), std::move(speculation), flash_bytes_per_second);
}

std::unique_ptr<PassProgress> Answerer::ShowProgress(const char* label, int64_t total) const {
  return engine_->model().streamer() == nullptr ? nullptr : std::make_unique<PassProgress>(*engine_, label, total, flash_);
}

absl::Status Answerer::AppendPrompt(const std::vector<TokenId>& prompt) {
  const absl::Span<const TokenId> held = session_->tokens();
  // The last token is always computed: it is what gives logits.
  const size_t most = std::min(held.size(), prompt.size() - 1);
  const size_t common = std::mismatch(held.begin(), held.begin() + most, prompt.begin()).first - held.begin();
  session_->Truncate(static_cast<int>(common));
  const absl::Span<const TokenId> rest = absl::MakeConstSpan(prompt).subspan(common);
  const std::unique_ptr<PassProgress> progress = ShowProgress("prompt", static_cast<int64_t>(rest.size()));
  RETURN_IF_ERROR(tessera::AppendPrompt(*session_, speculator(), rest));
  totals_.prompt_tokens += rest.size();
  return absl::OkStatus();
}

absl::StatusOr<Generation> Answerer::Run(const std::vector<TokenId>& prompt, const AnswerOptions& options) {
  if (engine_->model().streamer() == nullptr) return RunTimed(prompt, options);
  const StreamingFigures before = StreamingFigures::Of(*engine_, flash_);
  absl::StatusOr<Generation> result = RunTimed(prompt, options);
  const StreamingFigures taken = StreamingFigures::Of(*engine_, flash_).Since(before);
  if (totals_.streaming.has_value()) totals_.streaming->Add(taken);
  else totals_.streaming = taken;
  return result;
}

absl::StatusOr<Generation> Answerer::RunTimed(const std::vector<TokenId>& prompt, const AnswerOptions& options) {
  RETURN_IF_ERROR(CheckTokensFit(prompt.size(), engine_->context()));
  const double begin = SecondsSinceStart(), loading = engine_->stats().loading_seconds;
  absl::Status appended = AppendPrompt(prompt);
  if (appended.ok()) appended = engine_->AwaitWeights(Engine::WeightsAre::kVerified);  // No word of an answer comes from a file that is damaged anywhere.
  if (absl::IsCancelled(appended)) return Generation{.reason = FinishReason::kCancelled};
  RETURN_IF_ERROR(appended);
  totals_.prompt_seconds += SecondsSinceStart() - begin - (engine_->stats().loading_seconds - loading);
  const double prompt_end = SecondsSinceStart();
  ASSIGN_OR_RETURN(Generation result, GenerateText(options));
  totals_.generation_seconds += SecondsSinceStart() - prompt_end;
  if (speculation_ != nullptr) {
    speculation_->Finish(prompt, result);
    totals_.speculation = speculation_->report();
  }
  totals_.output_tokens += result.tokens.size();
  return result;
}

absl::StatusOr<Generation> Answerer::GenerateText(const AnswerOptions& options) {
  const bool text_is_seen = options.on_text != nullptr && isatty(STDOUT_FILENO) == 1;
  const std::unique_ptr<PassProgress> progress = text_is_seen ? nullptr : ShowProgress("answer", options.max_tokens);
  const int before = session_->length();
  GenerateOptions generate = {.max_tokens = options.max_tokens, .stop = stop_, .starts_text = options.starts_text};
  generate.on_text = [&](absl::string_view text) {
    if (totals_.first_token_seconds < 0) totals_.first_token_seconds = SecondsSinceStart();
    if (progress != nullptr) progress->Update(session_->length() - before + 1);  // The last has not been computed on.
    if (options.on_text) options.on_text(text);
  };
  generate.on_token = options.on_token;
  generate.speculator = speculator();
  if (speculation_ != nullptr) generate.measure_seconds = speculation_->measure_seconds();
  return Generate(*session_, sampler_, generate);
}

std::string SummaryLine(const Timings& timings) {
  std::string line = absl::StrFormat("prompt %d tokens, %.1f tokens/s | generation %d tokens, %.1f tokens/s", timings.prompt_tokens,
                                     PerSecond(timings.prompt_tokens, timings.prompt_seconds), timings.output_tokens,
                                     PerSecond(timings.output_tokens, timings.generation_seconds));
  if (timings.speculation.has_value()) absl::StrAppend(&line, " | ", SpeculationLine(*timings.speculation));
  if (timings.first_token_seconds >= 0) absl::StrAppendFormat(&line, " | first token after %.2f s", timings.first_token_seconds);
  if (timings.streaming.has_value()) absl::StrAppend(&line, " | ", StreamingLine(*timings.streaming));
  return absl::StrCat(line, " | peak memory ", FormatByteSize(PeakMemoryBytes()));
}

void WriteTimings(JsonWriter& json, const Timings& timings) {
  json.BeginObject();
  json.Key("prompt_tokens").Int(timings.prompt_tokens);
  json.Key("prompt_seconds").Double(timings.prompt_seconds, 6);
  json.Key("prompt_tokens_per_second").Double(PerSecond(timings.prompt_tokens, timings.prompt_seconds), 6);
  json.Key("output_tokens").Int(timings.output_tokens);
  json.Key("generation_seconds").Double(timings.generation_seconds, 6);
  json.Key("generation_tokens_per_second").Double(PerSecond(timings.output_tokens, timings.generation_seconds), 6);
  json.Key("first_token_seconds");
  if (timings.first_token_seconds < 0) json.Null(); else json.Double(timings.first_token_seconds, 6);
  if (timings.speculation.has_value()) WriteSpeculation(json.Key("speculation"), *timings.speculation);
  if (timings.streaming.has_value()) WriteStreaming(json.Key("streaming"), *timings.streaming);
  json.Key("peak_memory_bytes").Int(PeakMemoryBytes());
  json.EndObject();
}

}  // namespace tessera

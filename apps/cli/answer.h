// One answer to a prompt, timed: keeps the part of the prompt that the session holds already, computes the rest, and generates.
//
//   ASSIGN_OR_RETURN(Answerer answerer, Answerer::FromFlags(*engine, /*flash_bytes_per_second=*/0));
//   ASSIGN_OR_RETURN(Answer answer, answerer.Run(tokens, {.on_text = [](absl::string_view text) { ... }}));
//   WriteError(SummaryLine(answerer.totals()));
//
// While a streamed model computes, a line of progress is shown (pass_progress.h), but none beside text that comes on a terminal.
// Threads: one at a time; EngineOptions::cancel ends the prompt or the answer early, which is no error.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/apps/cli/pass_progress.h"
#include "tessera/apps/cli/speculation.h"
#include "tessera/apps/cli/streaming_report.h"
#include "tessera/base/json_writer.h"
#include "tessera/model/text/sampler.h"
#include "tessera/runtime/decode_loop.h"
#include "tessera/runtime/engine.h"

namespace tessera {

struct Timings {
  int64_t prompt_tokens = 0;        // Computed tokens; those that the session held already are not counted.
  double prompt_seconds = 0;        // Without the time in which weights that stay in memory were read.
  int64_t output_tokens = 0;
  double generation_seconds = 0;
  std::optional<StreamingFigures> streaming;  // If weights are streamed.
  std::optional<SpeculationReport> speculation;  // If texts are drafted.
  double first_token_seconds = -1;  // From the program's start to the first text of the first answer; below 0: there was none.
};

struct AnswerOptions {
  int max_tokens = 0;               // 0: until the context is full.
  bool starts_text = true;          // False if the answer continues a raw prompt.
  std::function<void(absl::string_view text)> on_text;
  std::function<void(TokenId token, absl::Span<const float> logits)> on_token;  // See GenerateOptions.
};

class Answerer {
 public:
  // Sampling, stop strings and speculation as the flags say. flash_bytes_per_second: see OpenedEngine; 0 if shares of it are not needed.
  static absl::StatusOr<Answerer> FromFlags(Engine& engine, double flash_bytes_per_second);

  // ResourceExhausted (found, expected, --context) if the prompt leaves no room, InvalidArgument if it has no tokens.
  absl::StatusOr<Generation> Run(const std::vector<TokenId>& prompt, const AnswerOptions& options);

  // Forgets the session: the next prompt is computed as a whole.
  void Reset() { session_->Truncate(0); }
  // Saves what later runs may use: history and costs.
  absl::Status Save() const { return speculation_ == nullptr ? absl::OkStatus() : speculation_->Save(); }
  const Timings& totals() const { return totals_; }  // All answers together.

 private:
  Answerer(Engine& engine, const Sampler& sampler, std::vector<std::string> stop, std::unique_ptr<Session> session,
           std::unique_ptr<Speculation> speculation, double flash)
      : engine_(&engine), sampler_(sampler), stop_(std::move(stop)), session_(std::move(session)), speculation_(std::move(speculation)),
        flash_(flash) {}

  Speculator* speculator() const { return speculation_ == nullptr ? nullptr : &speculation_->speculator(); }
  absl::StatusOr<Generation> RunTimed(const std::vector<TokenId>& prompt, const AnswerOptions& options);
  absl::Status AppendPrompt(const std::vector<TokenId>& prompt);
  absl::StatusOr<Generation> GenerateText(const AnswerOptions& options);
  // Null if nothing is streamed: then words or their absence tell enough.
  std::unique_ptr<PassProgress> ShowProgress(const char* label, int64_t total) const;

  Engine* engine_;
  Sampler sampler_;
  std::vector<std::string> stop_;
  std::unique_ptr<Session> session_;
  std::unique_ptr<Speculation> speculation_;   // Null: one token per pass.
  double flash_;                    // Bytes per second, for a streamed model (FlashSpeed).
  Timings totals_;
};

// "prompt 35 tokens, 412 tokens/s | generation ... | 2.41 tokens a pass of 5.2 rows | first token after 0.31 s | peak memory 312 MiB".
std::string SummaryLine(const Timings& timings);

// The same as an object.
void WriteTimings(JsonWriter& json, const Timings& timings);

}  // namespace tessera

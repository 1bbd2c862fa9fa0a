// Answers prompts one after another, timed: keeps the part of a prompt that its session holds already, computes the rest, and generates.
//
//   ASSIGN_OR_RETURN(Answerer answerer, Answerer::Create(*engine, {.sampling = {.temperature = 0}, .stop = {"\n\n"}}));
//   ASSIGN_OR_RETURN(Generation answer, answerer.Run(prompt, {.max_tokens = 64, .on_text = [](absl::string_view text) { Print(text); }}));
//   answerer.timings().output_tokens;                                // of all answers; timings.h writes them as JSON
//
// An answer has the tokens that it would have from an empty session. The part of an answer that a stop text hid leaves the session again:
// no later prompt and no file has it (shown_text.h). Threads: as the engine. EngineOptions::cancel ends a prompt or an answer early, which
// is no error.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/base/clock.h"
#include "tessera/base/elapsed.h"
#include "tessera/model/text/sampler.h"
#include "tessera/runtime/chat/timings.h"
#include "tessera/runtime/draft/speculation.h"
#include "tessera/runtime/engine/engine.h"
#include "tessera/runtime/scheduler/decode_loop.h"
#include "tessera/runtime/scheduler/first_tokens.h"

namespace tessera {

struct AnswererOptions {
  SamplingOptions sampling = {};
  std::vector<std::string> stop = {};
  SpeculationOptions speculation = {};
  double flash_bytes_per_second = 0;   // What the flash of a streamed model does at best; 0: unknown.
  // What timings and drafting count by; but the time in which weights are read is real time. Null: the engine's. Must outlive the answerer.
  const Clock* clock = nullptr;
  int64_t asked_nanos = -1;            // On that clock, from when the first text is waited for; below 0: from Create on.
};

struct AnswerOptions {
  // What is computed next: a prompt's tokens, or answers; `most` tokens of it, 0: as many as come.
  enum class Stage { kPrompt, kAnswer, kDone };

  int max_tokens = 0;               // 0: until the context is full.
  bool starts_text = true;          // False if the answer continues a raw prompt.
  uint64_t stream = 0;              // Answers to one prompt differ in it (GenerateOptions::stream),
  std::optional<TokenId> first = std::nullopt;   // or in this, what the answer begins with; nullopt: what the sampler says.
  // Instead of what the answerer was made with; none: that.
  std::optional<Sampler> sampler = std::nullopt;
  std::optional<std::vector<std::string>> stop = std::nullopt;
  std::function<void(Stage stage, int64_t most)> on_stage = {};
  std::function<void(absl::string_view text)> on_text = {};
  std::function<void(TokenId token, absl::Span<const float> logits)> on_token = {};  // See GenerateOptions.
};

class Answerer {
 public:
  // REQUIRES: PlanSpeculation was OK with these options before the engine was opened. `engine` must outlive the answerer.
  static absl::StatusOr<Answerer> Create(Engine& engine, const AnswererOptions& options);

  // ResourceExhausted (limited by context) if the prompt leaves no room, InvalidArgument if it has no tokens; else the first error of a
  // pass. After an error the next prompt may be asked.
  absl::StatusOr<Generation> Run(const std::vector<TokenId>& prompt, const AnswerOptions& options);

  // Reads the prompt, which the answers share, for the likeliest tokens to begin them with (first_tokens.h). on_stage alone counts of the
  // options. Errors as Run has them, Cancelled, and those of LikeliestFirstTokens.
  absl::StatusOr<std::vector<FirstToken>> FirstTokens(const std::vector<TokenId>& prompt, int count, const AnswerOptions& options = {});

  // The next prompt is compared with this session of the same engine. Forgets the one that was there.
  void GoOnFrom(std::unique_ptr<Session> session) { session_ = std::move(session); }
  const Session& session() const { return *session_; }
  // Texts are written with it from now on; null: by the model as it is. A session that had another is forgotten. Must outlive the
  // answerer. The errors of Engine::NewSession, after which nothing has changed.
  absl::Status UseAdapter(const LoraAdapter* adapter);
  // Forgets the session: the next prompt is computed as a whole.
  void Reset() { session_->Truncate(0); }
  int length() const { return session_->length(); }   // Tokens of prompt and answer that are computed, and were shown.

  // Saves what later runs may use: history and costs.
  absl::Status Save() const { return speculation_ == nullptr ? absl::OkStatus() : speculation_->Save(); }
  const Speculation* speculation() const { return speculation_.get(); }   // Null: nothing is drafted or kept.
  const Timings& timings() const { return timings_; }  // All answers together.

 private:
  Answerer(Engine& engine, const Sampler& sampler, const AnswererOptions& options, std::unique_ptr<Session> session,
           std::unique_ptr<Speculation> speculation);

  double SecondsSince(int64_t nanos) const { return ElapsedSeconds(nanos, clock_->NowNanos()); }
  Speculator* speculator() const { return speculation_ == nullptr ? nullptr : &speculation_->speculator(); }
  // Counts what is read of a streamed model meanwhile.
  template <typename Call>
  auto CountingReads(Call call) -> decltype(call());
  absl::StatusOr<Generation> RunTimed(const std::vector<TokenId>& prompt, const AnswerOptions& options);
  // Cancelled, too. Times it.
  absl::Status ReadPrompt(const std::vector<TokenId>& prompt, const AnswerOptions& options);
  absl::Status AppendPrompt(const std::vector<TokenId>& prompt, const AnswerOptions& options);
  absl::StatusOr<Generation> GenerateText(const AnswerOptions& options);

  Engine* engine_;
  Sampler sampler_;
  std::vector<std::string> stop_;
  std::unique_ptr<Session> session_;
  std::unique_ptr<Speculation> speculation_;   // Null: one token per pass.
  double flash_;
  const Clock* clock_;
  int64_t asked_nanos_;
  Timings timings_;
};

}  // namespace tessera

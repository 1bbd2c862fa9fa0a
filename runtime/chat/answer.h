// Answers prompts one after another, with timings. Keeps the prefix of a prompt that the session holds, computes the rest, and generates.
//
//   ASSIGN_OR_RETURN(Answerer answerer, Answerer::Create(*engine, {.sampling = {.temperature = 0}, .stop = {"\n\n"}}));
//   ASSIGN_OR_RETURN(Generation answer, answerer.Run(prompt, {.max_tokens = 64, .on_text = [](absl::string_view text) { Print(text); }}));
//   answerer.timings().output_tokens;                                // of all answers; timings.h writes them as JSON
//
// An answer has the same tokens as an answer from an empty session. The part of an answer that a stop text hid leaves the session again: no
// later prompt and no session file has this part (shown_text.h). EngineOptions::cancel ends a prompt or an answer early, which is no error.
//
// Threads: as the engine.
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

// Options of all answers of an Answerer.
struct AnswererOptions {
  SamplingOptions sampling = {};
  std::vector<std::string> stop = {};
  SpeculationOptions speculation = {};
  double flash_bytes_per_second = 0;   // The best rate of a streamed model's flash; 0: unknown.
  // The clock of timings and drafting. The time to read weights is always real time. Null: the engine's clock. Must outlive the answerer.
  const Clock* clock = nullptr;
  int64_t asked_nanos = -1;            // On that clock, when waiting for the first text began; below 0: at Create.
};

// Options of one answer.
struct AnswerOptions {
  // The next computation: a prompt's tokens, or an answer. `most` is the maximum number of tokens; 0: no maximum.
  enum class Stage { kPrompt, kAnswer, kDone };

  int max_tokens = 0;               // 0: until the context is full.
  bool starts_text = true;          // False if the answer continues a raw prompt.
  // Answers to one prompt differ in `stream` (GenerateOptions::stream) or in `first`.
  uint64_t stream = 0;
  std::optional<TokenId> first = std::nullopt;   // The answer's first token; nullopt: the sampler chooses.
  // Replace the answerer's sampler and stop texts; nullopt: no replacement.
  std::optional<Sampler> sampler = std::nullopt;
  std::optional<std::vector<std::string>> stop = std::nullopt;
  std::function<void(Stage stage, int64_t most)> on_stage = {};
  std::function<void(absl::string_view text)> on_text = {};
  std::function<void(TokenId token, absl::Span<const float> logits)> on_token = {};  // See GenerateOptions.
};

// Answers prompts in one session.
class Answerer {
 public:
  // Creates an answerer with an empty session. `engine` must outlive the answerer. REQUIRES: PlanSpeculation was OK with these options
  // before the engine was opened.
  static absl::StatusOr<Answerer> Create(Engine& engine, const AnswererOptions& options);

  // Answers a prompt. After an error the caller may ask the next prompt. Errors: ResourceExhausted (limited by context) if the prompt
  // leaves no room. InvalidArgument for a prompt without tokens. Otherwise the first error of a pass.
  absl::StatusOr<Generation> Run(const std::vector<TokenId>& prompt, const AnswerOptions& options);

  // Reads the prompt, which the answers share, and returns the likeliest first tokens of answers (first_tokens.h). Uses only on_stage of
  // the options. Errors: as Run, Cancelled, and the errors of LikeliestFirstTokens.
  absl::StatusOr<std::vector<FirstToken>> FirstTokens(const std::vector<TokenId>& prompt, int count, const AnswerOptions& options = {});

  // Replaces the session by a session of the same engine. The next prompt is compared with this session.
  void GoOnFrom(std::unique_ptr<Session> session) { session_ = std::move(session); }
  const Session& session() const { return *session_; }
  // Sets the adapter of later answers; null: no adapter. Drops a session with another adapter. `adapter` must outlive the answerer. Errors:
  // the errors of Engine::NewSession, after which nothing has changed.
  absl::Status UseAdapter(const LoraAdapter* adapter);
  // Forgets the session: the next prompt is computed whole.
  void Reset() { session_->Truncate(0); }
  int length() const { return session_->length(); }   // Tokens of prompt and answer that are computed and were shown.

  // Saves history and costs for later runs.
  absl::Status Save() const { return speculation_ == nullptr ? absl::OkStatus() : speculation_->Save(); }
  const Speculation* speculation() const { return speculation_.get(); }   // Null: nothing is drafted or kept.
  const Timings& timings() const { return timings_; }  // All answers together.

 private:
  Answerer(Engine& engine, const Sampler& sampler, const AnswererOptions& options, std::unique_ptr<Session> session,
           std::unique_ptr<Speculation> speculation);

  double SecondsSince(int64_t nanos) const { return ElapsedSeconds(nanos, clock_->NowNanos()); }
  Speculator* speculator() const { return speculation_ == nullptr ? nullptr : &speculation_->speculator(); }
  // Calls `call`, and counts the reads of a streamed model meanwhile.
  template <typename Call>
  auto CountingReads(Call call) -> decltype(call());
  absl::StatusOr<Generation> RunTimed(const std::vector<TokenId>& prompt, const AnswerOptions& options);
  // Reads the prompt and times the reading. Errors: as Run, and Cancelled.
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

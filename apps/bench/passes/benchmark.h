// Times a loaded model: prompt tokens per second, and generated tokens per second.
//
//   ASSIGN_OR_RETURN(Benchmark benchmark, Benchmark::Create(*engine, {.prompt_tokens = 512, .generate_tokens = 128}));
//   ASSIGN_OR_RETURN(double seconds, benchmark.TimePrompt());
//   ASSIGN_OR_RETURN(GenerationTime time, benchmark.TimeGeneration());
//
// Times are by the engine's clock. Tokens are random but the same in every run. Generation is the same as in a user's run: a pass for each
// token, then the choice of the likeliest next token from the logits. Threads: one at a time.
#pragma once

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/base/clock.h"
#include "tessera/base/json_writer.h"
#include "tessera/model/text/sampler.h"
#include "tessera/runtime/engine/engine.h"
#include "tessera/runtime/session/session.h"

namespace tessera {

struct BenchmarkOptions {
  int prompt_tokens = 0;
  int generate_tokens = 0;
  int depth = 0;               // Tokens in the cache before the run.
  int NeededContext() const;   // Positions that a run needs.
};

struct GenerationTime {
  double pass_seconds = 0;     // Time of Session::Append, all tokens together.
  double choose_seconds = 0;   // Time of the sampler.
  double Total() const { return pass_seconds + choose_seconds; }
};

class Benchmark {
 public:
  // Creates a benchmark and fills the cache to options.depth. ResourceExhausted if a run does not fit into the engine's context.
  static absl::StatusOr<Benchmark> Create(Engine& engine, const BenchmarkOptions& options);

  // Cuts the cache back to `depth` tokens, or fills the cache to `depth` tokens. The next runs start from there.
  absl::Status MoveTo(int depth);

  absl::StatusOr<double> TimePrompt();  // Seconds.
  // Times a pass over the prompt's first `tokens` tokens, like a pass of a speculative step: all rows are wanted, and the logits of the
  // last row. InvalidArgument if the maximum rows of a pass are fewer. REQUIRES: 1 <= tokens <= options.prompt_tokens.
  absl::StatusOr<double> TimeDraft(int tokens);
  absl::StatusOr<GenerationTime> TimeGeneration();

 private:
  Benchmark(const BenchmarkOptions& options, const Sampler& sampler, std::unique_ptr<Session> session, const Engine& engine)
      : clock_(&engine.ClockOr(nullptr)), options_(options), sampler_(sampler), session_(std::move(session)),
        vocabulary_(engine.config().vocabulary) {}
  double Now() const { return static_cast<double>(clock_->NowNanos()) * 1e-9; }

  const Clock* clock_;
  BenchmarkOptions options_;
  Sampler sampler_;
  std::unique_ptr<Session> session_;
  int vocabulary_;
  std::vector<TokenId> prompt_;
  std::vector<float> logits_;
};

}  // namespace tessera

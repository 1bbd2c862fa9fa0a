// Generates sequences with and without a speculator, in turns, and times both. Also times passes by number of rows, at the end of a
// sequence.
//
//   ASSIGN_OR_RETURN(PairRunner runner, PairRunner::Create(*engine, /*most_tokens=*/128));
//   ASSIGN_OR_RETURN(const TimedText plain, runner.Write(prompt, /*speculator=*/nullptr));
//   ASSIGN_OR_RETURN(const TimedText drafted, runner.Write(prompt, &speculator));
//   drafted.TokensPerSecond() / plain.TokensPerSecond();               // from the first to the last token
//   ASSIGN_OR_RETURN(const RowTimes times, runner.TimeRows());         // with the last text before them
//   BestGain(times);                                                   // the gain of a drafter that knew the text
//
// Times are by the engine's clock. Decoding is greedy. Each sequence begins with an empty cache, so prompts are computed whole. Threads:
// the engine's, one call at a time.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/model/text/sampler.h"
#include "tessera/runtime/engine/engine.h"
#include "tessera/runtime/session/generation.h"
#include "tessera/runtime/session/session.h"
#include "tessera/spec/speculation/speculator.h"

namespace tessera {

struct TimedText {
  std::vector<TokenId> tokens = {};   // An end token included.
  double prompt_seconds = 0;     // Until the first token's logits.
  double decode_seconds = 0;     // From there to the last token.
  int64_t passes = 0, rows = 0;  // After the prompt.

  int64_t DecodedTokens() const { return static_cast<int64_t>(tokens.size()) - 1; }
  double TokensPerSecond() const { return static_cast<double>(DecodedTokens()) / decode_seconds; }
  double TotalSeconds() const { return prompt_seconds + decode_seconds; }
};

// Returns the run with the median decoding time, from several runs of one prompt. If the tokens of a run are not `expected`, returns that
// run, so that the difference is noticed. REQUIRES: at least one run.
TimedText MedianText(std::vector<TimedText> writings, const std::vector<TokenId>& expected);

using RowTimes = std::vector<std::pair<int, double>>;  // Rows, seconds; ascending, from 1 on.

class PairRunner {
 public:
  // Creates a runner for sequences of at most `most_tokens` tokens. adapter: for all sequences; must outlive the runner. Null: the base
  // model.
  static absl::StatusOr<PairRunner> Create(Engine& engine, int most_tokens, const LoraAdapter* adapter = nullptr);

  // Prunes drafts from now on (GenerateOptions::prune). pruned() is the report so far.
  void Prune(const Pruning& prune) { prune_ = prune; }
  const PruneReport& pruned() const { return pruned_; }

  // Generates and times one sequence. speculator: null for plain decoding. ResourceExhausted (found, context) if the prompt does not fit.
  absl::StatusOr<TimedText> Write(const std::vector<TokenId>& prompt, Speculator* speculator);

  // Times passes after the last sequence, for each number of drafted tokens. Each time is the least time of some passes over a path of that
  // length, with logits of each token. The least counts, since other programs only add time. The session is unchanged.
  absl::StatusOr<RowTimes> TimeRows();

 private:
  PairRunner(Engine& engine, int most_tokens, const Sampler& sampler, std::unique_ptr<Session> session)
      : engine_(&engine), most_tokens_(most_tokens), sampler_(sampler), session_(std::move(session)) {}
  double Now() const { return static_cast<double>(engine_->ClockOr(nullptr).NowNanos()) * 1e-9; }
  absl::StatusOr<double> TimeOnePass(int rows);

  Engine* engine_;
  int most_tokens_;
  Sampler sampler_;
  std::unique_ptr<Session> session_;
  Pruning prune_;
  PruneReport pruned_;
};

// Returns the most that any drafter can gain: the time of plain decoding divided by the time of passes that give one token per row, at the
// best number of rows.
double BestGain(const RowTimes& times);

// Returns the time of a pass of `rows` rows, interpolated between measured times.
double SecondsOfRows(const RowTimes& times, double rows);

}  // namespace tessera

// Writes texts with and without a speculator, in turns, and times both; also times passes by their number of rows where texts end.
//
//   ASSIGN_OR_RETURN(PairRunner runner, PairRunner::Create(*engine, /*most_tokens=*/128));
//   ASSIGN_OR_RETURN(const TimedText plain, runner.Write(prompt, /*speculator=*/nullptr));
//   ASSIGN_OR_RETURN(const TimedText drafted, runner.Write(prompt, &speculator));
//   drafted.TokensPerSecond() / plain.TokensPerSecond();               // from the first to the last token
//   ASSIGN_OR_RETURN(const RowTimes times, runner.TimeRows());         // with the last text before them
//   BestGain(times);                                                   // the gain of a drafter that knew the text
//
// Times are by the engine's clock. Texts are greedy. Each begins with an empty cache, so prompts are computed whole. Threads: the engine's,
// one call at a time.
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

// From several writings of one text, returns the one with the median decoding time. If the tokens of one are not `expected`, returns that
// one, so that it is noticed. REQUIRES: at least one.
TimedText MedianText(std::vector<TimedText> writings, const std::vector<TokenId>& expected);

using RowTimes = std::vector<std::pair<int, double>>;  // Rows, seconds; ascending, from 1 on.

class PairRunner {
 public:
  // adapter: of all texts; must outlive the runner. Null: the model as it is.
  static absl::StatusOr<PairRunner> Create(Engine& engine, int most_tokens, const LoraAdapter* adapter = nullptr);

  // Drafts are pruned from now on (GenerateOptions::prune), and what came of that so far.
  void Prune(const Pruning& prune) { prune_ = prune; }
  const PruneReport& pruned() const { return pruned_; }

  // ResourceExhausted (found, context) if the prompt does not fit. speculator: null for plain decoding.
  absl::StatusOr<TimedText> Write(const std::vector<TokenId>& prompt, Speculator* speculator);

  // After the last text, for each number of drafted tokens: the least time of some passes over such a path, with logits of each token. The
  // least counts, since other programs only add time. The session is unchanged.
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

// The time of plain decoding divided by that of passes which give one token per row, at the best number of rows: no drafter can gain more.
double BestGain(const RowTimes& times);

// The time of a pass of `rows` rows, interpolated between measured ones.
double SecondsOfRows(const RowTimes& times, double rows);

}  // namespace tessera

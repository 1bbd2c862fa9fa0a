#include "tessera/apps/bench/spec/spec_bench_run.h"

#include <algorithm>
#include <iterator>

#include "tessera/base/random.h"
#include "tessera/base/status_macros.h"
#include "tessera/runtime/scheduler/decode_loop.h"
#include "tessera/runtime/session/prompt.h"

namespace tessera {
namespace {

constexpr int kRows[] = {1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 24, 32};
constexpr int kRepetitions = 5;

}  // namespace

TimedText MedianText(std::vector<TimedText> writings, const std::vector<TokenId>& expected) {
  for (TimedText& text : writings)
    if (text.tokens != expected) return std::move(text);
  const auto middle = writings.begin() + writings.size() / 2;
  std::nth_element(writings.begin(), middle, writings.end(),
                   [](const TimedText& a, const TimedText& b) { return a.decode_seconds < b.decode_seconds; });
  return std::move(*middle);
}

absl::StatusOr<PairRunner> PairRunner::Create(Engine& engine, int most_tokens, const LoraAdapter* adapter) {
  ASSIGN_OR_RETURN(const Sampler sampler, Sampler::Create({.temperature = 0}));
  ASSIGN_OR_RETURN(std::unique_ptr<Session> session, engine.NewSession({.adapter = adapter}));
  return PairRunner(engine, most_tokens, sampler, std::move(session));
}

absl::StatusOr<TimedText> PairRunner::Write(const std::vector<TokenId>& prompt, Speculator* speculator) {
  session_->Truncate(0);
  const double begin = Now();
  RETURN_IF_ERROR(AppendPrompt(*session_, speculator, prompt));
  const double prompt_end = Now();
  ASSIGN_OR_RETURN(Generation result,
                   Generate(*session_, sampler_, {.max_tokens = most_tokens_, .speculator = speculator,
                                                  .prune = speculator == nullptr ? Pruning() : prune_}));
  pruned_.Add(result.pruned);
  TimedText text = {
      .prompt_seconds = prompt_end - begin, .decode_seconds = Now() - prompt_end, .passes = result.passes, .rows = result.rows};
  if (result.reason == FinishReason::kCancelled) return absl::CancelledError("stopped");
  text.tokens = std::move(result.tokens);
  return text;
}

absl::StatusOr<double> PairRunner::TimeOnePass(int rows) {
  SeededRandom random(rows);
  const int64_t vocabulary = engine_->config().vocabulary;
  const auto draw = [&] { return static_cast<TokenId>(random.Below(vocabulary)); };
  TokenTree tree(draw());
  std::vector<int> nodes = {TokenTree::kRoot};
  while (tree.size() < rows) nodes.push_back(tree.Add(nodes.back(), draw(), 1.0f));
  std::vector<float> logits(rows * vocabulary);
  const double begin = Now();
  RETURN_IF_ERROR(session_->PassTree(tree));
  const absl::Status status = session_->TreeLogits(nodes, TensorView<float>(logits.data(), rows, vocabulary));
  const double seconds = Now() - begin;
  session_->Keep({}, {});
  RETURN_IF_ERROR(status);
  return seconds;
}

absl::StatusOr<RowTimes> PairRunner::TimeRows() {
  std::vector<std::vector<double>> seconds(std::size(kRows));
  for (int i = 0; i < kRepetitions; ++i) {
    for (size_t n = 0; n < std::size(kRows) && kRows[n] <= session_->TreeRoom(); ++n) {
      ASSIGN_OR_RETURN(const double time, TimeOnePass(kRows[n]));
      seconds[n].push_back(time);
    }
  }
  RowTimes times;
  for (size_t n = 0; n < std::size(kRows) && !seconds[n].empty(); ++n)
    times.emplace_back(kRows[n], *std::min_element(seconds[n].begin(), seconds[n].end()));
  return times;
}

double BestGain(const RowTimes& times) {
  double best = 1;
  for (const auto& [rows, seconds] : times) best = std::max(best, rows * times.front().second / seconds);
  return best;
}

double SecondsOfRows(const RowTimes& times, double rows) {
  size_t above = 0;
  while (above + 1 < times.size() && times[above].first < rows) ++above;
  if (above == 0) return times[0].second;
  const auto& [low, low_seconds] = times[above - 1];
  const auto& [high, high_seconds] = times[above];
  return low_seconds + (high_seconds - low_seconds) * (rows - low) / (high - low);  // Beyond the last: extrapolated.
}

}  // namespace tessera

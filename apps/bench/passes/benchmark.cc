#include "tessera/apps/bench/passes/benchmark.h"

#include <algorithm>

#include <glog/logging.h>

#include "tessera/base/random.h"
#include "tessera/base/status_macros.h"

namespace tessera {
namespace {

constexpr uint64_t kSeed = 1;

std::vector<TokenId> RandomTokens(uint64_t seed, int count, int vocabulary) {
  SeededRandom random(seed);
  std::vector<TokenId> tokens(count);
  for (TokenId& token : tokens) token = static_cast<TokenId>(random.Below(vocabulary));
  return tokens;
}

}  // namespace

int BenchmarkOptions::NeededContext() const { return std::max(1, depth + std::max(prompt_tokens, generate_tokens)); }

absl::StatusOr<Benchmark> Benchmark::Create(Engine& engine, const BenchmarkOptions& options) {
  ASSIGN_OR_RETURN(const Sampler sampler, Sampler::Create({.temperature = 0}));
  ASSIGN_OR_RETURN(std::unique_ptr<Session> session, engine.NewSession());
  Benchmark benchmark(options, sampler, std::move(session), engine);
  benchmark.prompt_ = RandomTokens(kSeed, std::max(1, options.prompt_tokens), benchmark.vocabulary_);
  RETURN_IF_ERROR(benchmark.MoveTo(options.depth));
  return benchmark;
}

// Append recomputes the tokens that sliding windows have given up, so that the recomputation is not timed.
absl::Status Benchmark::MoveTo(int depth) {
  options_.depth = depth;
  const int length = std::min(depth, session_->length());
  session_->Truncate(length);
  return session_->Append(RandomTokens(kSeed + 1, depth - length, vocabulary_));
}

absl::StatusOr<double> Benchmark::TimePrompt() {
  RETURN_IF_ERROR(MoveTo(options_.depth));
  const double begin = Now();
  RETURN_IF_ERROR(session_->Append(prompt_));
  return Now() - begin;
}

absl::StatusOr<double> Benchmark::TimeDraft(int tokens) {
  RETURN_IF_ERROR(MoveTo(options_.depth));
  TokenTree chain(prompt_[0]);
  for (int node = 1; node < tokens; ++node) chain.Add(node - 1, prompt_[node], 1);
  logits_.resize(vocabulary_);
  const double begin = Now();
  RETURN_IF_ERROR(session_->PassTree(chain));
  const absl::Status status = session_->TreeLogits({tokens - 1}, TensorView<float>(logits_.data(), 1, vocabulary_));
  const double end = Now();
  session_->Keep({}, {});
  RETURN_IF_ERROR(status);
  return end - begin;
}

absl::StatusOr<GenerationTime> Benchmark::TimeGeneration() {
  RETURN_IF_ERROR(MoveTo(options_.depth));
  GenerationTime time;
  std::vector<TokenId> emitted;
  TokenId token = prompt_[0];
  double begin = Now();
  for (int i = 0; i < options_.generate_tokens; ++i) {
    RETURN_IF_ERROR(session_->Append({&token, 1}));
    const double passed = Now();
    ASSIGN_OR_RETURN(token, sampler_.Choose(session_->logits(), emitted, /*stream=*/0, i));
    emitted.push_back(token);
    const double chosen = Now();
    time.pass_seconds += passed - begin;
    time.choose_seconds += chosen - passed;
    begin = chosen;
  }
  return time;
}

}  // namespace tessera

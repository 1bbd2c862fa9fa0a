// Drafts the model's own forecasts (DS2D, the one-for-all paper, section 3.5). Next to some nodes of a verified tree the pass had rows that
// forecast the tokens after next (forecast_rows.h). If the sequence stopped at such a node, the next draft is there already.
//
//   ForecastDrafter drafter(placed, {.forecasts = 3});       // runtime/engine/placed_forecasts.h
//   drafter.Begin(text);
//   ... a pass whose root has drafter.needs().forecast_rows more rows ...
//   drafter.Commit(tree, verdict);                           // verdict.ahead[k]: what may come k + 1 tokens after the new root
//   RETURN_IF_ERROR(drafter.Propose({.max_nodes = 31}, tree));
//
// The tree is a whole one: below each node at depth d stand the likeliest tokens of forecast d, as many as the configuration says
// (branches.h). The best configuration differs much between tasks (the one-for-all paper, table 7). If none is given, the drafter takes the
// configuration that would have had most tokens accepted, by a moving mean. No trial is needed: the sequence is the same for every draft.
// So once the forecast tokens have come, each configuration can be asked how far it would have come. Forecasts beyond the configuration in
// use are computed at first, and then now and again, to measure the other configurations.
//
// Nothing is proposed before the first pass of a sequence, after a pass whose last node had no forecasts, and while no forecasts are
// computed.
// Threads: as a Drafter.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tessera/spec/drafters/drafter.h"
#include "tessera/spec/trees/branches.h"

namespace tessera {

class ForecastDrafter : public Drafter {
 public:
  struct Options {
    int forecasts = 3;         // Available for a node.
    Branches branches = {};    // Empty: chosen among AllBranches(forecasts, rows).
    int rows = 32;             // Rows of a pass.
  };
  // placed: the means to compute forecasts; null: verdicts come without passes, as in tests. REQUIRES: at least as many forecasts as
  // branches, or some configuration with one forecast in `rows` rows.
  ForecastDrafter(std::shared_ptr<const PlacedForecasts> placed, const Options& options);

  static constexpr char kName[] = "forecasts";
  absl::string_view name() const override { return kName; }
  DrafterNeeds needs() const override;
  void Begin(absl::Span<const TokenId> text) override;
  absl::Status Propose(const DraftBudget& budget, TokenTree& tree) override;
  absl::Span<const TopToken> Candidates(absl::Span<const TokenId> path) const override;
  void Commit(const TokenTree& tree, const Verdict& verdict) override;
  const PlacedForecasts* forecasts() const override { return placed_.get(); }
  std::string choice() const override { return BranchesText(branches()); }
  int64_t bytes() const override;
  // The most bytes of a drafter.
  static int64_t MostBytes(const Options& options);

  // A configuration, and its mean number of accepted tokens over `count` forecasts. The newest forecasts weigh most.
  struct Measured {
    Branches branches = {};
    double accepted = 0;
    int64_t count = 0;
  };
  const std::vector<Measured>& configurations() const { return configurations_; }
  const Branches& branches() const { return configurations_[used_].branches; }   // In use.

 private:
  // Forecasts made after some token, and the ranks of the tokens that came so far; kNoRank for a token outside of its forecast.
  struct Guess {
    std::vector<TopTokens> said = {};
    std::vector<int> ranks = {};
  };

  bool chooses() const { return configurations_.size() > 1; }
  bool Explores() const;
  void Learn(TokenId token);
  void Measure(const Guess& guess);

  const std::shared_ptr<const PlacedForecasts> placed_;
  std::vector<Measured> configurations_;
  size_t used_ = 0, longest_ = 0;        // Indexes the configuration in use; the branches of the longest.
  int widest_ = 0;                       // Most children in any configuration.
  std::vector<TopTokens> ahead_;         // After the root: [depth - 1].
  std::vector<Guess> open_;              // Guesses whose tokens have not all come.
  int64_t guesses_ = 0;                  // Made so far, over all sequences.
  int without_ = 0;                      // Commits in a row without a guess.
};

}  // namespace tessera

// Drafts by what the model forecast itself (DS2D, paper 004, section 3.5): beside some nodes of a verified tree its pass had rows that say
// the tokens after next (forecast_rows.h), and where the text stopped at such a node, the next draft is there already.
//
//   ForecastDrafter drafter(placed, {.forecasts = 3});       // runtime/engine/placed_forecasts.h
//   drafter.Begin(text);
//   ... a pass whose root has drafter.needs().forecast_rows more rows ...
//   drafter.Commit(tree, verdict);                           // verdict.ahead[k]: what may come k + 1 tokens after the new root
//   RETURN_IF_ERROR(drafter.Propose({.max_nodes = 31}, tree));
//
// The tree is a whole one: below each node at depth d the likeliest tokens of forecast d, as many as the configuration says (branches.h).
// Which configuration is best differs much between tasks (paper 004, table 7). None given: that which would have had most tokens accepted,
// by a moving mean. It needs no trial: the text is the same whatever is drafted, so once the tokens are there that a forecast spoke of,
// each configuration can be asked how far it would have come. Forecasts beyond the length of the one in use are computed at the beginning,
// and then now and again, to know the others.
//
// Nothing is proposed before the first pass of a text, after a pass whose last node had no forecasts, and while nobody computes them.
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
    int forecasts = 3;         // That there are for a node.
    Branches branches = {};    // Empty: chosen among AllBranches(forecasts, rows).
    int rows = 32;             // In a pass.
  };
  // placed: what forecasts are computed by; null: verdicts come without passes, as in tests. REQUIRES: there are at least as many forecasts
  // as branches, or some configuration with one forecast in so many rows.
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
  // The most that a drafter takes.
  static int64_t MostBytes(const Options& options);

  // A configuration, and how many tokens it would have had accepted: a mean over so many forecasts, most over the last.
  struct Measured {
    Branches branches = {};
    double accepted = 0;
    int64_t count = 0;
  };
  const std::vector<Measured>& configurations() const { return configurations_; }
  const Branches& branches() const { return configurations_[used_].branches; }   // In use.

 private:
  // What was forecast after some token, and which of it came so far: its rank, or kNoRank.
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
  size_t used_ = 0, longest_ = 0;        // Which of them; the branches of the longest.
  int widest_ = 0;                       // Most children that one of them has.
  std::vector<TopTokens> ahead_;         // After the root: [depth - 1].
  std::vector<Guess> open_;              // Whose tokens have not all come.
  int64_t guesses_ = 0;                  // That were made, over all texts.
  int without_ = 0;                      // Commits in a row without one.
};

}  // namespace tessera

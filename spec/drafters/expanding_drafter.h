// A draft model as a Drafter: an Expander names likely tokens, and a TreePolicy decides which of these tokens are drafted. So the draft
// model merges with drafters that read the text (composite_drafter.h), and a Speculator cuts the merged tree.
//
//   ASSIGN_OR_RETURN(auto policy, MakeTreePolicy("lever", {.profile = &speculator_costs}));
//   ExpandingDrafter drafter(std::move(expander), std::move(policy), {});
//   drafter.Begin(text);
//   RETURN_IF_ERROR(drafter.Propose({.max_nodes = 31}, tree));
//   drafter.Commit(tree, verdict);
//   drafter.table().Error();                 // how well its probabilities were calibrated
//
// An error of the expander's Begin or Commit is the error of every Propose until the next sequence. The model writes on without a draft.
// Rho is learnt from every sequence.
// Threads: as a Drafter.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "tessera/spec/drafters/drafter.h"
#include "tessera/spec/policies/tree_policy.h"
#include "tessera/spec/trees/draft_pool.h"
#include "tessera/spec/trees/expander.h"
#include "tessera/spec/trees/rejection.h"
#include "tessera/spec/trees/reliability.h"

namespace tessera {

class ExpandingDrafter : public Drafter {
 public:
  struct Options {
    int candidates = 0;                            // Per node; 0: as many as the policy can use.
    bool corrects = true;                          // By rho. False: the draft is trusted, as in other published rules.
    Reliability::Options reliability = {};
    std::optional<DraftSampling> sampling = {};    // For RejectionToken. Empty: the likeliest tokens are drafted.
    // Random draws of sampled tokens depend on these numbers and on the position. The first sequence has this stream, each later one the
    // next.
    uint64_t seed = 0, stream = 0;
  };
  // REQUIRES: neither is null.
  ExpandingDrafter(std::unique_ptr<Expander> expander, std::unique_ptr<TreePolicy> policy, const Options& options);

  absl::string_view name() const override { return expander_->name(); }
  void Begin(absl::Span<const TokenId> text) override;
  absl::Status Propose(const DraftBudget& budget, TokenTree& tree) override;
  absl::Span<const TopToken> Candidates(absl::Span<const TokenId> path) const override;
  void Commit(const TokenTree& tree, const Verdict& verdict) override;
  LayerListener* listener() override { return expander_->listener(); }
  int64_t bytes() const override;

  // Also null without sampling, and if the node was not expanded.
  const DrawnChildren* Drawn(absl::Span<const TokenId> path) const override;
  // Returns the key of the draws for a token that comes `depth` tokens after the root.
  DrawKey DrawKeyOf(int depth) const { return {options_.seed, stream_, position_ + depth - 1}; }

  const Expander& expander() const { return *expander_; }
  const TreePolicy& policy() const { return *policy_; }
  double rho(int depth) const { return reliability_.rho(depth); }
  // Over all sequences, every guess whose parent came true, drafted or not: the estimated probability, and whether the guess came true.
  const ReliabilityTable& table() const { return table_; }

  struct Account {
    int64_t steps = 0;        // Steps that asked the expander,
    int64_t passes = 0;       // the expander's passes,
    int64_t rows = 0;         // the nodes that were expanded in these passes,
    double seconds = 0;       // and the expected seconds of the passes.
  };
  const Account& account() const { return account_; }

 private:
  int Candidates() const { return options_.candidates > 0 ? options_.candidates : policy_->candidates(); }
  void Learn(absl::Span<const TokenId> emitted);
  // Returns the expanded node of the pool at the end of this path; kNone if there is none.
  int NodeAt(absl::Span<const TokenId> path) const;

  const std::unique_ptr<Expander> expander_;
  const std::unique_ptr<TreePolicy> policy_;
  const Options options_;
  absl::Status broken_;               // The expander's error since the sequence began.
  Reliability reliability_;
  ReliabilityTable table_;
  Account account_;
  int64_t position_ = 0;              // The position of the token after the root.
  uint64_t stream_ = 0;               // The sequence's.
  uint64_t texts_ = 0;                // Sequences begun so far.
  std::optional<DraftPool> pool_;     // The last proposal was chosen from this pool.
};

}  // namespace tessera

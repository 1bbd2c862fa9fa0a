// Several drafters as one. Each drafter is asked for a tree of its own. The estimates are corrected by how often each came true, and the
// trees are merged.
//
//   std::vector<std::unique_ptr<Drafter>> drafters;
//   drafters.push_back(std::make_unique<PromptLookup>(PromptLookup::Options()));
//   CompositeDrafter composite(std::move(drafters));
//   composite.Begin(text);
//   composite.Propose({.max_nodes = 31}, tree);        // nodes have measured probabilities; source: the number of a drafter
//   composite.account(0).accepted;                     // nodes of the first drafter that became text
//
// The estimates of several drafters for a node and its siblings are mixed (estimate_mixer.h). The node counts for the drafter with the
// largest estimate. A drafter that fails counts as a drafter without a proposal; its account has the error. A drafter that is switched off
// is not asked, and learns only from the sequence.
// Threads: as a Drafter.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "tessera/base/clock.h"
#include "tessera/spec/costs/draft_learning.h"
#include "tessera/spec/costs/estimate_mixer.h"
#include "tessera/spec/drafters/drafter.h"
#include "tessera/spec/drafters/history/shared_history.h"

namespace tessera {

// The fate of one drafter's nodes, over all sequences so far.
struct DraftAccount {
  static constexpr int kDepths = 16;   // Deeper nodes count in the last.
  int64_t proposed = 0;
  int64_t verified = 0;                // Proposed, and in a tree that was computed.
  int64_t accepted = 0;                // Verified, and text now.
  std::array<int64_t, kDepths> verified_at = {}, accepted_at = {};   // [depth - 1].
  int64_t calls = 0;
  int64_t failures = 0;                // Calls of Propose that gave an error, and
  absl::Status failure = {};                // the first of these errors.
  double seconds = 0;                  // In Propose and Commit.
  void Add(const DraftAccount& more);
};

class CompositeDrafter : public Drafter {
 public:
  // clock: measures the drafters' seconds; must outlive this. REQUIRES: at most Estimates::kMostSources drafters.
  explicit CompositeDrafter(std::vector<std::unique_ptr<Drafter>> drafters, const Clock& clock = RealClock());

  absl::string_view name() const override { return "composite"; }
  DrafterNeeds needs() const override;   // The most of any drafter that is switched on.
  // From now on, learns for all sequences of the set, if the set has room for that. Everything that the set learnt is known afterwards,
  // too.
  void Join(std::shared_ptr<SharedHistory> siblings) override;
  void Begin(absl::Span<const TokenId> text) override;
  void LearnPrompt(int first, absl::Span<const TopTokens> top) override;
  // Keeps the proposed nodes that the sequence reaches most probably.
  absl::Status Propose(const DraftBudget& budget, TokenTree& tree) override;
  void Commit(const TokenTree& tree, const Verdict& verdict) override;
  LayerListener* listener() override;   // The listener of the first drafter that has one.
  const PlacedForecasts* forecasts() const override;   // The forecasts of the first drafter that has some.
  int64_t bytes() const override;

  int size() const { return static_cast<int>(members_.size()); }
  const Drafter& drafter(int source) const { return *member(source).drafter; }
  const DraftAccount& account(int source) const { return member(source).account; }
  // Everything learnt so far, from all sequences, and from the sequences of a joined set; [source].
  const DraftLearning& learning() const { return shared_ != nullptr ? *shared_ : own_; }
  DraftLearning& learning() { return shared_ != nullptr ? *shared_ : own_; }
  // propose_seconds: one drafter's Propose since the last Commit. step_seconds: the last Commit with the Propose before, if there was one.
  // step_seconds is 0 after the first Propose of a sequence: a model may have read the whole sequence then, so the time says nothing about
  // steps.
  double propose_seconds(int source) const { return member(source).propose_seconds; }
  double step_seconds(int source) const { return member(source).step_seconds; }

  bool is_on(int source) const { return member(source).on; }
  void Switch(int source, bool on) { member(source).on = on; }   // All are on at first.

 private:
  struct Member {
    std::unique_ptr<Drafter> drafter;
    bool on = true;
    TokenTree proposal = TokenTree(0);   // The last, with the drafter's own estimates.
    DraftAccount account = {};
    int64_t calls_before = 0;            // When the sequence began.
    bool is_reading = false;             // Asked for the first time since the last commit.
    double propose_seconds = 0, step_seconds = 0;
  };
  const Member& member(int source) const { return members_[static_cast<size_t>(source)]; }
  Member& member(int source) { return members_[static_cast<size_t>(source)]; }
  double Seconds() const { return static_cast<double>(clock_.NowNanos()) * 1e-9; }
  void Ask(const DraftBudget& budget, TokenId root, Member& member);
  static void LearnFrom(absl::Span<const TokenId> emitted, const TokenTree& proposal, Acceptance& acceptance);
  static void CountVerified(const TokenTree& tree, const Verdict& verdict, Member& member);

  const Clock& clock_;
  std::vector<Member> members_;
  DraftLearning own_;
  std::shared_ptr<SharedHistory> siblings_;
  DraftLearning* shared_ = nullptr;    // Owned by siblings_; null: each sequence learns alone.
  TokenTree all_ = TokenTree(0);   // All nodes that were proposed last,
  std::vector<Estimates> said_;    // and each node's estimates.
};

}  // namespace tessera

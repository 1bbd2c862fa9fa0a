// Controls the drafts of one sequence. The speculator asks drafters, and cuts the merged tree to the nodes that are worth a row. Drafters
// that do not pay are paused. The speculator learns from each outcome.
//
//   CostProfile costs;                                                         // of this model on this machine; learns from each step
//   Speculator speculator(std::make_unique<PromptLookup>(PromptLookup::Options()), {.max_rows = 16, .costs = &costs});
//   speculator.Begin(text);                                                    // ends with the token that was chosen last
//   const TokenTree tree = speculator.Propose({.rows = 512, .depth = 4000});   // the root alone: nothing is worth a row
//   ... a pass over the tree, Verify with the logits of speculator.logits_plan() ...
//   LearnStep(ShapeOf(tree), time, costs);                                     // whoever ran the pass, once
//   speculator.Commit(tree, verdict, time);
//   speculator.report().Gain();                                                // over one token per pass, if both were measured
//
// If sequences share a pass, the draft of each is cut together with the others' drafts:
//
//   speculator.Draft({.rows = 512, .depth = 4000});                            // of each
//   ... ShareRows over ToCut() of each ...
//   speculator.AddForecasts({.rows = 32, .depth = 4000}, choice);              // its own of the choices, where passes can have forecasts
//   const TokenTree tree = speculator.Choose(choice);
//
// Decisions follow from the sequence, from learning about the sequence, and from the costs. Decisions can be repeated with frozen costs.
// Other costs also do if the same times are given: the times passed to Commit, and the drafters' times, by a clock from the caller.
// Threads: as a Drafter; if several speculators share costs, one runs at a time.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "tessera/base/clock.h"
#include "tessera/spec/costs/cost_profile.h"
#include "tessera/spec/costs/step_time.h"
#include "tessera/spec/drafters/composite_drafter.h"
#include "tessera/spec/drafters/drafter.h"
#include "tessera/spec/policies/prune_rule.h"
#include "tessera/spec/policies/row_policy.h"
#include "tessera/spec/trees/token_tree.h"
#include "tessera/spec/trees/verify.h"

namespace tessera {

// The caller's limits of a tree.
struct TreeRoom {
  int rows = 0;      // The root included.
  int depth = 0;     // Below the root.
};

// The logits that are computed for a tree: the first nodes' logits at once, others when the sequence reaches the node.
struct LogitsPlan {
  static constexpr int kMostFirst = 31;   // And one more at a time: 32 MiB at a vocabulary of 262,144.
  int first_rows = 1;
  int top = 0;                            // Verdict::top of computed rows; 0: none.
};

// The results of speculation, over all sequences so far. Seconds and gains leave out the choosing of tokens, waits for graphs that change
// places, and all that is no step.
struct SpeculationReport {
  struct Source {
    std::string name = {};
    std::string choice = {};              // Drafter::choice; the first one's if there are several sequences.
    DraftAccount account = {};
    int64_t pauses = 0, paused_steps = 0;
    double loss = 0;                      // Per step, as a share of a plain step, before the last pause.
  };

  int64_t steps = 0;                      // Passes.
  int64_t tokens = 0;                     // Emitted by the passes.
  int64_t rows = 0;                       // Computed in the passes.
  int64_t forecast_rows = 0, forecast_head_rows = 0;    // Forecasts among `rows`; and forecasts with logits.
  int64_t drafted_steps = 0;              // With more than the root.
  int64_t paused_steps = 0;               // With all drafters paused, or resting (next line).
  int64_t rested_steps = 0;               // Not asked, since for some steps no node was worth a row, or all drafts together lost time.
  int64_t first_head_rows = 0, later_head_rows = 0;     // Logits computed at once, and one by one when the sequence got there.
  // Prompt tokens for drafters that learn from prompts' logits, and tokens with such logits.
  int64_t prompt_tokens = 0, prompt_learnt = 0;
  double draft_seconds = 0, pass_seconds = 0, head_seconds = 0, top_seconds = 0;
  // plain_seconds: the time for the tokens of some steps at one token per pass, by steps without draft or costs measured in this run.
  // compared_seconds: the actual time of these steps. All steps count once one without draft was measured; none before.
  double plain_seconds = 0, compared_seconds = 0;
  // Expectations from the choice of rows. plain: for as many tokens, one per pass, with the other sequences in the pass.
  double predicted_tokens = 0, predicted_seconds = 0, predicted_plain_seconds = 0;
  std::vector<Source> sources = {};

  double Seconds() const { return draft_seconds + pass_seconds + head_seconds + top_seconds; }
  double TokensPerStep() const { return steps == 0 ? 0 : static_cast<double>(tokens) / static_cast<double>(steps); }
  // Returns the speedup over one token per pass. nullopt: no step without draft was measured, so a comparison is impossible.
  std::optional<double> Gain() const {
    return plain_seconds > 0 && compared_seconds > 0 ? std::optional<double>(plain_seconds / compared_seconds) : std::nullopt;
  }
  double PredictedGain() const { return predicted_seconds > 0 ? predicted_plain_seconds / predicted_seconds : 1; }
  // Adds the report of another speculator with the same drafters. A loss is the drafter's largest loss of all reports.
  void Add(const SpeculationReport& more);
  // Returns "lookup: paused 3 times, for 44 of 127 passes (it cost 5 % of a pass more than it gave)", one line per drafter that was paused,
  // and one if all rested; empty if none did.
  std::string Pauses() const;
  // Returns "forecasts: 3,2", one line for each drafter that has made a choice; empty if none has.
  std::string Choices() const;
  // Returns "model: failed 2 times, first: NOT_FOUND: ...", one line for each drafter that gave errors; empty if none did.
  std::string Failures() const;
};

class Speculator {
 public:
  struct Options {
    int max_rows = 32;               // Per pass, the root included.
    bool weigh_costs = true;         // False: all proposed nodes are verified at any cost, and no drafter is paused.
    CostProfile* costs = nullptr;    // Must outlive the speculator; null: own costs, unknown at first.
    // Times drafting, and the passes over drafts. The time for reading a streamed model's weights is always real time. Null: the real
    // clock. Must outlive the speculator.
    const Clock* clock = nullptr;
    // Called once drafters were asked, within the time of drafting: a modeled machine's clock may go on by a step. Null: no call.
    std::function<void()> drafted = nullptr;
  };
  Speculator(std::unique_ptr<Drafter> drafter, const Options& options);
  Speculator(std::vector<std::unique_ptr<Drafter>> drafters, const Options& options);

  DrafterNeeds needs() const { return composite_.needs(); }
  // Returns the costs if a plain step must still be measured; null if the costs are known or frozen, or do not count.
  CostProfile* CostsToMeasure() { return options_.weigh_costs && !costs_.frozen() && !costs_.KnowsPlain() ? &costs_ : nullptr; }
  // Returns the costs that rows are weighed by and that LearnStep adds to: the options' costs, or the speculator's own.
  CostProfile& costs() { return costs_; }
  int max_rows() const { return options_.max_rows; }
  // Returns the clock of the times passed to Commit.
  const Clock& clock() const { return clock_; }
  // Before Begin: Drafter::Join. Null ends the membership: nothing of a set is held any more.
  void Join(std::shared_ptr<SharedHistory> siblings) { composite_.Join(std::move(siblings)); }
  void Begin(absl::Span<const TokenId> text);

  // Before Begin: gives the model's likeliest tokens after tokens of the sequence, from the token numbered `first` on; empty where not
  // computed. The drafter gets the tokens once the sequence begins.
  void LearnPrompt(int first, std::vector<TopTokens> top);
  // Returns the most memory for such tokens of a prompt until the sequence begins: the tokens held so far, and the next part.
  static int64_t MostPromptBytes(int64_t tokens) { return 2 * tokens * static_cast<int64_t>(sizeof(TopTokens)); }
  // For the sequence that began last: tokens that were read, and how many of these have the model's likeliest next tokens.
  struct Prompt { int tokens = 0, learnt = 0; };
  const Prompt& prompt() const { return prompt_; }

  // Returns a tree below the last token of the sequence, in Pick's order: Draft, ChooseRows and Choose.
  TokenTree Propose(const TreeRoom& room);

  // Returns all proposed nodes below the last token, to be cut; valid until the next call. The root alone while all drafters rest or are
  // paused, or before a step is known, if costs are weighed. A draft without a chosen node is forgotten.
  const TokenTree& Draft(const TreeRoom& room);
  // Returns the limits for cutting that draft.
  TreeToCut ToCut() const { return {.tree = &draft_, .whole = !options_.weigh_costs, .draft_seconds = DraftSeconds()}; }
  // Gives nodes of a choice forecasts as far as forecasts pay; nodes may leave the choice in exchange (forecast_rows.h). room: all rows of
  // this sequence, and the depth limit of forecasts. The k-th forecast of a node counts as a node k levels deeper. Does nothing unless an
  // active drafter wants forecasts.
  void AddForecasts(const TreeRoom& room, RowChoice& choice) const;
  // Returns the chosen nodes, in Pick's order. Rows and tokens are weighed, and drafters judged, together with the trees in
  // `choice.beside`.
  TokenTree Choose(const RowChoice& choice);

  // For the tree that was chosen last.
  const LogitsPlan& logits_plan() const { return plan_; }
  // The chosen tree's nodes that have forecasts, ascending, and the number of forecasts per node.
  absl::Span<const int> forecast_nodes() const { return forecast_nodes_; }
  int forecasts_each() const { return choice_.forecast_rows; }
  // Returns, for each node with children, in order, all tokens that any drafter proposed or considered after the node. Without scores.
  std::vector<CandidateSet> Candidates(const TokenTree& tree) const;
  // Returns the tokens that were drawn after the node at the end of `path`, by the first drafter that drew tokens there; null: none. Chance
  // must not decide which tokens are tested, so drawn tokens count even if the node was then not chosen.
  const DrawnChildren* Drawn(absl::Span<const TokenId> path) const;
  // Drafter::listener of the first drafter that has one.
  LayerListener* listener() { return composite_.listener(); }
  // Drafter::forecasts of the first drafter that has some.
  const PlacedForecasts* forecasts() const { return composite_.forecasts(); }
  // Commits the outcome of a step and its time: of a shared pass, this sequence's share (MarginalShare). The costs learn only the drafters'
  // time from this call.
  void Commit(const TokenTree& tree, const Verdict& verdict, const StepTime& time);

  SpeculationReport report() const;
  int64_t bytes() const { return composite_.bytes() + static_cast<int64_t>(prompt_top_.capacity() * sizeof(TopTokens)); }

 private:
  bool AnyActive() const;          // As of this step.
  void SwitchByRules();
  void Ask(const TreeRoom& room);
  void RestIfIdle(const TokenTree& tree);
  // Returns, for each node of a tree that was chosen from the draft, the matching node of the draft.
  std::vector<int> InDraft(const TokenTree& tree) const;
  void FindForecasts(const TokenTree& tree);
  int ForecastRows() const { return static_cast<int>(forecast_nodes_.size()) * choice_.forecast_rows; }
  // Returns the shape of the tree that was chosen last, with its forecasts.
  CostProfile::Shape Placed(const TokenTree& tree) const;
  // Returns the seconds that forecasts took in the last step in addition to the tree's rows.
  double ForecastSeconds(const TokenTree& tree, const StepTime& time) const;
  void PlanLogits(const TokenTree& tree);
  void LearnDrafts();
  void ComparePlain(const TokenTree& tree, const Verdict& verdict, const StepTime& time);
  double MoreHeadSeconds(const Verdict& verdict, const StepTime& time) const;
  int Learners() const;            // Active drafters that learn from logits.
  void Judge(const TokenTree& tree, const Verdict& verdict, const StepTime& time);
  double DraftSeconds() const;     // By active drafters, as modeled.
  double Seconds() const { return static_cast<double>(clock_.NowNanos()) * 1e-9; }

  const Options options_;
  const Clock& clock_;
  CompositeDrafter composite_;
  CostProfile own_costs_;
  CostProfile& costs_;
  // [source]. Pauses in this sequence's steps. The rules are the set's rules if the sequence joined a set.
  struct Paused { int64_t times = 0, steps = 0; };
  std::vector<Paused> paused_;
  TokenTree draft_ = TokenTree(0);
  bool asked_ = false;             // Drafters were asked for the last draft,
  double merging_ = 0;             // with this time in addition to their own.
  RowChoice choice_;               // For the last tree,
  std::vector<int> forecast_nodes_;   // and its nodes that have forecasts.
  double plain_step_ = 0;          // Mean of the steps without draft, as measured; 0 before the first.
  int64_t plain_steps_ = 0;        // Number of steps without draft.
  int64_t uncompared_tokens_ = 0;  // Tokens of steps before the first step without draft.
  LogitsPlan plan_;
  double learning_head_ = 0;       // Cost of its logits beyond the logits that verification is expected to need.
  SpeculationReport report_;       // Without sources.
  int idle_ = 0;                         // Proposals in a row without a node worth a row.
  int rest_ = 0, rest_left_ = 0;         // Steps of the last rest; 0 once a node was worth a row.
  bool resting_ = false;                 // In this step; also while all drafters together are paused.
  TokenId root_ = 0;
  int prompt_first_ = 0;                 // Until the sequence begins: likely tokens to learn,
  std::vector<TopTokens> prompt_top_;    // from the token numbered prompt_first_ on.
  Prompt prompt_;
};

}  // namespace tessera

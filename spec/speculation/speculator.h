// Decides what is drafted for one stream, and how much: asks drafters, cuts their tree to what is worth its rows, switches off what
// does not pay, and learns what came of it.
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
// Where texts share a pass, the draft of each is cut beside the others':
//
//   speculator.Draft({.rows = 512, .depth = 4000});                            // of each
//   ... ShareRows over ToCut() of each ...
//   speculator.AddForecasts({.rows = 32, .depth = 4000}, choice);              // its own of the choices, where passes can have forecasts
//   const TokenTree tree = speculator.Choose(choice);
//
// Decisions follow from the text, what was learnt from it, and the costs. They can be repeated with frozen costs, and also with others if
// the same times are given: those passed to Commit, and those of the drafters, by a clock that the caller gives in. Threads: as a Drafter;
// if several speculators share costs, one runs at a time.
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

// What the caller has room for.
struct TreeRoom {
  int rows = 0;      // The root included.
  int depth = 0;     // Below the root.
};

// Which logits of the tree are computed: of its first nodes at once, of others when the text reaches them.
struct LogitsPlan {
  static constexpr int kMostFirst = 31;   // And one more at a time: 32 MiB at a vocabulary of 262,144.
  int first_rows = 1;
  int top = 0;                            // Verdict::top of what is computed; 0: none.
};

// What speculation did, over all texts so far. Seconds and gains leave out the choosing of tokens, waits for graphs that change places,
// and all that is no step.
struct SpeculationReport {
  struct Source {
    std::string name = {};
    std::string choice = {};              // Drafter::choice; of several texts' drafters that of the first.
    DraftAccount account = {};
    int64_t pauses = 0, paused_steps = 0;
    double loss = 0;                      // Per step, as a share of a plain step, before the last pause.
  };

  int64_t steps = 0;                      // Passes.
  int64_t tokens = 0;                     // Given by them.
  int64_t rows = 0;                       // Computed in them, and
  int64_t forecast_rows = 0, forecast_head_rows = 0;    // of these forecasts; and for how many of them logits were computed.
  int64_t drafted_steps = 0;              // With more than the root.
  int64_t paused_steps = 0;               // With all drafters paused, or resting: nothing that they had drafted was worth a row, or all
  int64_t rested_steps = 0;               // of it less than the time it took, for some steps, so they were not asked.
  int64_t first_head_rows = 0, later_head_rows = 0;     // Logits computed at once, and one by one when the text got there.
  int64_t prompt_tokens = 0, prompt_learnt = 0;         // Read by drafters that learn from logits of prompts, and those it was done for.
  double draft_seconds = 0, pass_seconds = 0, head_seconds = 0, top_seconds = 0;
  // What the tokens of some steps take one per pass, by the steps without draft of this run, and what these steps took. All steps, once
  // one without draft was measured; none before.
  double plain_seconds = 0, compared_seconds = 0;
  // What was expected when rows were chosen; plain: of as many tokens, one per pass, with the other texts of the pass beside them.
  double predicted_tokens = 0, predicted_seconds = 0, predicted_plain_seconds = 0;
  std::vector<Source> sources = {};

  double Seconds() const { return draft_seconds + pass_seconds + head_seconds + top_seconds; }
  double TokensPerStep() const { return steps == 0 ? 0 : static_cast<double>(tokens) / static_cast<double>(steps); }
  // Over one token per pass. nullopt: no step without draft was measured, so there is nothing to compare with.
  std::optional<double> Gain() const {
    return plain_seconds > 0 && compared_seconds > 0 ? std::optional<double>(plain_seconds / compared_seconds) : std::nullopt;
  }
  double PredictedGain() const { return predicted_seconds > 0 ? predicted_plain_seconds / predicted_seconds : 1; }
  // Adds the report of another speculator with the same drafters. Losses are those of the drafter that lost most.
  void Add(const SpeculationReport& more);
  // "lookup: paused 3 times, for 44 of 127 passes (it cost 5 % of a pass more than it gave)", one line per drafter that was paused, and one
  // if all rested; empty if none did.
  std::string Pauses() const;
  // "forecasts: 3,2", one line for each drafter that has settled on something; empty if none has.
  std::string Choices() const;
  // "model: failed 2 times, first: NOT_FOUND: ...", one line for each drafter that gave errors; empty if none did.
  std::string Failures() const;
};

class Speculator {
 public:
  struct Options {
    int max_rows = 32;               // Per pass, the root included.
    bool weigh_costs = true;         // False: what is proposed is verified, whatever it costs, and nothing is paused.
    CostProfile* costs = nullptr;    // Must outlive the speculator; null: its own, which knows nothing at first.
    // What drafting, and the passes over drafts, are timed by; but the time in which a streamed model's weights are read is real time.
    // Null: the real one. Must outlive the speculator.
    const Clock* clock = nullptr;
    // Called once drafters were asked, within the time of drafting: a modeled machine's clock may go on by a step. Null: not.
    std::function<void()> drafted = nullptr;
  };
  Speculator(std::unique_ptr<Drafter> drafter, const Options& options);
  Speculator(std::vector<std::unique_ptr<Drafter>> drafters, const Options& options);

  DrafterNeeds needs() const { return composite_.needs(); }
  // Null if they are known, or do not count.
  CostProfile* CostsToMeasure() { return options_.weigh_costs && !costs_.frozen() && !costs_.KnowsPlain() ? &costs_ : nullptr; }
  // What rows are weighed by, and LearnStep adds to: those of the options, or its own.
  CostProfile& costs() { return costs_; }
  int max_rows() const { return options_.max_rows; }
  // What the times passed to Commit count by.
  const Clock& clock() const { return clock_; }
  // Before Begin: Drafter::Join. Null ends it: nothing of a set is held any more.
  void Join(std::shared_ptr<SharedHistory> siblings) { composite_.Join(std::move(siblings)); }
  void Begin(absl::Span<const TokenId> text);

  // Before Begin: what the model says after tokens of the text from the one numbered `first` on; empty where that was not computed. The
  // drafter gets it once the text begins.
  void LearnPrompt(int first, std::vector<TopTokens> top);
  // The most memory that takes for a prompt of so many tokens, until the text begins: what is held, and a part that joins it.
  static int64_t MostPromptBytes(int64_t tokens) { return 2 * tokens * static_cast<int64_t>(sizeof(TopTokens)); }
  // For the text that began last: tokens that were read for it, and after how many of these the model's opinion was known.
  struct Prompt { int tokens = 0, learnt = 0; };
  const Prompt& prompt() const { return prompt_; }

  // A tree below the last token of the text, in Pick's order: Draft, ChooseRows and Choose.
  TokenTree Propose(const TreeRoom& room);

  // All that is proposed below the last token, to be cut; valid until the next call. The root alone while all rests or is paused, or before
  // a step is known, if costs are weighed. A draft that nothing is chosen of is forgotten.
  const TokenTree& Draft(const TreeRoom& room);
  // How that draft may be cut.
  TreeToCut ToCut() const { return {.tree = &draft_, .whole = !options_.weigh_costs, .draft_seconds = DraftSeconds()}; }
  // Gives nodes of a choice forecasts as far as that pays, for which nodes may leave it (forecast_rows.h). room: all rows of this text, and
  // how deep a forecast may be, as a node that many below its own. Nothing happens unless an active drafter wants forecasts.
  void AddForecasts(const TreeRoom& room, RowChoice& choice) const;
  // What of it is verified, in Pick's order. Rows and tokens are weighed, and drafters judged, beside the trees that the choice names.
  TokenTree Choose(const RowChoice& choice);

  // For the tree that was chosen last.
  const LogitsPlan& logits_plan() const { return plan_; }
  // Its nodes that have forecasts, ascending, and how many each.
  absl::Span<const int> forecast_nodes() const { return forecast_nodes_; }
  int forecasts_each() const { return choice_.forecast_rows; }
  // For each of its nodes with children, in order, what was proposed or only thought of after it, by any drafter. Without scores.
  std::vector<CandidateSet> Candidates(const TokenTree& tree) const;
  // What was drawn after the node to which these tokens lead, by the first drafter that drew something there; null: nothing. Chance must
  // not decide what is tested: a draft counts that was drawn and then not chosen.
  const DrawnChildren* Drawn(absl::Span<const TokenId> path) const;
  // Drafter::listener, of the first drafter that has one.
  LayerListener* listener() { return composite_.listener(); }
  // Drafter::forecasts, the same.
  const PlacedForecasts* forecasts() const { return composite_.forecasts(); }
  // What came of it, and what it took: of a shared pass, this text's share (MarginalShare). Costs learn nothing of that but what drafters
  // took.
  void Commit(const TokenTree& tree, const Verdict& verdict, const StepTime& time);

  SpeculationReport report() const;
  int64_t bytes() const { return composite_.bytes() + static_cast<int64_t>(prompt_top_.capacity() * sizeof(TopTokens)); }

 private:
  bool AnyActive() const;          // As of this step.
  void SwitchByRules();
  void Ask(const TreeRoom& room);
  void RestIfIdle(const TokenTree& tree);
  // For each node of a tree that was chosen from the draft, which node of that it is.
  std::vector<int> InDraft(const TokenTree& tree) const;
  void FindForecasts(const TokenTree& tree);
  int ForecastRows() const { return static_cast<int>(forecast_nodes_.size()) * choice_.forecast_rows; }
  // The shape of the tree that was chosen last, with its forecasts.
  CostProfile::Shape Placed(const TokenTree& tree) const;
  // What forecasts took in the last step beside the tree's rows.
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
  // [source]. What became of them in this text's steps: rules are those of the set, if it joined one.
  struct Paused { int64_t times = 0, steps = 0; };
  std::vector<Paused> paused_;
  TokenTree draft_ = TokenTree(0);
  bool asked_ = false;             // Drafters, for the last draft,
  double merging_ = 0;             // which took so long beside their own time.
  RowChoice choice_;               // For the last tree,
  std::vector<int> forecast_nodes_;   // and its nodes that have forecasts.
  double plain_step_ = 0;          // Mean of the steps without draft, as measured; 0 before the first.
  int64_t plain_steps_ = 0;        // Number of these steps.
  int64_t uncompared_tokens_ = 0;  // Tokens of steps before the first of these.
  LogitsPlan plan_;
  double learning_head_ = 0;       // What its logits cost beyond those that verification is expected to need.
  SpeculationReport report_;       // But for sources.
  int idle_ = 0;                         // Proposals in a row of which nothing was worth a row.
  int rest_ = 0, rest_left_ = 0;         // Steps of the last rest; 0 once something was.
  bool resting_ = false;                 // In this step; also where all together are paused.
  TokenId root_ = 0;
  int prompt_first_ = 0;                 // Until the text begins: what is to be learnt,
  std::vector<TopTokens> prompt_top_;    // from the token numbered prompt_first_ on.
  Prompt prompt_;
};

}  // namespace tessera

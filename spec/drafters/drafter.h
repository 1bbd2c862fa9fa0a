// Proposes tokens that may come next; the model decides. A drafter can cost time, but can never change the sequence.
//
//   drafter->Begin(text);                                                   // its last token is the root of the first tree
//   while (!done) {
//     TokenTree tree(text.back());
//     RETURN_IF_ERROR(drafter->Propose({.max_nodes = rows - 1}, tree));     // it need not propose anything
//     RETURN_IF_ERROR(Verify(tree, logits_of_node, chooser, verdict));
//     drafter->Commit(tree, verdict);                                       // the text is longer by verdict.emitted
//   }
//
// The sequence and the budgets determine the proposals: nothing depends on time or chance. docs/speculation.md shows how to write a
// drafter. Threads: one sequence, one drafter, one thread. Drafters of other sequences share only data that is immutable or locked
// (history). Drafters of a set of sequences, which one thread drives, also share what the set writes (Join).
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tessera/spec/trees/token_tree.h"
#include "tessera/spec/trees/top_tokens.h"
#include "tessera/spec/trees/verify.h"

namespace tessera {

class LayerListener;     // runtime/engine/layer_states.h
class PlacedForecasts;   // runtime/engine/placed_forecasts.h
class SharedHistory;
struct DrawnChildren;

// Data that a drafter learns from in addition to the sequence. The data costs logits that would not be computed otherwise, so the caller
// may give less.
struct DrafterNeeds {
  int top_of_rows = 0;     // Likeliest tokens after each verified node (Verdict::top); 0: none.
  int top_of_prompt = 0;   // And after each token of the prompt (LearnPrompt); 0: none.
  // Rows next to a verified node that guess ahead from the node (Verdict::ahead); 0: none. Not every node gets such rows (forecast_rows.h).
  // top_of_forecasts: likeliest tokens wanted per row. forecast_tokens: expected gain of the next pass, in tokens, from the rows as a
  // draft.
  int forecast_rows = 0, top_of_forecasts = 0;
  double forecast_tokens = 0;
};

class Drafter {
 public:
  virtual ~Drafter() = default;
  virtual absl::string_view name() const = 0;    // Stable: in flags, reports and traces.
  virtual DrafterNeeds needs() const { return {}; }

  // Starts a sequence and forgets the one before. Everything learnt for all sequences (history) stays. `text` ends with the root of the
  // first tree. O(text).
  virtual void Begin(absl::Span<const TokenId> text) = 0;

  // Before Begin: joins a set whose sequences draft from each other (shared_history.h). Holds also for sequences that begin later; null:
  // the drafter is alone.
  virtual void Join(std::shared_ptr<SharedHistory> /*siblings*/) {}

  // After Begin, if the caller has the data: learns that top[i] are the model's likeliest tokens after text[first + i].
  virtual void LearnPrompt(int /*first*/, absl::Span<const TopTokens> /*top*/) {}

  // Adds at most budget.max_nodes nodes below the root, none deeper than budget.max_depth, each with an estimated probability. Tokens must
  // be of the model's vocabulary, such as tokens of the sequence, logits or a history of that vocabulary. A pass over any other token is an
  // error. The tree's root is the last token of the sequence. The tree may have nodes already. On an error the tree is as before.
  virtual absl::Status Propose(const DraftBudget& budget, TokenTree& tree) = 0;

  // Returns the tokens that the last proposal thought possible after the node at the end of `path`, proposed or not. The path starts below
  // the root. A predictor compares a node with these tokens (prune_rule.h). Empty: nothing in addition to the proposal. Valid until the
  // next call that is not const.
  virtual absl::Span<const TopToken> Candidates(absl::Span<const TokenId> /*path*/) const { return {}; }

  // Returns the tokens that were drawn by chance after that node in the last proposal (rejection.h); null: none. Valid as Candidates.
  virtual const DrawnChildren* Drawn(absl::Span<const TokenId> /*path*/) const { return nullptr; }

  // Commits the result of verifying `tree`. The tree need not be the proposed tree: nodes may have been left out, and others added.
  virtual void Commit(const TokenTree& tree, const Verdict& verdict) = 0;

  // Returns the listener for the model's layers while passes compute the sequence, from the first token on; null: none. Never changes.
  virtual LayerListener* listener() { return nullptr; }

  // Returns the means to compute forecasts, if the drafter needs some; null: no forecasts are computed. Never changes.
  virtual const PlacedForecasts* forecasts() const { return nullptr; }

  // Returns the drafter's choice for this sequence, for people; empty: the drafter has nothing to choose.
  virtual std::string choice() const { return ""; }

  // Memory in use, for the budget.
  virtual int64_t bytes() const = 0;
};

}  // namespace tessera

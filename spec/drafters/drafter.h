// Proposes the tokens that may come next; the model decides. A drafter can cost time, it can never change the text.
//
//   drafter->Begin(text);                                                   // its last token is the root of the first tree
//   while (!done) {
//     TokenTree tree(text.back());
//     RETURN_IF_ERROR(drafter->Propose({.max_nodes = rows - 1}, tree));     // it need not propose anything
//     RETURN_IF_ERROR(Verify(tree, logits_of_node, chooser, verdict));
//     drafter->Commit(tree, verdict);                                       // the text is longer by verdict.emitted
//   }
//
// Same text, same budgets, same proposals: nothing depends on time or chance. docs/speculation.md shows how to write one.
// Threads: one stream, one drafter, one thread. Drafters of other streams share only what is immutable, or locked (history); those of
// a set of texts, which one thread drives, also what these write (Join).
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

// What a drafter learns from besides the text. It costs logits that would not be computed otherwise, so the caller may give less.
struct DrafterNeeds {
  int top_of_rows = 0;     // Likeliest tokens after each verified node (Verdict::top); 0: none.
  int top_of_prompt = 0;   // And after each token of the prompt (LearnPrompt); 0: none.
  // Rows beside a verified node that guess ahead from there (Verdict::ahead); 0: none. So many of the likeliest tokens of each are wanted,
  // and as a draft they are expected to add so many tokens to the next pass. Not every node gets them (forecast_rows.h).
  int forecast_rows = 0, top_of_forecasts = 0;
  double forecast_tokens = 0;
};

class Drafter {
 public:
  virtual ~Drafter() = default;
  virtual absl::string_view name() const = 0;    // Stable: in flags, reports and traces.
  virtual DrafterNeeds needs() const { return {}; }

  // Forgets the text before; what it learnt for all texts (history) stays. `text` ends with the root of the first tree. O(text).
  virtual void Begin(absl::Span<const TokenId> text) = 0;

  // Before Begin: what the other texts of its set write (shared_history.h), also of those that begin after it; null: it is alone.
  virtual void Join(std::shared_ptr<SharedHistory> /*siblings*/) {}

  // After Begin, if the caller has it: top[i] is what the model says after text[first + i].
  virtual void LearnPrompt(int /*first*/, absl::Span<const TopTokens> /*top*/) {}

  // Adds at most budget.max_nodes nodes below the root, none deeper than budget.max_depth, each with its estimated probability. Tokens
  // are of the model's vocabulary: such as the text, logits or a history of it had. A pass over any other is an error.
  // The tree's root is the last token of the text; it may have nodes already. On an error the tree is as it was.
  virtual absl::Status Propose(const DraftBudget& budget, TokenTree& tree) = 0;

  // Since the last proposal, all that it thought might come after the node to which these tokens lead from the root, proposed or not: what
  // a predictor compares a node with (prune_rule.h). Empty: nothing beyond what it proposed. Valid until the next call that is not const.
  virtual absl::Span<const TopToken> Candidates(absl::Span<const TokenId> /*path*/) const { return {}; }

  // Since the last proposal, what was drawn after that node by chance (rejection.h); null: nothing. Valid as Candidates.
  virtual const DrawnChildren* Drawn(absl::Span<const TokenId> /*path*/) const { return nullptr; }

  // What came of the tree that was verified, which need not be what was proposed: nodes may have been left out, and others added.
  virtual void Commit(const TokenTree& tree, const Verdict& verdict) = 0;

  // What is to be told of the model's layers while passes compute the text, from its first token on; null: nothing. It stays the same.
  virtual LayerListener* listener() { return nullptr; }

  // By what forecasts are computed, where it needs some; null: they are not. It stays the same.
  virtual const PlacedForecasts* forecasts() const { return nullptr; }

  // What it has settled on for this text, for people; empty: it has nothing to settle on.
  virtual std::string choice() const { return ""; }

  // Memory it holds, for the budget.
  virtual int64_t bytes() const = 0;
};

}  // namespace tessera

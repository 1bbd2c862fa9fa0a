// Drafts with a whole model: an Expander that computes tree nodes in an engine of its own.
//
//   ASSIGN_OR_RETURN(std::shared_ptr<Engine> draft, Engine::Load({.model_path = "small.gguf", .compute = {.pool = &pool}}));
//   RETURN_IF_ERROR(CheckSameVocabulary(target.model(), draft->model()));                            // draft_vocabulary.h
//   ASSIGN_OR_RETURN(auto expander, ModelExpander::Create(draft, {.vocabulary = target.config().vocabulary}));
//   ASSIGN_OR_RETURN(auto policy, MakeTreePolicy("lever", {.profile = &costs}));
//   auto drafter = std::make_unique<ExpandingDrafter>(std::move(expander), std::move(policy), ExpandingDrafter::Options());
//
// The draft reads a sequence at the first Expand, in passes of the engine's capacity, together with the root. Probabilities are the
// probabilities of TopTokensOf over all tokens that the target has, at temperature 1. The same sequence and nodes give equal probabilities,
// no matter which other nodes were asked: a row's bits do not depend on other rows.
//
// Accepted tokens stay in the cache. A root that was expanded earlier, as a node that nobody verified, stays too, with its known answer:
// such a root needs no pass.
//
// A sequence and its tree share the draft's context. Nodes that find no room get no candidates.
//
// Errors name the draft, the value found and the value expected. Begin and Commit: InvalidArgument for a token that the draft lacks,
// ResourceExhausted for a sequence longer than the draft's context. Expand: ResourceExhausted if the cache has no room next to other
// sessions of the engine, Cancelled by the engine's flag, and the errors of passes. To prevent a full cache, plan Workload::sessions and
// cache_tokens for each sequence that is drafted at once. All calls: ResourceExhausted if memory ended in a call of this engine
// (session.h).
//
// Threads: as a Drafter. Expanders of several sequences may share an engine, and the engine may have other sessions: calls wait for calls
// of other threads. An engine and its draft may share a ThreadPool, since a target's drafters run only between its passes. Then other
// threads must leave the draft alone while the target computes. REQUIRES: the draft is another engine than the target, since calls of the
// target hold the target while drafters run. The draft has no drafter that waits for the target.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tessera/base/clock.h"
#include "tessera/base/timeline.h"
#include "tessera/model/pass.h"
#include "tessera/runtime/engine/cached_text.h"
#include "tessera/runtime/engine/engine.h"
#include "tessera/runtime/session/step_clock.h"
#include "tessera/spec/costs/cost_profile.h"
#include "tessera/spec/trees/expander.h"
#include "tessera/tensor/tensor_view.h"

namespace tessera {

// Expands draft trees with a model.
class ModelExpander : public Expander {
 public:
  struct Options {
    std::string name = "draft";
    // The target's vocabulary size: tokens 0 to vocabulary - 1 are candidates. 0: all tokens of the draft.
    int vocabulary = 0;
    // Costs of passes by nodes, learnt from each pass. Expanders of one engine may share a profile. Must outlive the expander. Null: the
    // expander's own profile.
    CostProfile* costs = nullptr;
    const Clock* clock = nullptr;   // Times passes. Null: the engine's clock. Must outlive the expander.
    // The target's timeline, for a trace: each pass with its logits is an event of Zone::kDraft. Null: nothing is recorded. Must outlive
    // the expander.
    Timeline* timeline = nullptr;
  };
  // Creates an expander without a sequence. FailedPrecondition if the weights are not loaded, or if the engine switches graphs
  // (ComputeOptions::switching). WrongUsage (vocabulary) for a value below 0.
  static absl::StatusOr<std::unique_ptr<ModelExpander>> Create(std::shared_ptr<Engine> draft, const Options& options);
  ~ModelExpander() override;
  ModelExpander(const ModelExpander&) = delete;
  ModelExpander& operator=(const ModelExpander&) = delete;

  absl::string_view name() const override { return options_.name; }
  // Begins a sequence. Keeps the cached prefix of this sequence. Runs no pass.
  absl::Status Begin(absl::Span<const TokenId> text) override;
  absl::StatusOr<std::vector<TopTokens>> Expand(const TokenTree& tree, absl::Span<const int> nodes, int most) override;
  absl::Status Commit(const TokenTree& tree, absl::Span<const TokenId> emitted) override;
  // Returns the expected seconds of a pass over `rows` nodes, with the nodes' logits. Excludes reading the sequence.
  double Seconds(int rows) const override;
  int most_rows() const override;
  int64_t bytes() const override;   // Bytes now, in addition to the engine's.
  // Returns the most bytes for sequences of `context` tokens.
  static int64_t MostBytes(int context, int vocabulary);

  Engine& engine() const { return *draft_; }
  const CostProfile& costs() const { return costs_; }

 private:
  // The candidates after a node in the cache.
  struct Answer {
    bool is_given = false;   // Returned by Expand since the last commit.
    int most = 0;            // Number of candidates requested.
    TopTokens top = {};
  };
  ModelExpander(std::shared_ptr<Engine> draft, std::unique_ptr<CachedText> text, const Options& options);

  absl::Status BeginHeld(absl::Span<const TokenId> text);
  absl::StatusOr<std::vector<TopTokens>> ExpandHeld(const TokenTree& tree, absl::Span<const int> nodes, int most);
  absl::Status CommitHeld(const TokenTree& tree, absl::Span<const TokenId> emitted);

  // CHECKs the requirements of Expand.
  void CheckNodes(const TokenTree& tree, absl::Span<const int> nodes) const;
  // Checks the tokens of a sequence from number `first` on, and whether the whole sequence fits.
  absl::Status CheckTokens(int64_t first, absl::Span<const TokenId> tokens) const;
  bool IsGiven(int node) const { return static_cast<size_t>(node) < answers_.size() && answers_[static_cast<size_t>(node)].is_given; }
  // Returns the nodes that the cache lacks and that find room, the root first.
  std::vector<int> NodesToCompute(absl::Span<const int> nodes) const;
  // Reads the part of the sequence that does not fit into a pass with `nodes` nodes.
  absl::Status ReadText(int nodes);
  absl::Status Compute(const TokenTree& tree, absl::Span<const int> nodes, int most, std::vector<TopTokens>& said);
  // Runs a pass over rows_. The rows from number `first` on are nodes, which get candidates.
  absl::Status RunNodes(int first, int most, std::vector<TopTokens>& said);
  absl::Status ChooseTop(const HiddenRows& rows, absl::Span<const int> wanted, int most, std::vector<TopTokens>& said);
  // Returns the cached nodes on the path of the accepted tokens, from the root on.
  std::vector<int> PathOf(const TokenTree& tree, absl::Span<const TokenId> emitted) const;

  const std::shared_ptr<Engine> draft_;
  const std::shared_ptr<EngineCore> core_;
  const Options options_;
  const StepClock clock_;
  CostProfile own_costs_;
  CostProfile& costs_;
  const int vocabulary_;                // Candidates are below this number.
  const int most_nodes_;                // Most nodes of a tree: windows may limit the number.
  bool begun_ = false;                  // True: Begin was called, and no error occurred since.
  std::unique_ptr<CachedText> text_;    // The sequence without the root.
  TokenId root_ = 0;
  // [node]. For a root that is placed and was not requested: the answer from before the last commit.
  std::vector<Answer> answers_;
  int placed_ = 0;                      // Number of nodes in the cache.
  std::vector<PassRow> rows_;           // Kept between passes to spare allocations.
  std::vector<float> logits_;
};

}  // namespace tessera

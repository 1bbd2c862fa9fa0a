// A whole model as a draft: an Expander that computes nodes in an engine of its own.
//
//   ASSIGN_OR_RETURN(std::shared_ptr<Engine> draft, Engine::Load({.model_path = "small.gguf", .compute = {.pool = &pool}}));
//   RETURN_IF_ERROR(CheckSameVocabulary(target.model(), draft->model()));                            // draft_vocabulary.h
//   ASSIGN_OR_RETURN(auto expander, ModelExpander::Create(draft, {.vocabulary = target.config().vocabulary}));
//   ASSIGN_OR_RETURN(auto policy, MakeTreePolicy("lever", {.profile = &costs}));
//   auto drafter = std::make_unique<ExpandingDrafter>(std::move(expander), std::move(policy), ExpandingDrafter::Options());
//
// The draft reads a text when it is first asked, in passes of the engine's capacity, together with the root. Probabilities are those of
// TopTokensOf over all tokens that the target has, at temperature 1, equal for the same text and nodes whatever else was asked: a row's
// bits do not depend on the rows beside it. What became text stays in the cache; so does the root where it was expanded already, as a node
// that nobody verified, and what was said of it is known: that takes no pass.
//
// A text and its tree have the draft's context together. Nodes that it has no room for are answered by no candidates. Errors name the
// draft, what was found and what was expected. Begin and Commit: InvalidArgument for a token that the draft lacks, ResourceExhausted for a
// text that is longer than its context. Expand: ResourceExhausted where the cache has no room beside other sessions of the engine (for each
// text at once, Workload::sessions and cache_tokens are to be planned), Cancelled by the engine's flag, and the errors of passes. All:
// ResourceExhausted where memory ended in a call of this engine (session.h).
//
// Threads: as a Drafter. Expanders of several texts may share an engine, and the engine may have other sessions: calls wait for those of
// other threads. An engine and its draft may have the same ThreadPool, since a target's drafters are only asked between its passes; then
// other threads must leave the draft alone while the target computes. REQUIRES: the draft is another engine than the target, whose calls
// hold it while drafters are asked, and it has no drafter that waits for the target.
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

class ModelExpander : public Expander {
 public:
  struct Options {
    std::string name = "draft";
    // The target's tokens: 0 to vocabulary - 1 are candidates. 0: all that the draft has.
    int vocabulary = 0;
    // What passes take, by nodes: learns from each. Expanders of one engine may share it. Must outlive the expander. Null: its own.
    CostProfile* costs = nullptr;
    const Clock* clock = nullptr;   // What passes are timed by. Null: the engine's. Must outlive the expander.
    // The target's, for its trace: each pass with its logits is an event of Zone::kDraft. Null: nothing is recorded. Must outlive it.
    Timeline* timeline = nullptr;
  };
  // FailedPrecondition if the weights are not loaded, or graphs are switched (ComputeOptions::switching); WrongUsage (vocabulary) below 0.
  static absl::StatusOr<std::unique_ptr<ModelExpander>> Create(std::shared_ptr<Engine> draft, const Options& options);
  ~ModelExpander() override;
  ModelExpander(const ModelExpander&) = delete;
  ModelExpander& operator=(const ModelExpander&) = delete;

  absl::string_view name() const override { return options_.name; }
  // Keeps what its cache has of the beginning of this text. Makes no pass.
  absl::Status Begin(absl::Span<const TokenId> text) override;
  absl::StatusOr<std::vector<TopTokens>> Expand(const TokenTree& tree, absl::Span<const int> nodes, int most) override;
  absl::Status Commit(const TokenTree& tree, absl::Span<const TokenId> emitted) override;
  // A pass over so many nodes, with their logits. The text is left out.
  double Seconds(int rows) const override;
  int most_rows() const override;
  int64_t bytes() const override;   // Beyond what the engine has, as of now.
  // Never more than this, for texts of so many tokens.
  static int64_t MostBytes(int context, int vocabulary);

  Engine& engine() const { return *draft_; }
  const CostProfile& costs() const { return costs_; }

 private:
  // What was said after a node that the cache has.
  struct Answer {
    bool is_given = false;   // Since the last commit.
    int most = 0;            // Candidates that were asked for.
    TopTokens top = {};
  };
  ModelExpander(std::shared_ptr<Engine> draft, std::unique_ptr<CachedText> text, const Options& options);

  absl::Status BeginHeld(absl::Span<const TokenId> text);
  absl::StatusOr<std::vector<TopTokens>> ExpandHeld(const TokenTree& tree, absl::Span<const int> nodes, int most);
  absl::Status CommitHeld(const TokenTree& tree, absl::Span<const TokenId> emitted);

  // CHECKs what Expand requires.
  void CheckNodes(const TokenTree& tree, absl::Span<const int> nodes) const;
  // Tokens of a text from the one numbered `first` on, and whether all of it fits.
  absl::Status CheckTokens(int64_t first, absl::Span<const TokenId> tokens) const;
  bool IsGiven(int node) const { return static_cast<size_t>(node) < answers_.size() && answers_[static_cast<size_t>(node)].is_given; }
  // Those of the nodes that the cache lacks and there is room for: the root first.
  std::vector<int> NodesToCompute(absl::Span<const int> nodes) const;
  // Reads of the text what does not fit into a pass beside so many nodes.
  absl::Status ReadText(int nodes);
  absl::Status Compute(const TokenTree& tree, absl::Span<const int> nodes, int most, std::vector<TopTokens>& said);
  // A pass over rows_, of which those from the first node's on are answered.
  absl::Status RunNodes(int first, int most, std::vector<TopTokens>& said);
  absl::Status ChooseTop(const HiddenRows& rows, absl::Span<const int> wanted, int most, std::vector<TopTokens>& said);
  // The nodes from the root on that the text goes through and the cache has.
  std::vector<int> PathOf(const TokenTree& tree, absl::Span<const TokenId> emitted) const;

  const std::shared_ptr<Engine> draft_;
  const std::shared_ptr<EngineCore> core_;
  const Options options_;
  const StepClock clock_;
  CostProfile own_costs_;
  CostProfile& costs_;
  const int vocabulary_;                // Candidates are below this.
  const int most_nodes_;                // In a tree: windows may bound them.
  bool begun_ = false;                  // And no error since.
  std::unique_ptr<CachedText> text_;    // All but the root.
  TokenId root_ = 0;
  std::vector<Answer> answers_;         // [node]. A root that is placed and was not asked for was answered before the last commit.
  int placed_ = 0;                      // Nodes that the cache has.
  std::vector<PassRow> rows_;           // Kept between passes to spare allocations.
  std::vector<float> logits_;
};

}  // namespace tessera

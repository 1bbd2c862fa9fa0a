#include "tessera/runtime/scheduler/internal/tree_pruning.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "tessera/base/status_macros.h"
#include "tessera/base/timeline.h"
#include "tessera/spec/policies/prune_rule.h"
#include "tessera/spec/policies/row_policy.h"

namespace tessera {
namespace {

int LayerOf(const Stream& stream) { return stream.pruning().predictor->layer(); }

}  // namespace

absl::Status TreePruning::Run(const StepPlan& plan, absl::Span<const PassLogits::Member> members, const CostProfile* costs,
                              absl::Span<const ListeningRows> listening, Pass& walk) {
  due_.clear();
  dropped_ = 0;
  seconds_ = spared_ = 0;
  // Graph motion walks the pass by graphs of its own. Streams with pruning are refused there.
  if (core_.motion() != nullptr) return absl::OkStatus();
  for (size_t i = 0; i < plan.parts.size(); ++i) {
    Stream& stream = *members[i].stream;
    const TokenTree* const tree = stream.TreeToPrune();
    if (tree != nullptr && IsWorth(plan, plan.parts[i], stream, *tree, costs)) due_.push_back({.stream = &stream, .tree = tree});
  }
  if (due_.empty()) return absl::OkStatus();
  std::stable_sort(due_.begin(), due_.end(), [](const Due& a, const Due& b) { return LayerOf(*a.stream) < LayerOf(*b.stream); });
  for (size_t begin = 0; begin < due_.size();) {
    const int layer = LayerOf(*due_[begin].stream);
    size_t end = begin;
    while (end < due_.size() && LayerOf(*due_[end].stream) == layer) ++end;
    RETURN_IF_ERROR(PruneAt(layer, absl::MakeSpan(due_).subspan(begin, end - begin), listening, walk));
    begin = end;
  }
  return absl::OkStatus();
}

double TreePruning::UpperShare(int layer) const {
  const int layers = core_.runner().model().layers();
  return static_cast<double>(layers - layer) / layers;
}

bool TreePruning::IsWorth(const StepPlan& plan, const StepPart& part, Stream& stream, const TokenTree& tree,
                          const CostProfile* costs) const {
  if (!stream.pruning().weigh_costs) return true;
  if (costs == nullptr) return false;
  const CostProfile::Shape all = plan.shape();
  const double share = MarginalShare(all, part.choice.shape(), *costs);
  return stream.prune_gate().IsWorth({.all = all, .rows = tree.size() + stream.forecast_rows(), .upper_share = UpperShare(LayerOf(stream)),
                                      .token_seconds = share * costs->PassSeconds(all) / std::max(part.choice.tokens, 1.0)},
                                     *costs);
}

absl::Status TreePruning::PruneAt(int layer, absl::Span<Due> due, absl::Span<const ListeningRows> listening, Pass& walk) {
  if (!listening.empty()) RETURN_IF_ERROR(TellSomeLayers(walk, listening, walk.layer(), layer));
  RETURN_IF_ERROR(walk.RunTo(layer));
  rows_.clear();
  TimelineScope scope(core_.timeline(), Zone::kPrune, 0);
  for (Due& one : due) {
    const double begin = clock_.Seconds();
    const size_t before = rows_.size();
    RETURN_IF_ERROR(Score(one, walk));
    one.stream->Prune(PruneTree(*one.tree, one.sets, one.stream->pruning().rule), rows_);
    const double seconds = clock_.SecondsSince(begin);
    one.stream->prune_gate().Learn(one.tree->size() + one.stream->forecast_rows(), static_cast<int>(rows_.size() - before), seconds);
    seconds_ += seconds;
  }
  scope.SetDetail(static_cast<int32_t>(rows_.size()));
  if (rows_.empty()) return absl::OkStatus();
  std::sort(rows_.begin(), rows_.end());   // Streams need not be in the order of rows.
  RETURN_IF_ERROR(walk.Drop(rows_));
  dropped_ += static_cast<int>(rows_.size());
  spared_ += static_cast<double>(rows_.size()) * UpperShare(layer);
  return absl::OkStatus();
}

absl::Status TreePruning::Score(Due& due, const Pass& walk) {
  due.sets = due.stream->Candidates();
  const TimelineScope scope(core_.timeline(), Zone::kPredict, static_cast<int32_t>(due.sets.size()));
  ASSIGN_OR_RETURN(const TensorView<const float> hidden, walk.Hidden());
  const absl::Span<const int> numbers = walk.rows();
  const int vocabulary = core_.model().config().vocabulary;
  std::vector<ExitPredictor::Question> questions;
  for (CandidateSet& set : due.sets) {
    // A draft's head may have more rows than the model's head. Tokens beyond the model's vocabulary have no row here.
    std::erase_if(set.tokens, [vocabulary](TokenId token) { return token >= vocabulary; });
    set.scores.resize(set.tokens.size());
    const auto place = std::lower_bound(numbers.begin(), numbers.end(), due.stream->base() + set.node);
    questions.push_back({hidden.row(place - numbers.begin()), set.tokens, absl::MakeSpan(set.scores)});
  }
  return due.stream->pruning().predictor->Score(questions, core_.pool());
}

CostProfile::Shape TreePruning::Learnt(CostProfile::Shape shape) const {
  shape.rows = std::max(shape.rows - static_cast<int>(std::lround(spared_)), shape.texts);
  shape.leaves = std::min(shape.leaves, shape.rows);
  return shape;
}

}  // namespace tessera

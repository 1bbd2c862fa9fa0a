#include "tessera/apps/lab/papers/lever/lever_simulation.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "tessera/apps/lab/papers/lever/recorded_expander.h"
#include "tessera/apps/lab/papers/lever/streamed_layers.h"
#include "tessera/base/status_macros.h"
#include "tessera/spec/costs/cost_profile.h"
#include "tessera/spec/costs/step_time.h"
#include "tessera/spec/drafters/expanding_drafter.h"
#include "tessera/spec/policies/row_policy.h"
#include "tessera/spec/policies/tree_policy.h"

namespace tessera {
namespace {

constexpr int kMostTreeRows = 65;    // A root, and the nodes of the largest published tree.
constexpr int kTimesToKnow = 3;      // A CostProfile takes a time as known after this number of passes.
constexpr char kLever[] = "lever";

struct KnownSystem {
  const char *key, *name, *tree;
  bool retrieval;
  bool as_lever;                     // Drafts in batches, and finds logits on demand.
};
constexpr KnownSystem kSystems[] = {{"flash_ar", "Flash-AR", "", false, false},
                                    {"chain", "Chain-SD", "chain:tokens=8", false, false},
                                    {"edgellm", "EdgeLLM", "edgellm", false, false},
                                    {kLever, "Lever", kLever, false, true},
                                    {"specinfer", "SpecInfer", "specinfer", false, true},
                                    {"opt_tree", "OPT-Tree", "opt_tree", false, true},
                                    {"retrieval", "retrieval alone", "", true, true}};

const KnownSystem& Known(absl::string_view key) {
  const auto found = std::find_if(std::begin(kSystems), std::end(kSystems), [&](const KnownSystem& known) { return key == known.key; });
  CHECK(found != std::end(kSystems)) << key;
  return *found;
}

StreamedLayers LayersOf(const LeverCosts& costs, double pinned) {
  return StreamedLayers({.layers = costs.layers(),
                         .pinned = static_cast<int>(std::lround(pinned * costs.layers())),
                         .read_seconds = costs.read_seconds()});
}

// Fills a rule's profile before the first pass: the paper's offline measurements (section 4.2).
absl::Status FillProfile(const LeverCosts& costs, const LeverSetup& setup, int64_t positions, CostProfile& profile) {
  for (int rows = 1; rows <= kMostTreeRows; ++rows) {
    ASSIGN_OR_RETURN(const double pass, SteadyPassSeconds(costs, setup.pinned, rows, positions));
    for (int i = 0; i < kTimesToKnow; ++i) {
      profile.AddPass({.rows = rows}, pass);
      profile.AddHead(rows, costs.HeadSeconds(setup.head, rows, rows));
    }
  }
  return absl::OkStatus();
}

class Simulation {
 public:
  Simulation(const LeverCosts& costs, const LeverSetup& setup) : costs_(costs), setup_(setup) {}

  // positions: the approximate number in the middle of a text.
  absl::Status Open(int64_t positions) {
    if (setup_.tree.empty()) return absl::OkStatus();
    ASSIGN_OR_RETURN(std::unique_ptr<TreePolicy> policy, MakeTreePolicy(setup_.tree, {.profile = &profile_}));
    const bool learns = policy->name() == kLever;
    if (learns) RETURN_IF_ERROR(FillProfile(costs_, setup_, positions, profile_));
    const auto seconds = [this](int nodes, int text_rows) { return costs_.DraftSeconds(setup_.drafting, nodes, text_rows); };
    auto expander = std::make_unique<RecordedExpander>(
        RecordedExpander::Times{.seconds = seconds, .is_head = costs_.draft_is_head()});
    expander_ = expander.get();
    ExpandingDrafter::Options options;
    options.corrects = learns;
    drafter_.emplace(std::move(expander), std::move(policy), options);
    return absl::OkStatus();
  }

  absl::Status Write(const DraftedText& text) {
    const int tokens = std::min(setup_.most_tokens, static_cast<int>(text.tokens.size()));
    StreamedLayers layers = LayersOf(costs_, setup_.pinned);
    double now = 0;
    if (drafter_.has_value()) {
      expander_->Use(text);
      drafter_->Begin(absl::MakeConstSpan(text.tokens).first(1));
    }
    size_t passes = 0;
    for (int written = 1; written < tokens; ++passes) {
      ASSIGN_OR_RETURN(const int emitted, setup_.retrieval ? RecordedCycle(text, passes, written, tokens, layers, now)
                                                           : Cycle(text, written, tokens, layers, now));
      written += emitted;
    }
    run_.seconds += now;
    run_.tokens += tokens - 1;
    run_.texts += 1;
    return absl::OkStatus();
  }

  LeverRun Take() {
    if (expander_ == nullptr) return run_;
    for (const auto& [rows, times] : expander_->passes()) {
      for (const DraftWay way : kDraftWays) {
        run_.draft_by_way[static_cast<size_t>(way)] += static_cast<double>(times) * costs_.DraftSeconds(way, rows.first, rows.second);
      }
    }
    return run_;
  }

 private:
  // Runs draft, pass and verification. Returns the number of tokens.
  absl::StatusOr<int> Cycle(const DraftedText& text, int written, int tokens, StreamedLayers& layers, double& now) {
    TokenTree tree(text.tokens[static_cast<size_t>(written) - 1]);
    if (drafter_.has_value()) {
      const double before = expander_->seconds();
      RETURN_IF_ERROR(drafter_->Propose({.max_nodes = kMostTreeRows - 1, .max_depth = tokens - written}, tree));
      SpendDrafting(expander_->seconds() - before, now);
    }
    Verification verification(tree);
    for (size_t next = static_cast<size_t>(written); verification.node() != TokenTree::kNone; ++next) {
      verification.Next({.token = text.tokens[next], .last = static_cast<int>(next) + 1 == tokens});
    }
    const Verdict verdict = verification.Take();
    const int emitted = static_cast<int>(verdict.emitted.size());
    ASSIGN_OR_RETURN(const StepTime time, Pass(ShapeOf(tree), emitted, text.prompt_tokens + written, layers, now));
    if (drafter_.has_value()) {
      LearnStep(ShapeOf(tree), time, profile_);
      drafter_->Commit(tree, verdict);
    }
    return emitted;
  }

  // Like Cycle, with the recorded drafts of retrieval in this pass.
  absl::StatusOr<int> RecordedCycle(const DraftedText& text, size_t pass, int written, int tokens, StreamedLayers& layers, double& now) {
    CHECK_LT(pass, text.retrieval.size()) << text.set << " " << text.id;
    const RecordedPass& recorded = text.retrieval[pass];
    const int emitted = std::min(recorded.accepted + 1, tokens - written);
    SpendDrafting(costs_.drafter_seconds(), now);
    RETURN_IF_ERROR(Pass({.rows = 1 + recorded.drafted}, emitted, text.prompt_tokens + written, layers, now).status());
    return emitted;
  }

  void SpendDrafting(double seconds, double& now) {
    run_.draft_seconds += seconds;
    now += seconds;
  }

  // positions: the text's, including the root's.
  absl::StatusOr<StepTime> Pass(const CostProfile::Shape& shape, int reached, int64_t positions, StreamedLayers& layers, double& now) {
    ASSIGN_OR_RETURN(const double layer, costs_.LayerSeconds(shape.rows, positions + shape.rows - 1));
    const double begin = now;
    now = layers.Run(now, layer) + costs_.call_seconds();
    const double pass = now - begin, head = costs_.HeadSeconds(setup_.head, shape.rows, reached);
    now += head;
    run_.head_seconds += head;
    for (const HeadWay way : kHeadWays) run_.head_by_way[static_cast<size_t>(way)] += costs_.HeadSeconds(way, shape.rows, reached);
    run_.passes += 1;
    run_.rows += shape.rows;
    run_.reached += reached;
    return StepTime{.pass_seconds = pass, .later_rows = reached, .later_seconds = head};
  }

  const LeverCosts& costs_;
  const LeverSetup& setup_;
  CostProfile profile_;
  RecordedExpander* expander_ = nullptr;   // Owned by the drafter.
  std::optional<ExpandingDrafter> drafter_;
  LeverRun run_;
};

absl::Status CheckSetup(const LeverSetup& setup) {
  if (!(setup.pinned >= 0 && setup.pinned <= 1)) {
    return absl::InvalidArgumentError(absl::StrCat("lever: pinned: found ", setup.pinned, ", expected a share, 0 to 1"));
  }
  if (setup.most_tokens >= 1) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("lever: most tokens: found ", setup.most_tokens, ", expected 1 or more"));
}

}  // namespace

LeverRun& LeverRun::operator+=(const LeverRun& other) {
  texts += other.texts;
  tokens += other.tokens;
  passes += other.passes;
  rows += other.rows;
  reached += other.reached;
  seconds += other.seconds;
  draft_seconds += other.draft_seconds;
  head_seconds += other.head_seconds;
  for (size_t way = 0; way < std::size(draft_by_way); ++way) {
    draft_by_way[way] += other.draft_by_way[way];
    head_by_way[way] += other.head_by_way[way];
  }
  return *this;
}

LeverSetup SetupOf(absl::string_view system) {
  const KnownSystem& known = Known(system);
  LeverSetup setup = {.tree = known.tree, .retrieval = known.retrieval};
  if (known.as_lever) {
    setup.drafting = DraftWay::kBatched;
    setup.head = HeadWay::kOnDemandCpu;
  }
  return setup;
}

const char* LeverSystemName(absl::string_view system) { return Known(system).name; }

absl::StatusOr<double> SteadyPassSeconds(const LeverCosts& costs, double pinned, int rows, int64_t positions) {
  ASSIGN_OR_RETURN(const double layer, costs.LayerSeconds(rows, positions));
  StreamedLayers layers = LayersOf(costs, pinned);
  const double first = layers.Run(0, layer);
  return layers.Run(first, layer) - first + costs.call_seconds();
}

absl::StatusOr<LeverRun> SimulateLever(const LeverCosts& costs, const LeverSetup& setup, const DraftRecording& recording,
                                       absl::string_view set) {
  RETURN_IF_ERROR(CheckSetup(setup));
  const auto first = std::find_if(recording.texts.begin(), recording.texts.end(), [&](const DraftedText& text) { return text.set == set; });
  if (first == recording.texts.end()) {
    return absl::FailedPreconditionError(absl::StrCat("recording of ", recording.draft, ": found no text of ", set, ", expected some"));
  }
  Simulation simulation(costs, setup);
  RETURN_IF_ERROR(simulation.Open(first->prompt_tokens + std::min<int64_t>(setup.most_tokens, recording.most_tokens) / 2));
  for (const DraftedText& text : recording.texts) {
    if (text.set == set) RETURN_IF_ERROR(simulation.Write(text));
  }
  return simulation.Take();
}

}  // namespace tessera

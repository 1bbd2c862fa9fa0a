#include "tessera/apps/lab/scale/judging/step_trees.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <glog/logging.h>

#include "absl/functional/function_ref.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tessera/apps/lab/scale/tasks/records.h"
#include "tessera/base/random.h"
#include "tessera/base/status_macros.h"
#include "tessera/runtime/scale/beam_search.h"
#include "tessera/runtime/scale/value/extract_answer.h"
#include "tessera/runtime/scale/value/same_answer.h"
#include "tessera/runtime/scale/vote.h"

namespace tessera {
namespace {

constexpr int kExpansions = 4;
constexpr char kStepEnd[] = "\x1F";   // The unit separator: recorded steps may hold line breaks, but not this character.

absl::StatusOr<StepNode> NodeOf(const JsonValue& value) {
  StepNode node;
  ASSIGN_OR_RETURN(node.text, value.String("text"));
  ASSIGN_OR_RETURN(node.value, value.Double("mc_value"));
  ASSIGN_OR_RETURN(const JsonValue children, value.Array("children"));
  if (!(node.value >= 0 && node.value <= 1)) {
    ASSIGN_OR_RETURN(const JsonValue wrong, value.Value("mc_value"));
    return wrong.Error(absl::StrCat(node.value), "a share from 0 to 1");
  }
  if (absl::StrContains(node.text, kStepEnd)) return value.Error("a text with a unit separator (U+001F)", "text without it");
  for (int64_t i = 0; i < children.size(); ++i) {
    ASSIGN_OR_RETURN(node.next.emplace_back(), NodeOf(children[i]));
  }
  return node;
}

const StepNode& Drawn(const StepNode& node, SeededRandom& random) {
  return node.next[static_cast<size_t>(random.Below(static_cast<int64_t>(node.next.size())))];
}

// Draws a walk from the root to a leaf, and returns the leaf. The leaf has the answer of the whole text.
const StepNode& Walk(const StepTree& tree, SeededRandom& random) {
  const StepNode* node = &Drawn(tree.root, random);
  while (!node->next.empty()) node = &Drawn(*node, random);
  return *node;
}

// Runs a beam search and returns the final leaf, or a step that is no leaf if the search was cut.
const StepNode& Search(const StepTree& tree, int rows, SeededRandom& random) {
  const int expansions = std::min(rows, kExpansions);
  absl::StatusOr<BeamSearch> search =
      BeamSearch::Create({.width = rows / expansions, .expansions = expansions, .delimiter = kStepEnd, .most_steps = 1000});
  CHECK(search.ok()) << search.status();
  std::vector<const StepNode*> drawn = {&tree.root};   // By `from` of the beams.
  std::vector<std::pair<std::string, const StepNode*>> ended;
  while (!search->done()) {
    std::vector<BeamSearch::Step> steps;
    std::vector<const StepNode*> next;
    for (const BeamSearch::Beam& beam : search->beams()) {
      for (int i = 0; i < search->expansions(); ++i) {
        const StepNode& step = Drawn(*drawn[beam.from < 0 ? 0 : static_cast<size_t>(beam.from)], random);
        const bool last = step.next.empty();
        steps.push_back({.text = last ? step.text : step.text + kStepEnd, .score = step.value, .ended = last});
        next.push_back(&step);
      }
    }
    const size_t before = search->ended().size();
    search->Advance(steps);
    drawn = std::move(next);
    for (size_t i = before; i < search->ended().size(); ++i) {
      ended.emplace_back(search->ended()[i].text, drawn[static_cast<size_t>(search->ended()[i].from)]);
    }
  }
  const BeamSearch::Beam& best = search->best();
  const auto found = std::find_if(ended.begin(), ended.end(), [&](const auto& one) { return one.first == best.text; });
  return found == ended.end() ? *drawn[static_cast<size_t>(best.from)] : *found->second;
}

bool IsRight(const StepTree& tree, const StepNode& end) {
  const std::optional<std::string> answer = ExtractFormula(end.text);
  return answer.has_value() && SameAnswer(*answer, tree.answer);
}

// Returns `count` walks, as samples of a question.
JudgedQuestion Walks(const StepTree& tree, int count, SeededRandom& random) {
  JudgedQuestion question;
  std::vector<std::optional<std::string>> answers;
  for (int i = 0; i < count; ++i) {
    const StepNode& end = Walk(tree, random);
    answers.push_back(ExtractFormula(end.text));
    question.right.push_back(IsRight(tree, end));
    question.scores.push_back(end.value);
  }
  question.answers = GroupAnswers(answers, SameAnswer);
  question.weights = question.scores;
  return question;
}

// Computes how often each method is right with a given number of samples of each tree.
class Tally {
 public:
  Tally(absl::Span<const StepTree> trees, const JudgeOptions& options) : trees_(trees), options_(options) {}

  std::vector<double> OfSelection(Selection selection, int samples) const {
    return Of(samples, [&](const StepTree& tree, SeededRandom& random) {
      const JudgedQuestion walks = Walks(tree, samples, random);
      return static_cast<bool>(walks.right[static_cast<size_t>(Select(selection, walks.answers, walks.scores))]);
    });
  }
  std::vector<double> OfOne() const { return OfSelection(Selection::kMajority, 1); }
  std::vector<double> OfBeams(int rows) const {
    return Of(rows, [&](const StepTree& tree, SeededRandom& random) { return IsRight(tree, Search(tree, rows, random)); });
  }

 private:
  std::vector<double> Of(int samples, absl::FunctionRef<bool(const StepTree& tree, SeededRandom& random)> right) const {
    std::vector<double> shares;
    for (size_t t = 0; t < trees_.size(); ++t) {
      int count = 0;
      for (int draw = 0; draw < options_.draws; ++draw) {
        SeededRandom random(CounterRandom(options_.seed, t, static_cast<uint64_t>(draw) << 32 | static_cast<uint64_t>(samples)));
        count += right(trees_[t], random);
      }
      shares.push_back(static_cast<double>(count) / options_.draws);
    }
    return shares;
  }

  const absl::Span<const StepTree> trees_;
  const JudgeOptions& options_;
};

}  // namespace

absl::StatusOr<std::vector<StepTree>> ReadStepTrees(const std::string& folder) {
  std::vector<StepTree> trees;
  const auto read = [&](const JsonValue& record, int) -> absl::Status {
    StepTree tree;
    ASSIGN_OR_RETURN(tree.question, record.String("question"));
    ASSIGN_OR_RETURN(tree.answer, record.String("final_answer"));
    ASSIGN_OR_RETURN(const JsonValue root, record.Object("reasoning_steps"));
    ASSIGN_OR_RETURN(tree.root, NodeOf(root));
    if (tree.root.next.empty()) return root.Error("no steps", "at least one");
    trees.push_back(std::move(tree));
    return absl::OkStatus();
  };
  ASSIGN_OR_RETURN(const EvaluationFile file, ReadEvaluationFile(folder, "math_step_trees.jsonl"));
  RETURN_IF_ERROR(ForEachRecord(file, read));
  return trees;
}

std::string BeamShape(int rows) {
  const int expansions = std::min(rows, kExpansions);
  return absl::StrCat(rows / expansions, "x", expansions);
}

std::vector<MethodFigures> JudgeStepTrees(absl::Span<const StepTree> trees, const JudgeOptions& options) {
  const Tally tally(trees, options);
  const std::vector<double> one = tally.OfOne();
  std::vector<MethodFigures> figures = {FiguresOf("one sample", 1, one, one, options)};
  for (const int samples : options.samples) {
    if (samples == 1) continue;
    for (const Selection selection : {Selection::kMajority, Selection::kWeighted, Selection::kBestOfN}) {
      figures.push_back(FiguresOf(std::string(SelectionName(selection)), samples, tally.OfSelection(selection, samples), one, options));
    }
    figures.push_back(FiguresOf("beam search", samples, tally.OfBeams(samples), one, options));
  }
  return figures;
}

}  // namespace tessera

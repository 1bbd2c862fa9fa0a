// Recorded trees of steps with a value for each, on which step-level beam search is compared with other ways to spend the same samples.
//
//   ASSIGN_OR_RETURN(const std::vector<StepTree> trees, ReadStepTrees("evaluation_sets"));
//   const std::vector<MethodFigures> figures = JudgeStepTrees(trees, {.samples = {4, 16}, .draws = 200, .seed = 7});
//
// math_step_trees.jsonl (openr, preprocess/tests/samples_math-aps-tree.jsonl): of a problem the steps that a model wrote, each with the
// share of its continuations that reached the right answer (mc_value), which stands for what a process reward model says. A sample is a
// walk from the root to a leaf, each step drawn from those that were recorded; its score is that of its last step. Ways: "one sample",
// "majority", "weighted majority", "best of N" over N walks, and "beam search" with N rows: 4 expansions each (fewer where N is less) of N
// / 4 beams, as in Snell et al. 2024 (arXiv 2408.03314). N must be 1 to 3, or a multiple of 4. Each draw is another set of walks and
// another search, all of one seed. Thread-safe.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tessera/apps/lab/scale/judging/judge.h"

namespace tessera {

struct StepNode {
  std::string text = {};
  double value = 0;                      // 0 to 1.
  std::vector<StepNode> next = {};       // None: the text ends here.
};

struct StepTree {
  std::string question = {};
  std::string answer = {};
  StepNode root = {};                    // Its text is the question.
};

// Errors name file, line and field: a value out of range, a tree without a step.
absl::StatusOr<std::vector<StepTree>> ReadStepTrees(const std::string& folder);

// REQUIRES: at least one tree; options.samples as above.
std::vector<MethodFigures> JudgeStepTrees(absl::Span<const StepTree> trees, const JudgeOptions& options);

// "1x2", "4x4": width and expansions of a search with so many rows.
std::string BeamShape(int rows);

}  // namespace tessera

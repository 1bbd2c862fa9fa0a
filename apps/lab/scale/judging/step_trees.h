// Recorded trees of steps, each step with a value. Step-level beam search is compared with other uses of the same number of samples.
//
//   ASSIGN_OR_RETURN(const std::vector<StepTree> trees, ReadStepTrees("evaluation_sets"));
//   const std::vector<MethodFigures> figures = JudgeStepTrees(trees, {.samples = {4, 16}, .draws = 200, .seed = 7});
//
// math_step_trees.jsonl (openr, preprocess/tests/samples_math-aps-tree.jsonl): for each problem the steps that a model wrote. A step's
// value (mc_value) is the share of continuations that reached the right answer, and stands for the score of a process reward model. A
// sample is a walk from the root to a leaf, each step drawn from the recorded steps. A sample's score is the last step's.
//
// Methods: "one sample", "majority", "weighted majority", "best of N" over N walks, and "beam search" with N rows. The search has N / 4
// beams with 4 expansions each (fewer if N is less), as in Snell et al. 2024 (arXiv 2408.03314). N must be 1 to 3, or a multiple of 4. Each
// draw is another set of walks and another search, all from one seed. Thread-safe.
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
  std::vector<StepNode> next = {};       // Empty: the text ends here.
};

struct StepTree {
  std::string question = {};
  std::string answer = {};
  StepNode root = {};                    // The text is the question.
};

// Reads the trees. Errors (a value out of range, a tree without a step) name file, line and field.
absl::StatusOr<std::vector<StepTree>> ReadStepTrees(const std::string& folder);

// Judges all methods. REQUIRES: at least one tree; options.samples as above.
std::vector<MethodFigures> JudgeStepTrees(absl::Span<const StepTree> trees, const JudgeOptions& options);

// Returns the width and expansions of a search with `rows` rows, such as "1x2" or "4x4".
std::string BeamShape(int rows);

}  // namespace tessera

// Writes many samples of many problems, in passes that they share.
//
//   const std::vector<SampleProblem> problems = {{.id = "1", .prompt = tokens}};
//   RETURN_IF_ERROR(PlanSamples(options, engine_options));                  // before the engine is made
//   RETURN_IF_ERROR(WriteSamples(*engine, problems, {.samples = 8}, has, [&](const Sample& sample) { return file.Add(sample); }));
//
// Samples are streams of one stepper (runtime/scheduler/stepper.h). Those of a problem begin with its prompt, which is computed once. A
// sample that ends makes room for the next one at once, of the same problem or another, so passes stay full until the last ones. Sample i
// draws from stream i of the seed, and is, token for token, what it would be alone: nothing depends on how many are written together, or on
// which were written by an earlier run. Threads: one at a time.
#pragma once

#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tessera/apps/lab/scale/tasks/sample_file.h"
#include "tessera/base/token.h"
#include "tessera/model/text/sampler.h"
#include "tessera/runtime/engine/engine.h"
#include "tessera/runtime/scheduler/stepper.h"

namespace tessera {

struct SampleProblem {
  std::string id = {};
  std::vector<TokenId> prompt = {};
};

struct SampleOptions {
  int samples = 8;                       // For each problem.
  int together = 16;                     // Most that are written at once, 1 to 64 (kMostTexts).
  SamplingOptions sampling = {};
  int max_tokens = 512;                  // In a sample; 0: until the context is full.
  std::vector<std::string> stop = {};
  bool starts_text = true;               // False where a sample goes on with the prompt's own text.
};

// Makes memory plans include so many texts. WrongUsage names the field.
absl::Status PlanSamples(const SampleOptions& options, EngineOptions& engine);

// Writes those that `has` does not have, and gives each to `keep` as it ends. Ends with the first error of a sample (its problem is named),
// of `keep`, or of a pass; Cancelled once the engine is.
absl::StatusOr<StepperReport> WriteSamples(Engine& engine, absl::Span<const SampleProblem> problems, const SampleOptions& options,
                                           absl::FunctionRef<bool(absl::string_view id, int sample)> has,
                                           absl::FunctionRef<absl::Status(const Sample& sample)> keep);

}  // namespace tessera

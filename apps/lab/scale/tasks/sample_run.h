// Generates many samples of many problems, in shared passes.
//
//   const std::vector<SampleProblem> problems = {{.id = "1", .prompt = tokens}};
//   RETURN_IF_ERROR(PlanSamples(options, engine_options));                  // before the engine is made
//   RETURN_IF_ERROR(WriteSamples(*engine, problems, {.samples = 8}, has, [&](const Sample& sample) { return file.Add(sample); }));
//
// Samples are streams of one stepper (runtime/scheduler/stepper.h). All samples of a problem begin with the problem's prompt, which is
// computed once. A sample that ends makes room at once for the next sample, of the same problem or another. So passes stay full until the
// last samples. Sample i draws from stream i of the seed, and has the same tokens as a sample that is generated alone. No token depends on
// the number of samples together, or on the samples of an earlier run. Threads: one at a time.
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
  int together = 16;                     // Maximum number of samples at once, 1 to 64 (kMostTexts).
  SamplingOptions sampling = {};
  int max_tokens = 512;                  // Per sample; 0: until the context is full.
  std::vector<std::string> stop = {};
  bool starts_text = true;               // False if a sample continues the prompt's own text.
};

// Includes options.together samples in memory plans. WrongUsage names the field.
absl::Status PlanSamples(const SampleOptions& options, EngineOptions& engine);

// Generates the samples for which `has` is false, and gives each to `keep` at the sample's end. Returns the first error of a sample (with
// the problem's id), of `keep`, or of a pass. Cancelled if the engine is cancelled.
absl::StatusOr<StepperReport> WriteSamples(Engine& engine, absl::Span<const SampleProblem> problems, const SampleOptions& options,
                                           absl::FunctionRef<bool(absl::string_view id, int sample)> has,
                                           absl::FunctionRef<absl::Status(const Sample& sample)> keep);

}  // namespace tessera

// Compares a model's speed with the limits of this machine's memory and arithmetic, which are probed between the runs.
//
//   const BenchmarkOptions benchmark = {.prompt_tokens = 512, .generate_tokens = 128};
//   ASSIGN_OR_RETURN(Roofline roofline, MeasureRoofline(*engine, KernelPath::kAvx2, benchmark, /*repetitions=*/5));
//   RETURN_IF_ERROR(WriteOutput(RooflineText(roofline)));
//
// Generation is compared with the bytes that a token reads. A prompt is compared with the products of the prompt's matrices (pass_work.h),
// attention with the FP32 peak. The time of attention is a difference: the time of a pass with tokens in the cache, minus the time of the
// same pass with an empty cache. All work that both passes do cancels, in any implementation. So any other engine can be measured in the
// same way. Threads: the engine's.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/apps/bench/passes/benchmark.h"
#include "tessera/base/cpu_features.h"
#include "tessera/base/json_writer.h"
#include "tessera/base/spread.h"

namespace tessera {

struct RooflineLine {      // Medians over the repetitions.
  std::string figure;      // "generation", "prompt" or "attention".
  int tokens = 0;          // Generated tokens, or tokens of the pass.
  int depth = 0;           // Tokens in the cache before the pass.
  std::string unit;        // "tokens/s" or "GFLOP/s".
  double measured = 0;     // 0: less than the noise (attention only).
  double limit = 0;
  double share = 0;        // measured / limit, taken within each repetition.
};

struct Roofline {
  Spread read;             // Bytes per second,
  Spread int8, fp32;       // operations per second, all threads together.
  std::vector<RooflineLine> lines = {};
  struct PassShare { int depth; double share; };
  std::vector<PassShare> attention_of_pass = {};   // The share of the pass's time that attention to `depth` tokens takes.
};

// Measures the roofline. benchmark.depth: tokens in the cache where attention is measured; 0: after 512 and after 4096 tokens, as far as
// the context allows. REQUIRES: the engine computes on the fast path with kernels `path`; benchmark.prompt_tokens and generate_tokens are
// at least 1.
absl::StatusOr<Roofline> MeasureRoofline(Engine& engine, KernelPath path, const BenchmarkOptions& benchmark, int repetitions);

std::string RooflineText(const Roofline& roofline);
void WriteRoofline(JsonWriter& json, const Roofline& roofline);

}  // namespace tessera

// How near a model's speed comes to what memory and arithmetic of this machine allow, probed between the runs.
//
//   const BenchmarkOptions benchmark = {.prompt_tokens = 512, .generate_tokens = 128};
//   ASSIGN_OR_RETURN(Roofline roofline, MeasureRoofline(*engine, KernelPath::kAvx2, benchmark, /*repetitions=*/5));
//   RETURN_IF_ERROR(WriteOutput(RooflineText(roofline)));
//
// Generation is held against the bytes that a token reads, a prompt against the products of its matrices (pass_work.h), attention
// against the peak of FP32. The time of attention is a difference: that of a pass with tokens before, minus that of the same pass
// with none. So what the two have in common cancels, however it is made, and the same can be asked of any other engine. Threads: the
// engine's.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/apps/bench/benchmark.h"
#include "tessera/base/cpu_features.h"
#include "tessera/base/json_writer.h"

namespace tessera {

struct RooflineLine {      // Medians over the repetitions.
  std::string figure;      // "generation", "prompt" or "attention".
  int tokens = 0;          // That are generated, or of the pass.
  int depth = 0;           // Tokens in the cache before.
  std::string unit;        // "tokens/s" or "GFLOP/s".
  double measured = 0;     // 0: less than the noise (attention only).
  double limit = 0;
  double share = 0;        // measured / limit, taken within each repetition.
};

struct Roofline {
  Spread read;             // Bytes a second,
  Spread int8, fp32;       // operations a second, of all threads.
  std::vector<RooflineLine> lines;
  struct PassShare { int depth; double share; };
  std::vector<PassShare> attention_of_pass;   // How much of the pass's time the attention to `depth` tokens takes.
};

// benchmark.depth: where attention is looked at; 0: after 512 and after 4096 tokens, as far as the context allows.
// REQUIRES: the engine computes on the fast path with kernels `path`; benchmark.prompt_tokens and generate_tokens are at least 1.
absl::StatusOr<Roofline> MeasureRoofline(Engine& engine, KernelPath path, const BenchmarkOptions& benchmark, int repetitions);

std::string RooflineText(const Roofline& roofline);
void WriteRoofline(JsonWriter& json, const Roofline& roofline);

}  // namespace tessera

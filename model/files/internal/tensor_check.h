// Holds a file's tensors against those that its configuration needs: each need is met, and each tensor is used or known to change no text.
//
//   const TensorCheck check = CheckTensors(file, config);
//   for (const TensorProblem& problem : check.problems) Show(problem.tensor, problem.status);
//
// Planning weights, quantizing and verifying all call it, so that none of them takes a file that another refuses. Thread-safe (pure).
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tessera/model/files/config.h"
#include "tessera/model/files/gguf.h"

namespace tessera {

struct TensorProblem {
  std::string tensor = {};
  absl::Status status = {};  // InvalidArgument: file, tensor, found, expected.
};

struct TensorCheck {
  // First tensors that nothing would read, in the order of the file: they say best what kind of model it is. Then needs that are not met.
  std::vector<TensorProblem> problems = {};
  std::vector<bool> used = {};  // Per tensor of the file.
  // Why tensors that are not used, and are no problem, change no text; each reason once.
  std::vector<std::string> reasons = {};

  absl::Status FirstProblem() const { return problems.empty() ? absl::OkStatus() : problems[0].status; }
};

TensorCheck CheckTensors(const GgufFile& file, const ModelConfig& config);

}  // namespace tessera

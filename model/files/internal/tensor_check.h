// Compares a file's tensors with the needs of the configuration: each need is met, and each tensor is used or known to change no text.
//
//   const TensorCheck check = CheckTensors(file, config);
//   for (const TensorProblem& problem : check.problems) Show(problem.tensor, problem.status);
//
// Planning weights, quantizing and verifying all use this check, so that none accepts a file that another refuses. Thread-safe (pure).
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
  // First the tensors that nothing would read, in the order of the file: the names of such tensors show best which kind of model the file
  // holds. Then the unmet needs.
  std::vector<TensorProblem> problems = {};
  std::vector<bool> used = {};  // Per tensor of the file.
  // Reasons why unused tensors that are no problem change no text; each reason once.
  std::vector<std::string> reasons = {};

  absl::Status FirstProblem() const { return problems.empty() ? absl::OkStatus() : problems[0].status; }
};

TensorCheck CheckTensors(const GgufFile& file, const ModelConfig& config);

}  // namespace tessera

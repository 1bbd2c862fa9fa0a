// Finds all faults of a model file, GGUF or packed (.tsr). Loading would stop at the first one.
//
//   const VerifyReport report = VerifyModel("model.gguf", pool, [](int64_t done, int64_t total) {});
//   for (const FileProblem& problem : report.problems) Show(problem.message);
//
// For a GGUF file VerifyModel checks the format itself. Every tensor that the architecture needs must be present with the right shape, and
// no other tensor may change texts. The tokenizer must be buildable, with no more tokens than the table has rows. The chat template, if
// any, must be readable, and the recommended sampling possible. Every value, scale and minimum of every used tensor must be finite. For a
// packed file VerifyModel checks the same, except the numbers, which were checked at packing. In addition the units must be the units that
// the header requires, and every checksum must match. Reads every tensor once, with all threads of the pool. Threads: thread-compatible.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tessera/base/thread_pool.h"
#include "tessera/model/files/gguf.h"

namespace tessera {

struct FileProblem {
  std::string file;       // In a split model: the part.
  std::string tensor;     // Empty: the problem is not in a tensor's bytes.
  int64_t offset = -1;    // In the file; -1: see the message.
  std::string message;    // A whole sentence: file, place, found and expected.
};

struct VerifyReport {
  std::vector<FileProblem> problems;
  int tensors = 0;
  int unused_tensors = 0;    // Tensors that no part of the model reads, and that packing left out.
  std::vector<std::string> unused_reasons = {};  // Reasons why unused tensors change no text, each reason once.
  int64_t tensor_bytes = 0;  // For a packed file: bytes of the file's units.
  int64_t unused_bytes = 0;  // Between tensors beyond the alignment, and after the last.
};

// Verifies a model's file. progress: called on this thread, with bytes read so far and in all.
VerifyReport VerifyModel(const std::string& path, ThreadPool& pool,
                         const std::function<void(int64_t done, int64_t total)>& progress);

}  // namespace tessera

// Looks for everything that is wrong with a model file, GGUF or packed (.tsr), where loading stops at the first thing that is.
//
//   const VerifyReport report = VerifyModel("model.gguf", pool, [](int64_t done, int64_t total) {});
//   for (const FileProblem& problem : report.problems) Show(problem.message);
//
// Checked of GGUF are: the format itself; that there is a tensor of the right shape for all that the architecture asks for; that
// the tokenizer can be built and has no more tokens than the table has rows; and that every value, scale and minimum of every
// tensor is a finite number; of a packed file the same but for the numbers, which were checked when it was packed, that its units
// are those its header asks for, and every checksum. Reads every tensor once, with all threads of the pool. Thread-compatible.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tessera/base/thread_pool.h"
#include "tessera/model/files/gguf.h"

namespace tessera {

struct FileProblem {
  std::string file;       // Of a split model: the part.
  std::string tensor;     // Empty: not of a tensor's bytes.
  int64_t offset = -1;    // In the file; -1: see the message.
  std::string message;    // A whole sentence: file, place, found and expected.
};

struct VerifyReport {
  std::vector<FileProblem> problems;
  int tensors = 0;
  int unused_tensors = 0;    // Which the architecture does not ask for; of a packed file, those that were left out.
  int64_t tensor_bytes = 0;  // Of a packed file: of its units.
  int64_t unused_bytes = 0;  // Between tensors beyond the alignment, and after the last.
};

// progress: called on this thread, with bytes read so far and in all.
VerifyReport VerifyModel(const std::string& path, ThreadPool& pool,
                         const std::function<void(int64_t done, int64_t total)>& progress);

}  // namespace tessera

// Finds all faults of a model file, GGUF or packed (.tsr). Loading would stop at the first one.
//
//   const VerifyReport report = VerifyModel("model.gguf", pool, [](int64_t done, int64_t total) {});
//   for (const FileProblem& problem : report.problems) Show(problem.message);
//
// For GGUF it checks the format itself; that every tensor which the architecture needs is there with the right shape, and that no other
// might change texts; that the tokenizer can be built and has no more tokens than the table has rows; that the chat template can be read,
// if there is one, and the recommended sampling is possible; and that every value, scale and minimum of every tensor that is used is
// finite. For a packed file it checks the same except the numbers, which were checked when it was packed; also that its units are those
// that its header requires, and every checksum. Reads every tensor once, with all threads of the pool. Thread-compatible.
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
  int unused_tensors = 0;    // Tensors that no part of the model reads; packing left them out.
  std::vector<std::string> unused_reasons = {};  // Why these change no text, each reason once.
  int64_t tensor_bytes = 0;  // For a packed file: bytes of its units.
  int64_t unused_bytes = 0;  // Between tensors beyond the alignment, and after the last.
};

// progress: called on this thread, with bytes read so far and in all.
VerifyReport VerifyModel(const std::string& path, ThreadPool& pool,
                         const std::function<void(int64_t done, int64_t total)>& progress);

}  // namespace tessera

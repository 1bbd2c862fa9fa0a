// The SHA-256 of all parts of a model that affect generated text. The sum identifies models and is the same in every process.
//
//   ModelSum sum(model);                                                // of model.gguf and of what was packed from it: the same (*)
//   sum.Start();                                                        // on a thread beside, of the lowest priority; or not
//   ASSIGN_OR_RETURN(const Sha256Sum of_model, sum.Finish(pool));       // what is left, on all threads
//
// The sum covers the file's header byte for byte: metadata, vocabulary, names and shapes of tensors. Also covered are all weights in their
// computed form, the recipe of the forms, and tensors that change the angles of RoPE. For a packed file the manifest gives the SHA-256 of
// each block, which takes some milliseconds at every model size. Weights that were made while they were loaded (from a GGUF file, or tiles
// from panels) are in memory and are read once. Weights of a packed file of version 1.0, which has no such sums, are read from the file.
//
// No two models have the same sum, with one limit. A packed file that is forged on purpose may claim another model's blocks in its
// manifest, and hold other blocks with correct checksums. tessera_inspect --verify compares the blocks with the manifest.
//
// (*) Except tiles that were made of a packed file's panels and hold the panels' numbers exactly (common-tile). These tiles give the
// numbers of the GGUF file, perhaps with other scales and codes (model/files/internal/exact_blocks.h), and then have another sum. The
// engine of one refuses a session of the other.
// Threads: one at a time.
#pragma once

#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tessera/base/sha256.h"
#include "tessera/base/thread_pool.h"
#include "tessera/runtime/engine/loaded_model.h"

namespace tessera {

class ModelSum {
 public:
  // Prepares the sum. REQUIRES: the weights are loaded, and the model outlives this object.
  explicit ModelSum(const LoadedModel& model);
  ~ModelSum();   // Waits for the thread's present unit.
  ModelSum(const ModelSum&) = delete;
  ModelSum& operator=(const ModelSum&) = delete;

  // Starts the sum on a thread of the lowest priority. Does nothing if the sums are known, or if the system has no thread. REQUIRES: Start
  // was not called before.
  void Start();
  // Computes the rest on all threads and returns the sum. Returns the errors of reading the file. REQUIRES: no Run of the pool is under
  // way; this is the last call.
  absl::StatusOr<Sha256Sum> Finish(ThreadPool& pool);

  int64_t summed_bytes() const { return summed_bytes_; }   // Bytes of weights summed so far, by Start's thread and by Finish.

 private:
  void Work();
  absl::Status SumUnit(int unit, std::vector<std::byte>& buffer);
  absl::StatusOr<Sha256Sum> SumOfAll() const;

  const LoadedModel& model_;
  // Whether the file has the weights in their computed form. Else the weights are read from memory.
  const bool by_file_;
  std::vector<Sha256Sum> sums_;      // By block, like TsrReader::block_sums.
  std::vector<int64_t> first_;       // By unit: the unit's first block. Empty: all sums are known.
  std::atomic<int> next_ = 0;        // The next unit to begin.
  std::atomic<bool> ends_ = false;
  std::atomic<int64_t> summed_bytes_ = 0;
  std::mutex mutex_;
  absl::Status status_;              // Under mutex_: the first error.
  std::thread beside_;
};

}  // namespace tessera

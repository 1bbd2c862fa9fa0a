// The SHA-256 that tells models apart by what their texts depend on, the same in every process.
//
//   ModelSum sum(model);                                                // of model.gguf and of what was packed from it: the same (*)
//   sum.Start();                                                        // on a thread beside, of the lowest priority; or not
//   ASSIGN_OR_RETURN(const Sha256Sum of_model, sum.Finish(pool));       // what is left, on all threads
//
// It covers the file's header, byte for byte (metadata, vocabulary, names and shapes of tensors), all weights as they are computed with,
// the recipe of their forms, and tensors that change angles of RoPE. For a packed file it takes the manifest's SHA-256 of each block: some
// milliseconds, whatever the model's size. Weights that were made while they were loaded (from a GGUF file, or tiles from panels) are in
// memory and are read once; those of a packed file of version 1.0, which has no such sums, are read from the file.
//
// No two models have one sum, with one limit: a packed file that somebody makes on purpose may claim another's blocks in its manifest, and
// have others under right checksums. tessera_inspect --verify compares them.
//
// (*) But for tiles that were made of a packed file's panels and hold its numbers exactly (common-tile): they give the numbers of the GGUF
// file, perhaps by other scales and codes (model/files/internal/exact_blocks.h), and then have another sum. A session of the one is
// refused by the other. Threads: one at a time.
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
  // REQUIRES: the weights are loaded, and the model outlives this.
  explicit ModelSum(const LoadedModel& model);
  ~ModelSum();   // Waits for the unit that the thread reads.
  ModelSum(const ModelSum&) = delete;
  ModelSum& operator=(const ModelSum&) = delete;

  // Does nothing where the sums are known, or the system has no thread. REQUIRES: it was not called before.
  void Start();
  // The errors of reading the file. REQUIRES: no Run of the pool is under way; the last call.
  absl::StatusOr<Sha256Sum> Finish(ThreadPool& pool);

  int64_t summed_bytes() const { return summed_bytes_; }   // Weights, so far: by the thread beside and by Finish.

 private:
  void Work();
  absl::Status SumUnit(int unit, std::vector<std::byte>& buffer);
  absl::StatusOr<Sha256Sum> SumOfAll() const;

  const LoadedModel& model_;
  const bool by_file_;               // The file has the weights as they are computed with; else they are in memory.
  std::vector<Sha256Sum> sums_;      // By block, as TsrReader::block_sums has them.
  std::vector<int64_t> first_;       // By unit, its first block; empty: all sums are known.
  std::atomic<int> next_ = 0;        // Units that were begun.
  std::atomic<bool> ends_ = false;
  std::atomic<int64_t> summed_bytes_ = 0;
  std::mutex mutex_;
  absl::Status status_;              // Under mutex_: the first error.
  std::thread beside_;
};

}  // namespace tessera

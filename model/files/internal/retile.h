// Loads the weights of a packed file in panels, for a device that wants the matrices in tiles.
//
//   ASSIGN_OR_RETURN(source, LoadRetiled(*reader, panels, layout, pool, cancel));      // panels: what the file has; layout: what is wanted
//
// Numbers are the file's numbers, as if the original GGUF model had been loaded. Thread-safe (pure function).
#pragma once

#include <atomic>
#include <memory>

#include "absl/status/statusor.h"
#include "tessera/base/thread_pool.h"
#include "tessera/model/files/weights.h"
#include "tessera/storage/tsr_reader.h"

namespace tessera {

// Loads all units of `layout` on all threads of the pool. Each thread has one of the file's units in memory at a time. Returns DataLoss for
// a damaged unit; InvalidArgument (file, tensor, found, expected) for numbers that the form cannot hold; Cancelled once `cancel` (may be
// null) is true; ResourceExhausted. REQUIRES: the file's units are the units of `panels`. Both layouts belong to the file's header
// (`layout` perhaps to its first layers alone). `panels` keeps all matrices.
absl::StatusOr<std::unique_ptr<ResidentSource>> LoadRetiled(const TsrReader& reader, const WeightLayout& panels, const WeightLayout& layout,
                                                            ThreadPool& pool, const std::atomic<bool>* cancel);

}  // namespace tessera

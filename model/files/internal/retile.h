// Loads the weights of a packed file whose matrices lie in panels, for a device that wants them in tiles.
//
//   ASSIGN_OR_RETURN(source, LoadRetiled(*reader, panels, layout, pool, cancel));      // panels: what the file has; layout: what is wanted
//
// Numbers are those of the file, as if its GGUF model had been loaded. Thread-safe (pure function).
#pragma once

#include <atomic>
#include <memory>

#include "absl/status/statusor.h"
#include "tessera/base/thread_pool.h"
#include "tessera/model/files/weights.h"
#include "tessera/storage/tsr_reader.h"

namespace tessera {

// All units of `layout`, filled by all threads of the pool; each has one of the file's units in memory at a time. DataLoss for a unit that
// is damaged; InvalidArgument (file, tensor, found, expected) for numbers that the form cannot hold; Cancelled once `cancel` (may be null)
// is true; ResourceExhausted. REQUIRES: the file's units are those of `panels`, both layouts are of its header (`layout` perhaps of
// its first layers alone), and panels keeps all.
absl::StatusOr<std::unique_ptr<ResidentSource>> LoadRetiled(const TsrReader& reader, const WeightLayout& panels, const WeightLayout& layout,
                                                            ThreadPool& pool, const std::atomic<bool>* cancel);

}  // namespace tessera

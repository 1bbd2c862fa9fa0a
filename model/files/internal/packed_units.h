// A language model's weights as units of a .tsr file: the units of the model's WeightLayout. The header is stored next to the units
// (packed_header.h).
//
//   RETURN_IF_ERROR(CheckPackedUnits(reader, layout));
//
// A model's first layers (FirstLayers) have a separate layout, whose units are some of the file's units:
//
//   ASSIGN_OR_RETURN(source, LoadSomeUnits(reader, of_file, layout, pool, cancel));
//
// Thread-safe (pure functions).
#pragma once

#include <atomic>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tessera/base/thread_pool.h"
#include "tessera/model/files/weights.h"
#include "tessera/storage/resident_source.h"
#include "tessera/storage/tsr_reader.h"

namespace tessera {

// Returns the unit as written to a file.
TsrUnit PackedUnit(const WeightLayout& layout, int unit);

// Returns InvalidArgument with the first unit and entry of the file that the layout does not have, or has elsewhere.
absl::Status CheckPackedUnits(const TsrReader& reader, const WeightLayout& layout);

// Reads the units of `layout` alone, on all threads of the pool. Returns DataLoss for a damaged unit; Cancelled once `cancel` (may be null)
// is true; ResourceExhausted. REQUIRES: the file's units are the units of `of_file`, and include the units of `layout`.
absl::StatusOr<std::unique_ptr<ResidentSource>> LoadSomeUnits(const TsrReader& reader, const WeightLayout& of_file,
                                                              const WeightLayout& layout, ThreadPool& pool,
                                                              const std::atomic<bool>* cancel);

}  // namespace tessera

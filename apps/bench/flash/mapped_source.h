// Weights in a mapped file: the system's page cache does the work of a LayerStreamer. Only for comparing the two.
//
//   options.hooks = Hooks({.open_source = OpenMapped});     // EngineOptions: pins are those that the budget's plan has
//   ASSIGN_OR_RETURN(std::unique_ptr<WeightSource> source, OpenMapped(*file, plan));
//
// This is the best form of mapping: on large pages if the file system has large pages, read in order, the plan's pins locked in memory.
// Checksums are not compared. A file that is truncated while mapped ends the process, which a product cannot accept. Thread-safe.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "tessera/runtime/engine/weight_plan.h"
#include "tessera/storage/tsr_reader.h"
#include "tessera/storage/weight_source.h"

namespace tessera {

// Maps the file and reads the pins. Returns the errors of open(2), mmap(2) and mlock(2), with file, call and message. mlock(2) needs the
// right to lock as much memory as the pins take. `file` must outlive the source.
absl::StatusOr<std::unique_ptr<WeightSource>> OpenMapped(const TsrReader& file, const StreamPlan& plan);

}  // namespace tessera

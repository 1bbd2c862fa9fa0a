// Weights in a file that is mapped: the system's page cache does what a LayerStreamer does. Only to compare the two.
//
//   options.open_source = OpenMapped;                   // EngineOptions: pins are those that the budget's plan has
//   ASSIGN_OR_RETURN(std::unique_ptr<WeightSource> source, OpenMapped(*file, plan));
//
// As good as mapping gets: on large pages where the file system has them, read in order, the plan's pins locked in memory. Checksums are
// not compared, and a file cut short while it is mapped ends the process: what a product cannot afford. Thread-safe.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "tessera/runtime/weight_plan.h"
#include "tessera/storage/tsr_reader.h"
#include "tessera/storage/weight_source.h"

namespace tessera {

// Reads the pins. The errors of open(2), mmap(2) and mlock(2), which needs the right to lock so much: file, call, what it said.
// `file` must outlive the source.
absl::StatusOr<std::unique_ptr<WeightSource>> OpenMapped(const TsrReader& file, const StreamPlan& plan);

}  // namespace tessera

// Weights of a packed file that come into memory, and stay there, while the first pass computes: a lease waits for its own bytes alone.
//
//   ASSIGN_OR_RETURN(std::unique_ptr<LoadingSource> source, LoadingSource::Start(*reader, {.threads = 4}));   // of a TsrReader
//   ASSIGN_OR_RETURN(WeightLease lease, source->Acquire(0));   // read by now, and checked
//   ASSIGN_OR_RETURN(SharedBytes header, source->ReadAttachment("gguf"));
//   RETURN_IF_ERROR(source->AwaitChecked());                   // all of it is as it should be
//   RETURN_IF_ERROR(source->AwaitResident());                  // and in its final place
//
// Threads of its own read the file in the order of a pass. A caller that needs bytes which no thread reads yet reads them itself, so a
// system that gives no thread makes this slower, and nothing else. Bytes that could not be read are tried again by the next caller that
// needs them, which gets the error: those of TsrReader::ReadBlock.
//
// A file that is in the system's cache is checked there, and its pages are leased as they are at first: so the first pass does not wait for
// copies, which take longer than all else. Meanwhile the source holds a lease on the file (fcntl, F_SETLEASE): a program that opens the
// file for writing waits until the lease ends, and the system sends this process SIGURG, which is ignored unless the process handles it.
// The pages are then copied to private memory, which is faster and safe from writers. Copying starts at the first of: the next lease after
// AwaitChecked, AwaitResident, one second (Options::longest_borrowed).
//
// The reader must outlive the source, whose end waits for the block that each thread reads, not for the rest. Nothing is logged: what the
// system would not give is in Shortages. Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tessera/base/shared_bytes.h"
#include "tessera/storage/tsr_reader.h"
#include "tessera/storage/weight_source.h"

namespace tessera {

class LoadingSource : public WeightSource, public Loading {
 public:
  struct Options {
    int threads = 4;
    // The last `late_threads` of them (never the first) start only when data must come from disk or a lease is waiting. Until then they
    // would take a CPU from the caller's work before its first lease.
    int late_threads = 0;
    // True ends a wait at the next block, with Cancelled; the source's own threads read on. Must outlive the source. Null: never.
    const std::atomic<bool>* cancel = nullptr;
    // Nanoseconds after which copying starts in any case. Must be short beside the 45 s that the system makes a writer wait.
    int64_t longest_borrowed = 1'000'000'000;
  };
  // ResourceExhausted (file, bytes) if the units do not fit in memory. REQUIRES: the reader is not direct(), and has one such source
  // at a time.
  static absl::StatusOr<std::unique_ptr<LoadingSource>> Start(const TsrReader& reader, const Options& options);

  Loading* loading() override { return this; }

  // As TsrReader has it, but without a copy while the file is borrowed: with the last weights it moves to private memory, where its
  // addresses stay the same. It may outlive the source.
  virtual absl::StatusOr<SharedBytes> ReadAttachment(absl::string_view name) = 0;

 private:
  class Impl;  // The only class that derives from this one (internal/loading_source_impl.h).
  LoadingSource() = default;
};

}  // namespace tessera

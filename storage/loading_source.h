// Loads weights of a packed file into memory, to stay there, while the first pass computes. A lease waits only for its own bytes.
//
//   ASSIGN_OR_RETURN(std::unique_ptr<LoadingSource> source, LoadingSource::Start(*reader, {.threads = 4}));   // of a TsrReader
//   ASSIGN_OR_RETURN(WeightLease lease, source->Acquire(0));   // read by now, and checked
//   ASSIGN_OR_RETURN(SharedBytes header, source->ReadAttachment("gguf"));
//   RETURN_IF_ERROR(source->AwaitChecked());                   // all of it is as it should be
//   RETURN_IF_ERROR(source->AwaitResident());                  // and in its final place
//
// The source's own threads read the file in the order of a pass. A caller reads needed bytes itself if no thread reads these bytes yet. So
// a system that gives no thread makes loading slower, and nothing else. Bytes that could not be read are tried again by the next caller
// that needs the bytes. That caller gets the error: the errors of TsrReader::ReadBlock.
//
// A file in the system's cache is checked there, and its cached pages are leased at first. So the first pass does not wait for copies,
// which take longer than all else. Meanwhile the source holds a lease on the file (fcntl, F_SETLEASE). A program that opens the file for
// writing waits until the lease ends, and the system sends this process SIGURG. The process ignores SIGURG unless there is a handler. Later
// the pages are copied to private memory, which is faster and safe from writers. Copying starts at the first of: the next lease after
// AwaitChecked, AwaitResident, one second (Options::longest_borrowed).
//
// Lifetime: the reader must outlive the source. The source's end waits for the block that each thread reads, not for the rest.
// Errors: nothing is logged; Shortages lists the resources that the system refused.
// Threads: thread-safe.
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
    // The last `late_threads` threads (never the first) start only when data must come from disk or a lease is waiting. Earlier they would
    // take a CPU from the caller's work before its first lease.
    int late_threads = 0;
    // True ends a wait at the next block, with Cancelled; the source's own threads read on. Must outlive the source. Null: never.
    const std::atomic<bool>* cancel = nullptr;
    // Nanoseconds after which copying starts in any case. Must be short compared with the 45 s that the system makes a writer wait.
    int64_t longest_borrowed = 1'000'000'000;
  };
  // Starts loading. ResourceExhausted (file, bytes) if the units do not fit in memory. REQUIRES: the reader is not direct(), and has one
  // such source at a time.
  static absl::StatusOr<std::unique_ptr<LoadingSource>> Start(const TsrReader& reader, const Options& options);

  Loading* loading() override { return this; }

  // Reads as TsrReader does, but without a copy while the file is borrowed. With the last weights the attachment moves to private memory,
  // where its addresses stay the same. The attachment may outlive the source.
  virtual absl::StatusOr<SharedBytes> ReadAttachment(absl::string_view name) = 0;

 private:
  class Impl;  // The only class that derives from this one (internal/loading_source_impl.h).
  LoadingSource() = default;
};

}  // namespace tessera

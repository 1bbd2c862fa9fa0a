// Collects the calls of other threads on a scheduler: new requests, and requests to cancel.
//
//   Submissions submissions;
//   const StreamId id = submissions.Add(std::move(options));         // any thread
//   submissions.Cancel(id);
//   Submissions::Taken taken = submissions.Take();                   // the driving thread, between passes
//   submissions.BeginPass(ids);                                      // pass_cancel() becomes true once all of these are cancelled
//
// Threads: thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "tessera/runtime/scheduler/stream.h"

namespace tessera {

// A new request.
struct Submitted {
  StreamId id = 0;
  StreamOptions options = {};
  // The request continues the sequence of this stream.
  std::optional<StreamId> fork_of = {};
};

// New and cancelled requests since the last step.
class Submissions {
 public:
  StreamId Add(StreamOptions options, std::optional<StreamId> fork_of = std::nullopt);
  void Cancel(StreamId stream);

  // The calls since the last Take, taken at one moment: each cancelled request was submitted in this or an earlier Taken. Some cancelled
  // requests may have ended long ago.
  struct Taken {
    std::vector<Submitted> submitted = {};
    absl::flat_hash_set<StreamId> cancelled = {};
  };
  Taken Take();

  // Names the requests with rows in the pass that begins now.
  void BeginPass(std::vector<StreamId> streams);
  const std::atomic<bool>& pass_cancel() const { return pass_cancel_; }

 private:
  void StopPassIfAllCancelled();

  std::mutex mutex_;
  Taken new_;
  std::vector<StreamId> in_pass_;
  StreamId next_ = 0;
  std::atomic<bool> pass_cancel_{false};
};

}  // namespace tessera

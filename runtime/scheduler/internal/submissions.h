// What other threads ask of a stepper: texts to be written, and texts to be cancelled.
//
//   Submissions submissions;
//   const StreamId id = submissions.Add(std::move(options));         // any thread
//   submissions.Cancel(id);
//   Submissions::Taken taken = submissions.Take();                   // the driving thread, between passes
//   submissions.BeginPass(ids);                                      // pass_cancel() becomes true once all of these are cancelled
//
// Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "tessera/runtime/scheduler/stream.h"

namespace tessera {

struct Submitted {
  StreamId id = 0;
  StreamOptions options = {};
  std::optional<StreamId> fork_of = {};   // It goes on from what this one is.
};

class Submissions {
 public:
  StreamId Add(StreamOptions options, std::optional<StreamId> fork_of = std::nullopt);
  void Cancel(StreamId stream);

  // What came since the last call, all at one moment: a text that was cancelled was submitted in this call or before it. Some of those
  // cancelled may have ended long ago.
  struct Taken {
    std::vector<Submitted> submitted = {};
    absl::flat_hash_set<StreamId> cancelled = {};
  };
  Taken Take();

  // The texts that have rows in the pass that begins now.
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

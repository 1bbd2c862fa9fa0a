// The hidden states that logits are computed of: those of the wanted rows of a finished pass.
//
//   ASSIGN_OR_RETURN(HiddenRows first, pass.Finish({0, 2}));              // model/pass.h
//   RETURN_IF_ERROR(first.Keep());                                        // lasts beyond the runner's next pass
//   ...
//   RETURN_IF_ERROR(runner->Logits({{&first, 0}, {&second, 3}}, logits)); // logits: [2, vocabulary]
//
// They lie in the runner, which must outlive this, until its next pass begins. Keep copies them: then they last as long as this.
// Move-only. Threads: those of the runner.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tessera/base/cpp20.h"

namespace tessera {

class PassRunner;

class HiddenRows {
 public:
  HiddenRows() = default;   // Those of no pass.
  HiddenRows(HiddenRows&&) = default;
  HiddenRows& operator=(HiddenRows&&) = default;

  // FailedPrecondition (found, expected) if another pass has begun; InvalidArgument if these are of no pass. Twice is once.
  absl::Status Keep();

 private:
  friend class Pass;
  friend class PassRunner;
  HiddenRows(const PassRunner* runner, int64_t pass) : runner_(runner), pass_(pass) {}
  absl::Status CheckThere() const;
  // The row's hidden state. InvalidArgument (row, found, expected) if it was not wanted, or was computed by another runner than this.
  absl::StatusOr<const float*> At(int row, const PassRunner& runner) const;

  const PassRunner* runner_ = nullptr;
  int64_t pass_ = 0;
  bool is_kept_ = false;
  std::vector<int> kept_;             // Then the numbers of the rows, ascending,
  std::vector<float> kept_states_;    // and their states, as the runner's lie.
};

}  // namespace tessera

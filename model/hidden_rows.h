// Hidden states of the wanted rows of a finished pass, ready for logits.
//
//   ASSIGN_OR_RETURN(HiddenRows first, pass.Finish({0, 2}));              // model/pass.h
//   RETURN_IF_ERROR(first.Keep());                                        // lasts beyond the runner's next pass
//   ...
//   RETURN_IF_ERROR(runner->Logits({{&first, 0}, {&second, 3}}, logits)); // logits: [2, vocabulary]
//
// The states lie in the runner, which must outlive this object, until the runner's next pass begins. Keep copies the states into this
// object. Move-only. Threads: as for the runner.
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
  HiddenRows() = default;   // Belongs to no pass.
  HiddenRows(HiddenRows&&) = default;
  HiddenRows& operator=(HiddenRows&&) = default;

  // Copies the states, so that the states outlive the runner's next pass. Returns FailedPrecondition (found, expected) if another pass has
  // begun; InvalidArgument if the rows belong to no pass. A second call does nothing.
  absl::Status Keep();

 private:
  friend class Pass;
  friend class PassRunner;
  HiddenRows(const PassRunner* runner, int64_t pass) : runner_(runner), pass_(pass) {}
  absl::Status CheckThere() const;
  // Returns the row's hidden state. Returns InvalidArgument (row, found, expected) if the row was not wanted, or if another runner computed
  // the row.
  absl::StatusOr<const float*> At(int row, const PassRunner& runner) const;

  const PassRunner* runner_ = nullptr;
  int64_t pass_ = 0;
  bool is_kept_ = false;
  std::vector<int> kept_;             // If kept: the numbers of the rows, ascending,
  std::vector<float> kept_states_;    // and the rows' states, in the runner's layout.
};

}  // namespace tessera

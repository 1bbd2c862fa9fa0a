#include "tessera/model/hidden_rows.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/internal/pass_rows.h"
#include "tessera/model/pass_runner.h"

namespace tessera {

absl::Status HiddenRows::CheckThere() const {
  if (runner_ == nullptr) return absl::InvalidArgumentError("hidden rows: found those of no pass, expected those of a finished one");
  if (is_kept_ || (pass_ == runner_->last_pass_ && !runner_->is_open_)) return absl::OkStatus();
  return absl::FailedPreconditionError("hidden rows: found a later pass, expected none since theirs, or Keep before it");
}

absl::Status HiddenRows::Keep() {
  RETURN_IF_ERROR(CheckThere());
  if (is_kept_) return absl::OkStatus();
  const absl::Span<const int> numbers = runner_->rows_->numbers();
  const BoundBuffer states = runner_->Hidden(runner_->current_);
  kept_.assign(numbers.begin(), numbers.end());
  kept_states_.assign(states.data, states.data + static_cast<int64_t>(numbers.size()) * states.row_stride);
  is_kept_ = true;
  return absl::OkStatus();
}

absl::StatusOr<const float*> HiddenRows::At(int row, const PassRunner& runner) const {
  RETURN_IF_ERROR(CheckThere());
  if (runner_ != &runner) return absl::InvalidArgumentError("hidden rows: found those of another runner, expected those of this one");
  const absl::Span<const int> rows = is_kept_ ? absl::MakeConstSpan(kept_) : runner_->rows_->numbers();
  const auto place = std::lower_bound(rows.begin(), rows.end(), row);
  if (place == rows.end() || *place != row) {
    return absl::InvalidArgumentError(
        absl::StrCat("row ", row, ": found one that was not wanted, expected one of the ", rows.size(), " that were"));
  }
  const BoundBuffer states = runner_->Hidden(runner_->current_);
  return (is_kept_ ? kept_states_.data() : states.data) + (place - rows.begin()) * states.row_stride;
}

}  // namespace tessera

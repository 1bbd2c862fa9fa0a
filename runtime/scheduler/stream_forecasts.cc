// A stream's forecasts: rows beside its tree that guess ahead of nodes, for the next draft.
#include <algorithm>
#include <iterator>

#include "tessera/runtime/engine/core.h"
#include "tessera/runtime/scheduler/stream.h"

namespace tessera {

// A forecast is of use only if at least two tokens come after the one that is chosen where the root is: one that it says, and one after
// that, which each pass gives in any case. Its position is to be in the context, as those of all rows are.
void Stream::AddForecasts(int rows, RowChoice& choice) const {
  if (speculator() == nullptr || speculator()->forecasts() == nullptr) return;
  const int most = options_.text.max_tokens, written = static_cast<int>(result_.tokens.size());
  if (most > 0 && most - written < 3) return;
  speculator()->AddForecasts({.rows = rows, .depth = core_.context() - text_->length() - 1}, choice);
}

TreeForecasts Stream::TreeForecastsNow() const {
  if (speculator() == nullptr || speculator()->forecast_nodes().empty()) return {};
  return {.placed = speculator()->forecasts(), .nodes = speculator()->forecast_nodes(), .each = speculator()->forecasts_each()};
}

void Stream::AddRowsOfForecasts(bool gone, std::vector<int>& rows) const {
  const TreeForecasts forecasts = TreeForecastsNow();
  int row = base_ + tree_->size();
  for (const int node : forecasts.nodes) {
    for (int k = 0; k < forecasts.each; ++k, ++row) {
      if (IsGone(node) == gone) rows.push_back(row);
    }
  }
}

int64_t Stream::RowsLeft() const {
  const TreeForecasts forecasts = TreeForecastsNow();
  const int64_t nodes = tree_->size() - std::count(gone_.begin(), gone_.end(), true);
  const int64_t with = std::count_if(forecasts.nodes.begin(), forecasts.nodes.end(), [this](int node) { return !IsGone(node); });
  return nodes + with * forecasts.each;
}

absl::Span<const int> Stream::WantsAhead() {
  asked_.clear();
  if (chunk_ > 0 || failed_ || last_node_ == TokenTree::kNone || verification_.node() != TokenTree::kNone || next_->last) return asked_;
  const TreeForecasts forecasts = TreeForecastsNow();
  const auto found = std::lower_bound(forecasts.nodes.begin(), forecasts.nodes.end(), last_node_);
  if (found == forecasts.nodes.end() || *found != last_node_) return asked_;
  const int first = base_ + tree_->size() + static_cast<int>(found - forecasts.nodes.begin()) * forecasts.each;
  for (int k = 0; k < forecasts.each; ++k) asked_.push_back(first + k);
  return asked_;
}

int Stream::wants_top_ahead() const { return speculator()->needs().top_of_forecasts; }

void Stream::GiveAhead(absl::Span<TopTokens> top) {
  ahead_.assign(std::make_move_iterator(top.begin()), std::make_move_iterator(top.end()));
}

}  // namespace tessera

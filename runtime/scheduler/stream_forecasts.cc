// A stream's forecasts: rows next to the tree that guess tokens ahead of nodes, for the next draft.
#include <algorithm>
#include <iterator>

#include "tessera/runtime/engine/core.h"
#include "tessera/runtime/scheduler/stream.h"

namespace tessera {

// Adds forecasts if the sequence has at least two tokens left after the token chosen at the root. The forecast predicts the first of these
// tokens; each pass gives the second anyway. A forecast's position must be in the context, like the position of every row.
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

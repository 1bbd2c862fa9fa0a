#include "tessera/runtime/engine/layer_states.h"

#include <algorithm>
#include <limits>

#include "tessera/base/status_macros.h"

namespace tessera {
namespace {

// Returns the layer's place in the listener's list; -1: the listener does not want the layer.
int IndexOf(const LayerListener& listener, int layer) {
  const absl::Span<const int> layers = listener.layers();
  const auto found = std::lower_bound(layers.begin(), layers.end(), layer);
  return found == layers.end() || *found != layer ? -1 : static_cast<int>(found - layers.begin());
}

// Gives the states after pass.layer() layers to the listeners that want these states, for the rows that are left.
absl::Status TellLayer(const Pass& pass, absl::Span<const ListeningRows> listening) {
  for (const ListeningRows& part : listening) {
    const int index = IndexOf(*part.listener, pass.layer());
    if (index < 0) continue;
    ASSIGN_OR_RETURN(const TensorView<const float> hidden, pass.Hidden());
    const absl::Span<const int> rows = pass.rows();
    const auto begin = std::lower_bound(rows.begin(), rows.end(), part.first_row);
    for (auto row = begin; row != rows.end() && *row < part.first_row + part.rows; ++row) {
      part.listener->Take(index, *row - part.first_row, {hidden.row(row - rows.begin()), static_cast<size_t>(hidden.columns())});
    }
  }
  return absl::OkStatus();
}

}  // namespace

std::vector<int> LayersWanted(absl::Span<const ListeningRows> listening) {
  std::vector<int> layers;
  for (const ListeningRows& part : listening) layers.insert(layers.end(), part.listener->layers().begin(), part.listener->layers().end());
  std::sort(layers.begin(), layers.end());
  layers.erase(std::unique(layers.begin(), layers.end()), layers.end());
  return layers;
}

absl::Status TellLayers(Pass& pass, absl::Span<const ListeningRows> listening) {
  for (const ListeningRows& part : listening) part.listener->BeginPass(part.rows);
  return TellSomeLayers(pass, listening, 0, std::numeric_limits<int>::max());
}

absl::Status TellSomeLayers(Pass& pass, absl::Span<const ListeningRows> listening, int first, int end) {
  for (const int layer : LayersWanted(listening)) {
    if (layer < first || layer >= end) continue;
    RETURN_IF_ERROR(pass.RunTo(layer));
    RETURN_IF_ERROR(TellLayer(pass, listening));
  }
  return absl::OkStatus();
}

}  // namespace tessera

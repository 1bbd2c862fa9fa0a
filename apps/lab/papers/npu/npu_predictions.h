// Predicts published figures of NPUs by the model of phones, each by its name: times, memory, shares and ratios, from profiles alone.
//
//   ASSIGN_OR_RETURN(const std::vector<Prediction> predictions, PredictNpuFigures(profiles, NpuAssumptions(), models));
//   for (const Prediction& prediction : predictions) Print(prediction.id, prediction.low, prediction.high, prediction.asked);
//
// Each prediction says how it was asked: phone, style, shape, recipe, rows, positions. Phones are those of the papers. Both versions of
// sd.npu: the Redmi K60 Pro (8gen2), the Redmi K70 Pro (8gen3) and the OnePlus 13 (8elite) with graphs that share no weights. The test-time
// scaling paper: the OnePlus 12 (8gen3) by mailbox. The one-for-all paper: the S24 (8gen3) with static graphs that share weights. No
// published figure is known here (published.h has them). The questions follow from the papers' descriptions; where a description has gaps,
// from NpuAssumptions. Figures about a grid are the least and the most over the grid.
// Pure functions, except for the models that `models` caches: threads one at a time.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tessera/apps/lab/papers/figures/coster_cache.h"

namespace tessera {

// Facts that no paper states about its requests, which have "1-2K tokens" of context (sd.npu, section 1), and answers of some length.
struct NpuAssumptions {
  int prompt_tokens = 1024;
  int answer_tokens = 128;
  // The CPU's attention takes only the rows of a static graph that hold a token, not all rows. Neither paper says which. The model was made
  // and published with all rows. In a request that decodes token by token, one row of 32 holds a token.
  bool held_attention = false;
};

// One assumption, and the range of its possible values.
struct NpuAssumption {
  const char* name;
  int NpuAssumptions::* value;
  int low, high;
};
absl::Span<const NpuAssumption> NpuAssumptionRanges();

struct Prediction {
  std::string id = {};
  double low = 0, high = 0;      // Equal except for grids; in the unit of the published figure.
  std::string asked = {};
  bool near_calibration = false; // Figures that parameters were fitted to have the same graph and phone.
};

// Returns predictions in no particular order, each id once. NotFound for a set without the papers' phones; the errors of costs.
absl::StatusOr<std::vector<Prediction>> PredictNpuFigures(const ProfileSet& profiles, const NpuAssumptions& assumptions,
                                                          KnownModels& models);

}  // namespace tessera

// What the model of phones says to published figures of NPUs, each by its name: times, memory, shares and ratios, from profiles alone.
//
//   ASSIGN_OR_RETURN(const std::vector<Prediction> predictions, PredictNpuFigures(profiles, NpuAssumptions(), models));
//   for (const Prediction& prediction : predictions) Print(prediction.id, prediction.low, prediction.high, prediction.asked);
//
// Each says how it was asked: phone, style, shape, recipe, rows, positions. Phones are those of the papers: 000 and 003 the Redmi K60 Pro
// (8gen2), the Redmi K70 Pro (8gen3) and the OnePlus 13 (8elite) with graphs that share no weights; 001 the OnePlus 12 (8gen3) by mailbox;
// 004 the S24 (8gen3) with static graphs that share theirs. No published figure is known here (those are in published.h): what is asked
// follows from what the papers say they did and, where they do not say it, from NpuAssumptions. Figures about a grid are the least and the
// most over it. Pure functions, but for what `models` keeps: threads one at a time.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tessera/apps/lab/papers/figures/coster_cache.h"

namespace tessera {

// What no paper says about its requests: they have "1-2K tokens" of context (000, section 1), and answers of some length.
struct NpuAssumptions {
  int prompt_tokens = 1024;
  int answer_tokens = 128;
  // The CPU's attention takes the rows of a static graph that hold something, and not all of them. Neither paper says; the model was made
  // and published with all of them. In a request that decodes token by token that is one row of 32.
  bool held_attention = false;
};

// One of them, and what it may be instead.
struct NpuAssumption {
  const char* name;
  int NpuAssumptions::* value;
  int low, high;
};
absl::Span<const NpuAssumption> NpuAssumptionRanges();

struct Prediction {
  std::string id = {};
  double low = 0, high = 0;      // Equal but for grids; in the unit of the published figure.
  std::string asked = {};
  bool near_calibration = false; // Its graph and phone are those of figures that parameters were fitted to.
};

// In no order that means anything, each id once. NotFound for a set without the papers' phones; the errors of costs.
absl::StatusOr<std::vector<Prediction>> PredictNpuFigures(const ProfileSet& profiles, const NpuAssumptions& assumptions,
                                                          KnownModels& models);

}  // namespace tessera

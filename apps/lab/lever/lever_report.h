// The findings of tessera_lever as tables, as JSON and as a chart.
//
//   RETURN_IF_ERROR(WriteOutput(LeverText(findings, {.reliability = true})));
//   WriteLever(json.Key("lever"), findings, {});
//   RETURN_IF_ERROR(WriteTextFile("reliability.svg", ReliabilitySvg(findings)));
//
// A set's figure counts all sequences of the set together, and is the median over repetitions. Ratios are taken within a repetition. For a
// system that was swept, the tables show the variant with the highest geometric mean. A table of its own shows all variants. Pure
// functions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tessera/apps/lab/lever/lever_run.h"
#include "tessera/base/json_writer.h"

namespace tessera {

struct LeverShow {
  bool reliability = false;
};

// Figures of one system over one set, or geometric means over all sets. In the second case, shares and counts are over all sequences.
struct LeverFigures {
  double tokens_per_second = 0;
  LeverTotals totals = {};                   // Over all repetitions.
  std::optional<double> of_flash_ar = {};    // Tokens per second, divided by plain decoding's. nullopt: plain decoding was not measured.
  std::optional<double> lever_over = {};     // Lever's tokens per second, divided by this system's. nullopt: lever was not measured.
};

// Returns the best variant of each system, in the order of the systems.
std::vector<size_t> BestVariants(const LeverFindings& findings);
LeverFigures FiguresOf(const LeverFindings& findings, size_t system, size_t set);
LeverFigures FiguresOverSets(const LeverFindings& findings, size_t system);

std::string LeverText(const LeverFindings& findings, const LeverShow& show);
// Writes {"systems": [{"system", "variant", "shown", "pruning" (lever_pruning.h), "sets": [{"set", ...}], "all": {...}}], "sets": [...],
// "streams", "memory_bytes": {...}, "auto": {"is", "predicted"} if auto is one of the systems, "reliability"}. Unknown values are null.
void WriteLever(JsonWriter& json, const LeverFindings& findings, const LeverShow& show);
// Returns a chart of the acceptance of lever's draft tokens, observed next to expected. REQUIRES: lever is one of the systems.
std::string ReliabilitySvg(const LeverFindings& findings);

}  // namespace tessera

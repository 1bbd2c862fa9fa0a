// The findings of tessera_lever as tables, as JSON and as a picture.
//
//   RETURN_IF_ERROR(WriteOutput(LeverText(findings, {.reliability = true})));
//   WriteLever(json.Key("lever"), findings, {});
//   RETURN_IF_ERROR(WriteTextFile("reliability.svg", ReliabilitySvg(findings)));
//
// A figure of a set is that of all its texts together, the median over repetitions; ratios are taken within a repetition. Where a
// system was swept, its variant with the highest geometric mean stands in the tables, and all of them in one of their own. Pure functions.
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

// One system's over one set, or the geometric means over all sets; shares and counts are then those of all texts.
struct LeverFigures {
  double tokens_per_second = 0;
  LeverTotals totals = {};                   // Over all repetitions.
  std::optional<double> of_flash_ar = {};    // Its tokens per second over those of plain decoding. Not there: that was not measured.
  std::optional<double> lever_over = {};     // Those of lever over its own. Likewise.
};

// One of each system, in their order.
std::vector<size_t> BestVariants(const LeverFindings& findings);
LeverFigures FiguresOf(const LeverFindings& findings, size_t system, size_t set);
LeverFigures FiguresOverSets(const LeverFindings& findings, size_t system);

std::string LeverText(const LeverFindings& findings, const LeverShow& show);
// {"systems": [{"system", "variant", "shown", "pruning" (lever_pruning.h), "sets": [{"set", ...}], "all": {...}}], "sets": [...],
// "streams", "memory_bytes": {...}, "auto": {"is", "predicted"} if it is one of the systems, "reliability"}.
// What is not known is null.
void WriteLever(JsonWriter& json, const LeverFindings& findings, const LeverShow& show);
// How often guesses of lever's draft came true, beside what was expected. REQUIRES: lever is one of the systems.
std::string ReliabilitySvg(const LeverFindings& findings);

}  // namespace tessera

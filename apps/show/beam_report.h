// What a person is told about a beam search, and its result as JSON.
//
//   WriteError(BeamTable(written, scorer->name()));                   // --stats: a row for each step that was kept
//   WriteBeams(json, beams, scorer->name(), written);                 // members of the current object
//
// Pure functions.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "tessera/base/json_writer.h"
#include "tessera/runtime/scale/beam_run.h"

namespace tessera {

// "4x4".
std::string BeamShapeText(const BeamOptions& beams);

// For each step that was kept its number, its beam, the beam of the step before that it goes on from (-: the prompt), its score, whether
// the text ended with it, and how it begins. Then a line: "14 of 64 steps kept, scored by self_certainty in 0.84 s; 12.3 rows per pass".
std::string BeamTable(const BeamTexts& written, absl::string_view scorer);

// "beam": "4x4", "scorer", "score", "steps", "passes", "rows", "scoring_seconds", and "texts": all that the search ended with, each with
// "text", "finish", "tokens" (their number), "score", "mean_log_probability", "self_certainty", "path". A score that is no number is null.
void WriteBeams(JsonWriter& json, const BeamOptions& beams, absl::string_view scorer, const BeamTexts& written);

}  // namespace tessera

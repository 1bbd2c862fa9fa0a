// A report about a beam search for a person, and the result as JSON.
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

// Returns "4x4".
std::string BeamShapeText(const BeamOptions& beams);

// Returns a table with a row for each kept step. A row has the step's number, the beam, and the previous step's beam that the step
// continues (-: the prompt). Next come the score, whether the text ended with the step, and the start of the step's text. Then a line: "14
// of 64 steps kept, scored by self_certainty in 0.84 s; 12.3 rows per pass".
std::string BeamTable(const BeamTexts& written, absl::string_view scorer);

// Adds "beam": "4x4", "scorer", "score", "steps", "passes", "rows", "scoring_seconds" and "texts" to the current object. "texts" has all
// final texts of the search. Each has "text", "finish", "tokens" (the number of tokens), "score", "mean_log_probability", "self_certainty"
// and "path". A score that is no number is null.
void WriteBeams(JsonWriter& json, const BeamOptions& beams, absl::string_view scorer, const BeamTexts& written);

}  // namespace tessera

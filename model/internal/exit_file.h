// Reads files of scripts/train/exit_predictor.py: texts with a map's kind and layer, and one tensor. Serves predictors (exit_predictor.h)
// and maps before a norm (exit_map.h).
//
//   ASSIGN_OR_RETURN(const std::string kind, ExitText(file, "kind", {kExitVocabulary, kExitWidth}));
//   ASSIGN_OR_RETURN(const int layer, ExitNumber(file, "layer", 1, layers - 1));
//   ASSIGN_OR_RETURN(FileMatrix map, ReadExitMap(file, width));
//
// Errors: InvalidArgument with file, text or tensor, found and expected. Thread-safe (pure functions).
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tessera/model/files/safetensors.h"
#include "tessera/model/internal/file_matrix.h"

namespace tessera {

inline constexpr absl::string_view kExitVocabulary = "vocabulary", kExitWidth = "width";   // The kinds.

// Returns the file's text for `key`, which must be one of `expected`. A missing text is an error.
absl::StatusOr<std::string> ExitText(const SafetensorsFile& file, absl::string_view key, absl::Span<const absl::string_view> expected);
absl::StatusOr<int> ExitNumber(const SafetensorsFile& file, absl::string_view key, int least, int most);

// Finds predictor.weight, [vocabulary, width], which must be alone in the file. The type is not checked.
absl::StatusOr<const SafetensorsTensor*> FindExitRows(const SafetensorsFile& file, int64_t vocabulary, int64_t width);
// Reads predictor.map, [width, width], which must be alone in the file.
absl::StatusOr<FileMatrix> ReadExitMap(const SafetensorsFile& file, int64_t width);

}  // namespace tessera

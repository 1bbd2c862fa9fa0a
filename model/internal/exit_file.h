// What files of scripts/train/exit_predictor.py hold: texts that say of which kind a map is and where it comes, and its one tensor.
// Predictors (exit_predictor.h) and maps before a norm (exit_map.h) are read by it.
//
//   ASSIGN_OR_RETURN(const std::string kind, ExitText(file, "kind", {kExitVocabulary, kExitWidth}));
//   ASSIGN_OR_RETURN(const int layer, ExitNumber(file, "layer", 1, layers - 1));
//   ASSIGN_OR_RETURN(FileMatrix map, ReadExitMap(file, width));
//
// Errors are InvalidArgument with file, text or tensor, found and expected. Thread-safe (pure functions).
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

// What the file says for `key`, which is one of these. A file that says nothing is wrong.
absl::StatusOr<std::string> ExitText(const SafetensorsFile& file, absl::string_view key, absl::Span<const absl::string_view> expected);
absl::StatusOr<int> ExitNumber(const SafetensorsFile& file, absl::string_view key, int least, int most);

// predictor.weight, [vocabulary, width], alone in the file; its type is not looked at.
absl::StatusOr<const SafetensorsTensor*> FindExitRows(const SafetensorsFile& file, int64_t vocabulary, int64_t width);
// predictor.map, [width, width], alone in the file.
absl::StatusOr<FileMatrix> ReadExitMap(const SafetensorsFile& file, int64_t width);

}  // namespace tessera

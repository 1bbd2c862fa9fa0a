// Reads and checks lines of recordings and their fields, for files of drafts (recording.h) and of draft models (draft_recording.h).
//
//   ASSIGN_OR_RETURN(const std::vector<JsonValue> lines, RecordingLines(text, "sam.jsonl"));
//   RETURN_IF_ERROR(CheckKeys(lines[0], {"drafter", "command"}));
//   ASSIGN_OR_RETURN(recording.command, PrintableField(lines[0], "command"));
//
// Errors are InvalidArgument with source, line, field, found and expected. Thread-safe (pure functions).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tessera/apps/lab/papers/record/recording.h"
#include "tessera/base/json.h"
#include "tessera/base/named_text.h"

namespace tessera {

inline constexpr int64_t kMostRecordingBytes = int64_t{16} << 20;
inline constexpr int64_t kMostRecordedRows = 512, kMostRecordedTokens = int64_t{1} << 20, kMostRecordedPrompt = int64_t{1} << 24;

// Returns each line as JSON. An error for fewer than two: the first describes the recording, and each other is a text.
absl::StatusOr<std::vector<JsonValue>> RecordingLines(absl::string_view text, absl::string_view source);

// Checks that `line` is an object with these keys, and no others.
absl::Status CheckKeys(const JsonValue& line, const std::vector<absl::string_view>& known);

// Returns a text that is shown to people: not empty, and without control characters for a terminal.
absl::StatusOr<std::string> PrintableField(const JsonValue& line, absl::string_view key);
// Returns a SHA-256.
absl::StatusOr<std::string> HashField(const JsonValue& line, absl::string_view key);
// Returns one of these words.
absl::StatusOr<std::string> WordField(const JsonValue& line, absl::string_view key, absl::Span<const char* const> words);
// Returns an integer from 1 to `most`.
absl::StatusOr<int> CountField(const JsonValue& line, absl::string_view key, int64_t most);
// Reads [[drafted, accepted], ...]: passes of at most most_rows rows that together give all tokens except the first, and all of which are
// needed.
absl::StatusOr<std::vector<RecordedPass>> PassesField(const JsonValue& line, absl::string_view key, int tokens, int most_rows);

// Returns the built-in text of that name. NotFound (found, existing names).
absl::StatusOr<const NamedText*> BuiltInNamed(absl::Span<const NamedText> texts, absl::string_view name);

}  // namespace tessera

// Lines of recordings and their fields, checked: what files of drafts (recording.h) and of draft models (draft_recording.h) have in common.
//
//   ASSIGN_OR_RETURN(const std::vector<JsonValue> lines, RecordingLines(text, "sam.jsonl"));
//   RETURN_IF_ERROR(CheckKeys(lines[0], {"drafter", "command"}));
//   ASSIGN_OR_RETURN(recording.command, PrintableField(lines[0], "command"));
//
// Errors are InvalidArgument: source, line, field, what was found and what was expected. Thread-safe (pure functions).
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

// Each line as JSON. An error for fewer than two: the first says what was recorded, and each other is a text.
absl::StatusOr<std::vector<JsonValue>> RecordingLines(absl::string_view text, absl::string_view source);

// An object with these keys, and no others.
absl::Status CheckKeys(const JsonValue& line, const std::vector<absl::string_view>& known);

// A text that is shown to people, so it says something, and controls no terminal.
absl::StatusOr<std::string> PrintableField(const JsonValue& line, absl::string_view key);
// A SHA-256.
absl::StatusOr<std::string> HashField(const JsonValue& line, absl::string_view key);
// One of these words.
absl::StatusOr<std::string> WordField(const JsonValue& line, absl::string_view key, absl::Span<const char* const> words);
// An integer from 1 to `most`.
absl::StatusOr<int> CountField(const JsonValue& line, absl::string_view key, int64_t most);
// [[drafted, accepted], ...]: passes of at most most_rows rows that together give all tokens but the first, none of them for nothing.
absl::StatusOr<std::vector<RecordedPass>> PassesField(const JsonValue& line, absl::string_view key, int tokens, int most_rows);

// The built-in text of that name. NotFound (found, the names that there are).
absl::StatusOr<const NamedText*> BuiltInNamed(absl::Span<const NamedText> texts, absl::string_view name);

}  // namespace tessera

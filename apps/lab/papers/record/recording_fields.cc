#include "tessera/apps/lab/papers/record/recording_fields.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "tessera/base/nearest_name.h"
#include "tessera/base/quoted.h"
#include "tessera/base/sha256.h"
#include "tessera/base/status_macros.h"

namespace tessera {
namespace {

constexpr size_t kMostTextBytes = 4096;

absl::StatusOr<std::string> StringOf(const JsonValue& line, absl::string_view key) {
  ASSIGN_OR_RETURN(const JsonValue value, line.Value(key));
  return value.AsString();
}

absl::Status Wrong(const JsonValue& line, absl::string_view key, absl::string_view found, absl::string_view expected) {
  ASSIGN_OR_RETURN(const JsonValue value, line.Value(key));
  return value.Error(Quoted(found), expected);
}

// [drafted, accepted].
absl::StatusOr<RecordedPass> PassOf(const JsonValue& pair, int most_rows) {
  ASSIGN_OR_RETURN(const std::vector<int64_t> counts, pair.AsInts(0, most_rows - 1));
  if (counts.size() != 2) return pair.Error(absl::StrCat(counts.size(), " numbers"), "2: drafted and accepted");
  if (counts[1] > counts[0]) return pair[1].Error(absl::StrCat(counts[1]), absl::StrCat("at most ", counts[0], ", which were drafted"));
  return RecordedPass{static_cast<int>(counts[0]), static_cast<int>(counts[1])};
}

}  // namespace

absl::StatusOr<std::vector<JsonValue>> RecordingLines(absl::string_view text, absl::string_view source) {
  std::vector<absl::string_view> lines = absl::StrSplit(text, '\n');
  if (lines.back().empty()) lines.pop_back();   // After the last line's end.
  if (lines.size() < 2) {
    return absl::InvalidArgumentError(
        absl::StrCat(source, ": found ", lines.size(), " lines, expected one that says what was recorded, and one for each text"));
  }
  std::vector<JsonValue> values;
  for (size_t i = 0; i < lines.size(); ++i) {
    ASSIGN_OR_RETURN(JsonValue line, JsonValue::Parse(lines[i], absl::StrCat(source, ", line ", i + 1)));
    values.push_back(std::move(line));
  }
  return values;
}

absl::Status CheckKeys(const JsonValue& line, const std::vector<absl::string_view>& known) {
  if (!line.is_object()) return line.Error(JsonKindName(line.kind()), "an object");
  for (const std::string& key : line.Keys()) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    ASSIGN_OR_RETURN(const JsonValue value, line.Value(key));
    const std::string meant = DidYouMean(key, {known.begin(), known.end()});
    return value.Error("a field that is not known", absl::StrCat(absl::StrJoin(known, ", "), meant));
  }
  for (const absl::string_view key : known) {
    const absl::Status missing = line.Value(key).status();
    if (!missing.ok()) return absl::InvalidArgumentError(missing.message());
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> PrintableField(const JsonValue& line, absl::string_view key) {
  ASSIGN_OR_RETURN(std::string text, StringOf(line, key));
  if (!text.empty() && text.size() <= kMostTextBytes && IsPrintableUtf8(text)) return text;
  return Wrong(line, key, text, absl::StrCat("printable text of 1 to ", kMostTextBytes, " bytes"));
}

absl::StatusOr<std::string> HashField(const JsonValue& line, absl::string_view key) {
  ASSIGN_OR_RETURN(std::string text, StringOf(line, key));
  if (Sha256Sum::Parse(text).has_value()) return text;
  return Wrong(line, key, text, "a SHA-256: 64 digits, 0 to 9 and a to f");
}

absl::StatusOr<std::string> WordField(const JsonValue& line, absl::string_view key, absl::Span<const char* const> words) {
  ASSIGN_OR_RETURN(std::string word, StringOf(line, key));
  if (std::find(words.begin(), words.end(), word) != words.end()) return word;
  return Wrong(line, key, word, absl::StrCat("one of ", absl::StrJoin(words, ", ")));
}

absl::StatusOr<int> CountField(const JsonValue& line, absl::string_view key, int64_t most) {
  ASSIGN_OR_RETURN(const int64_t count, line.Int(key, 1, most));
  return static_cast<int>(count);
}

// Reads passes. The prompt's own pass gives the first token.
absl::StatusOr<std::vector<RecordedPass>> PassesField(const JsonValue& line, absl::string_view key, int tokens, int most_rows) {
  ASSIGN_OR_RETURN(const JsonValue list, line.Array(key));
  std::vector<RecordedPass> passes;
  int64_t given = 1;
  for (int64_t i = 0; i < list.size(); ++i) {
    if (given >= tokens) return list[i].Error("one more pass", absl::StrCat("only ", i, ": they give all ", tokens, " tokens"));
    ASSIGN_OR_RETURN(const RecordedPass pass, PassOf(list[i], most_rows));
    given += pass.accepted + 1;
    passes.push_back(pass);
  }
  if (given < tokens) return list.Error(absl::StrCat("passes for ", given, " tokens"), absl::StrCat("passes for ", tokens));
  return passes;
}

absl::StatusOr<const NamedText*> BuiltInNamed(absl::Span<const NamedText> texts, absl::string_view name) {
  const auto found = std::find_if(texts.begin(), texts.end(), [&](const NamedText& text) { return text.name == name; });
  if (found != texts.end()) return &*found;
  const std::string names = texts.empty() ? "some to be built in: there are none" : "one of " + absl::StrJoin(NamesOf(texts), ", ");
  return absl::NotFoundError(absl::StrCat("recording: found ", Quoted(name), ", expected ", names));
}

}  // namespace tessera

#include "tessera/apps/reproduce/recording.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/types/span.h"
#include "tessera/apps/reproduce/sha256.h"
#include "tessera/base/file.h"
#include "tessera/base/json.h"
#include "tessera/base/json_writer.h"
#include "tessera/base/named_text.h"
#include "tessera/base/quoted.h"
#include "tessera/base/status_macros.h"

namespace tessera {
namespace {

constexpr int64_t kMostFileBytes = int64_t{16} << 20;
constexpr size_t kMostTextBytes = 4096;
constexpr int64_t kMostRows = 512, kMostTokens = int64_t{1} << 20, kMostPromptTokens = int64_t{1} << 24;
constexpr const char* kTasks[] = {"summary", "rag", "ui", "reply"};

using Keys = std::vector<absl::string_view>;

// None at all where the folder has no recordings.
absl::Span<const NamedText> BuiltInTexts() {
  static const auto* const texts = new std::vector<NamedText>{
#include "tessera/apps/reproduce/recordings.inc"
  };
  return *texts;
}

absl::Status CheckKeys(const JsonValue& line, const Keys& known) {
  if (!line.is_object()) return line.Error(JsonKindName(line.kind()), "an object");
  for (const std::string& key : line.Keys()) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    ASSIGN_OR_RETURN(const JsonValue value, line.Value(key));
    return value.Error("a field that is not known", absl::StrJoin(known, ", "));
  }
  for (const absl::string_view key : known) {
    const absl::Status missing = line.Value(key).status();
    if (!missing.ok()) return absl::InvalidArgumentError(missing.message());
  }
  return absl::OkStatus();
}

// Texts are shown to people, so they say something, and control no terminal.
absl::StatusOr<std::string> TextOf(const JsonValue& line, absl::string_view key) {
  ASSIGN_OR_RETURN(const JsonValue value, line.Value(key));
  ASSIGN_OR_RETURN(std::string text, value.AsString());
  if (!text.empty() && text.size() <= kMostTextBytes && IsPrintableUtf8(text)) return text;
  return value.Error(Quoted(text), absl::StrCat("printable text of 1 to ", kMostTextBytes, " bytes"));
}

absl::StatusOr<std::string> HashOf(const JsonValue& line, absl::string_view key) {
  ASSIGN_OR_RETURN(const JsonValue value, line.Value(key));
  ASSIGN_OR_RETURN(std::string text, value.AsString());
  if (IsSha256(text)) return text;
  return value.Error(Quoted(text), "a SHA-256: 64 digits, 0 to 9 and a to f");
}

absl::StatusOr<std::string> TaskOf(const JsonValue& line) {
  ASSIGN_OR_RETURN(const JsonValue value, line.Value("task"));
  ASSIGN_OR_RETURN(std::string task, value.AsString());
  if (std::find(std::begin(kTasks), std::end(kTasks), task) != std::end(kTasks)) return task;
  return value.Error(Quoted(task), absl::StrCat("one of ", absl::StrJoin(kTasks, ", ")));
}

absl::StatusOr<int> CountOf(const JsonValue& line, absl::string_view key, int64_t most) {
  ASSIGN_OR_RETURN(const int64_t count, line.Int(key, 1, most));
  return static_cast<int>(count);
}

// [drafted, accepted].
absl::StatusOr<RecordedPass> PassOf(const JsonValue& pair, int most_rows) {
  ASSIGN_OR_RETURN(const std::vector<int64_t> counts, pair.AsInts(0, most_rows - 1));
  if (counts.size() != 2) return pair.Error(absl::StrCat(counts.size(), " numbers"), "2: drafted and accepted");
  if (counts[1] > counts[0]) return pair[1].Error(absl::StrCat(counts[1]), absl::StrCat("at most ", counts[0], ", which were drafted"));
  return RecordedPass{static_cast<int>(counts[0]), static_cast<int>(counts[1])};
}

// The prompt's own pass gives the first token.
absl::StatusOr<std::vector<RecordedPass>> PassesOf(const JsonValue& line, int tokens, int most_rows) {
  ASSIGN_OR_RETURN(const JsonValue list, line.Array("passes"));
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

absl::StatusOr<Recording> HeaderOf(const JsonValue& line) {
  RETURN_IF_ERROR(CheckKeys(line, {"drafter", "command", "model", "model_sha256", "most_rows"}));
  Recording recording;
  ASSIGN_OR_RETURN(recording.drafter, TextOf(line, "drafter"));
  ASSIGN_OR_RETURN(recording.command, TextOf(line, "command"));
  ASSIGN_OR_RETURN(recording.model, TextOf(line, "model"));
  ASSIGN_OR_RETURN(recording.model_sha256, HashOf(line, "model_sha256"));
  ASSIGN_OR_RETURN(recording.most_rows, CountOf(line, "most_rows", kMostRows));
  return recording;
}

// Together at most as many as passes that rejected something.
absl::Status ReadRejections(const JsonValue& line, RecordedText& text) {
  int64_t left = std::count_if(text.passes.begin(), text.passes.end(),
                               [](const RecordedPass& pass) { return pass.accepted < pass.drafted; });
  const std::pair<absl::string_view, int*> fields[] = {
      {"missing", &text.missing}, {"synonym", &text.synonym}, {"redundant", &text.redundant}};
  for (const auto& [key, field] : fields) {
    ASSIGN_OR_RETURN(const int64_t count, line.Int(key, 0, left));
    *field = static_cast<int>(count);
    left -= count;
  }
  return absl::OkStatus();
}

absl::StatusOr<RecordedText> RecordedTextOf(const JsonValue& line, int most_rows) {
  RETURN_IF_ERROR(CheckKeys(line, {"task", "id", "prompt_sha256", "prompt_tokens", "tokens", "passes", "missing", "synonym", "redundant"}));
  RecordedText text;
  ASSIGN_OR_RETURN(text.task, TaskOf(line));
  ASSIGN_OR_RETURN(text.id, TextOf(line, "id"));
  ASSIGN_OR_RETURN(text.prompt_sha256, HashOf(line, "prompt_sha256"));
  ASSIGN_OR_RETURN(text.prompt_tokens, CountOf(line, "prompt_tokens", kMostPromptTokens));
  ASSIGN_OR_RETURN(text.tokens, CountOf(line, "tokens", kMostTokens));
  ASSIGN_OR_RETURN(text.passes, PassesOf(line, text.tokens, most_rows));
  RETURN_IF_ERROR(ReadRejections(line, text));
  return text;
}

std::string HeaderLine(const Recording& recording) {
  JsonWriter json;
  json.BeginObject().Key("drafter").String(recording.drafter).Key("command").String(recording.command);
  json.Key("model").String(recording.model).Key("model_sha256").String(recording.model_sha256);
  json.Key("most_rows").Int(recording.most_rows).EndObject();
  return std::move(json).Take();
}

std::string TextLine(const RecordedText& text) {
  JsonWriter json;
  json.BeginObject().Key("task").String(text.task).Key("id").String(text.id).Key("prompt_sha256").String(text.prompt_sha256);
  json.Key("prompt_tokens").Int(text.prompt_tokens).Key("tokens").Int(text.tokens).Key("passes").BeginArray();
  for (const RecordedPass& pass : text.passes) json.BeginArray().Int(pass.drafted).Int(pass.accepted).EndArray();
  json.EndArray().Key("missing").Int(text.missing).Key("synonym").Int(text.synonym).Key("redundant").Int(text.redundant).EndObject();
  return std::move(json).Take();
}

}  // namespace

double Recording::MeanTokens(absl::string_view task) const {
  int64_t tokens = 0, passes = 0;
  for (const RecordedText& text : texts) {
    if (!task.empty() && text.task != task) continue;
    tokens += text.tokens - 1;
    passes += static_cast<int64_t>(text.passes.size());
  }
  return passes == 0 ? 1 : static_cast<double>(tokens) / static_cast<double>(passes);
}

absl::StatusOr<Recording> ParseRecording(absl::string_view text, absl::string_view source) {
  std::vector<absl::string_view> lines = absl::StrSplit(text, '\n');
  if (lines.back().empty()) lines.pop_back();   // After the last line's end.
  if (lines.size() < 2) {
    return absl::InvalidArgumentError(
        absl::StrCat(source, ": found ", lines.size(), " lines, expected one that says what was recorded, and one for each text"));
  }
  Recording recording;
  for (size_t i = 0; i < lines.size(); ++i) {
    ASSIGN_OR_RETURN(const JsonValue line, JsonValue::Parse(lines[i], absl::StrCat(source, ", line ", i + 1)));
    if (i == 0) {
      ASSIGN_OR_RETURN(recording, HeaderOf(line));
    } else {
      ASSIGN_OR_RETURN(recording.texts.emplace_back(), RecordedTextOf(line, recording.most_rows));
    }
  }
  return recording;
}

absl::StatusOr<Recording> ReadRecording(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadFileToString(path, kMostFileBytes));
  return ParseRecording(text, path);
}

std::string RecordingText(const Recording& recording) {
  std::string text = absl::StrCat(HeaderLine(recording), "\n");
  for (const RecordedText& each : recording.texts) absl::StrAppend(&text, TextLine(each), "\n");
  return text;
}

absl::StatusOr<Recording> BuiltInRecording(absl::string_view drafter) {
  const absl::Span<const NamedText> texts = BuiltInTexts();
  const auto found = std::find_if(texts.begin(), texts.end(), [&](const NamedText& text) { return text.name == drafter; });
  if (found == texts.end()) {
    const std::string names = absl::StrJoin(NamesOf(texts), ", ");
    return absl::NotFoundError(absl::StrCat("recording: found ", Quoted(drafter), ", expected one of ", names));
  }
  const std::string source = absl::StrCat(found->name, ".jsonl");
  ASSIGN_OR_RETURN(Recording recording, ParseRecording(found->text, source));
  if (recording.drafter == drafter) return recording;
  return absl::InvalidArgumentError(absl::StrCat(source, ", line 1: drafter: found ", Quoted(recording.drafter), ", expected ", drafter));
}

}  // namespace tessera

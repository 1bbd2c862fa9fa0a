#include "tessera/apps/lab/papers/record/recording.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "tessera/apps/lab/papers/record/recording_fields.h"
#include "tessera/base/file.h"
#include "tessera/base/json.h"
#include "tessera/base/json_writer.h"
#include "tessera/base/named_text.h"
#include "tessera/base/quoted.h"
#include "tessera/base/status_macros.h"

namespace tessera {
namespace {

constexpr const char* kTasks[] = {"summary", "rag", "ui", "reply"};

// Returns the built-in texts; none if the folder has no recordings.
absl::Span<const NamedText> BuiltInTexts() {
  static const auto* const texts = new std::vector<NamedText>{
#include "tessera/apps/lab/papers/record/recordings.inc"
  };
  return *texts;
}

absl::StatusOr<Recording> HeaderOf(const JsonValue& line) {
  RETURN_IF_ERROR(CheckKeys(line, {"drafter", "command", "model", "model_sha256", "most_rows"}));
  Recording recording;
  ASSIGN_OR_RETURN(recording.drafter, PrintableField(line, "drafter"));
  ASSIGN_OR_RETURN(recording.command, PrintableField(line, "command"));
  ASSIGN_OR_RETURN(recording.model, PrintableField(line, "model"));
  ASSIGN_OR_RETURN(recording.model_sha256, HashField(line, "model_sha256"));
  ASSIGN_OR_RETURN(recording.most_rows, CountField(line, "most_rows", kMostRecordedRows));
  return recording;
}

// Reads rejections: together at most the number of passes that rejected a draft.
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
  ASSIGN_OR_RETURN(text.task, WordField(line, "task", kTasks));
  ASSIGN_OR_RETURN(text.id, PrintableField(line, "id"));
  ASSIGN_OR_RETURN(text.prompt_sha256, HashField(line, "prompt_sha256"));
  ASSIGN_OR_RETURN(text.prompt_tokens, CountField(line, "prompt_tokens", kMostRecordedPrompt));
  ASSIGN_OR_RETURN(text.tokens, CountField(line, "tokens", kMostRecordedTokens));
  ASSIGN_OR_RETURN(text.passes, PassesField(line, "passes", text.tokens, most_rows));
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
  ASSIGN_OR_RETURN(const std::vector<JsonValue> lines, RecordingLines(text, source));
  ASSIGN_OR_RETURN(Recording recording, HeaderOf(lines[0]));
  for (size_t i = 1; i < lines.size(); ++i) {
    ASSIGN_OR_RETURN(recording.texts.emplace_back(), RecordedTextOf(lines[i], recording.most_rows));
  }
  return recording;
}

absl::StatusOr<Recording> ReadRecording(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadFileToString(path, kMostRecordingBytes));
  return ParseRecording(text, path);
}

std::string RecordingText(const Recording& recording) {
  std::string text = absl::StrCat(HeaderLine(recording), "\n");
  for (const RecordedText& each : recording.texts) absl::StrAppend(&text, TextLine(each), "\n");
  return text;
}

absl::StatusOr<Recording> BuiltInRecording(absl::string_view drafter) {
  ASSIGN_OR_RETURN(const NamedText* const found, BuiltInNamed(BuiltInTexts(), drafter));
  const std::string source = absl::StrCat(found->name, ".jsonl");
  ASSIGN_OR_RETURN(Recording recording, ParseRecording(found->text, source));
  if (recording.drafter == drafter) return recording;
  return absl::InvalidArgumentError(absl::StrCat(source, ", line 1: drafter: found ", Quoted(recording.drafter), ", expected ", drafter));
}

}  // namespace tessera

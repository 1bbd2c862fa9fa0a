#include "tessera/apps/lab/scale/tasks/sample_file.h"

#include <map>
#include <optional>
#include <utility>

#include "absl/hash/hash.h"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "tessera/base/json_writer.h"
#include "tessera/base/line_file.h"
#include "tessera/base/quoted.h"
#include "tessera/base/status_macros.h"

namespace tessera {
namespace {

size_t HashOfText(absl::string_view text) { return absl::HashOf(text); }

void WriteMembers(const Sample& sample, JsonWriter& json) {
  json.Key("text").String(sample.text).Key("finish").String(sample.finish).Key("tokens").Int(sample.tokens);
  json.Key("mean_log_probability").Double(sample.mean_log_probability, 9).Key("self_certainty").Double(sample.self_certainty, 9);
}

}  // namespace

absl::Status CheckSampleSettings(const JsonValue& record, const std::string& settings) {
  ASSIGN_OR_RETURN(const std::string found, record.String("settings"));
  if (found == settings) return absl::OkStatus();
  ASSIGN_OR_RETURN(const JsonValue value, record.Value("settings"));
  return value.Error(Printable(found), absl::StrCat(Printable(settings), ", those of this run"));
}

struct SampleFile::State {
  State(LineFile of, std::string its_settings) : settings(std::move(its_settings)), file(std::move(of)) {}

  // Reads the existing lines. Cuts off a last line without an end.
  absl::Status Read() {
    RETURN_IF_ERROR(file.ForEachLine([this](absl::string_view line, int64_t number) { return TakeLine(line, number); }));
    return file.CutRest();
  }
  absl::Status TakeLine(absl::string_view line, int64_t number) {
    if (absl::StripAsciiWhitespace(line).empty()) return absl::OkStatus();
    ASSIGN_OR_RETURN(const JsonValue record, JsonValue::Parse(line, absl::StrCat(file.path(), ", line ", number)));
    return record.is_object() ? Take(record) : record.Error(JsonKindName(record.kind()), "an object");
  }
  absl::Status Take(const JsonValue& record) {
    ASSIGN_OR_RETURN(const std::string id, record.String("id"));
    ASSIGN_OR_RETURN(const int64_t sample, record.Int("sample", 0, 1 << 20));
    RETURN_IF_ERROR(CheckSampleSettings(record, settings));
    ASSIGN_OR_RETURN(const std::string text, record.String("text"));
    if (has.emplace(std::pair(id, static_cast<int>(sample)), HashOfText(text)).second) return absl::OkStatus();
    ASSIGN_OR_RETURN(const JsonValue value, record.Value("sample"));
    return value.Error(absl::StrCat(sample, " of problem ", Quoted(id), " again"), "each once");
  }

  std::string settings;
  LineFile file;
  // With the hash of the text, if the sample was in the file at Open.
  std::map<std::pair<std::string, int>, std::optional<size_t>> has = {};
};

SampleFile::SampleFile(std::unique_ptr<State> state) : state_(std::move(state)) {}
SampleFile::SampleFile(SampleFile&& other) noexcept = default;
SampleFile::~SampleFile() = default;

absl::StatusOr<SampleFile> SampleFile::Open(const std::string& path, const std::string& settings) {
  ASSIGN_OR_RETURN(LineFile file, LineFile::Open(path));
  auto state = std::make_unique<State>(std::move(file), settings);
  RETURN_IF_ERROR(state->Read());
  return SampleFile(std::move(state));
}

bool SampleFile::Has(absl::string_view id, int sample) const { return state_->has.contains({std::string(id), sample}); }

absl::Status SampleFile::CheckText(absl::string_view id, int sample, absl::string_view text) const {
  const auto found = state_->has.find({std::string(id), sample});
  if (found == state_->has.end() || !found->second.has_value() || *found->second == HashOfText(text)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(state_->file.path(), ": sample ", sample, " of problem ", Quoted(id),
                                                 ": found another text, expected ", Quoted(text)));
}

int64_t SampleFile::size() const { return static_cast<int64_t>(state_->has.size()); }

absl::Status SampleFile::Add(const Sample& sample) {
  return Add(sample.id, sample.sample, [&](JsonWriter& json) { WriteMembers(sample, json); });
}

absl::Status SampleFile::Add(absl::string_view id, int sample, absl::FunctionRef<void(JsonWriter& json)> write) {
  JsonWriter json;
  json.BeginObject().Key("id").String(id).Key("sample").Int(sample);
  write(json);
  json.Key("settings").String(state_->settings).EndObject();
  RETURN_IF_ERROR(state_->file.Append(std::move(json).Take()));
  state_->has.emplace(std::pair(std::string(id), sample), std::nullopt);
  return absl::OkStatus();
}

absl::Status SampleFile::Sync() { return state_->file.Sync(); }

}  // namespace tessera

#include "tessera/apps/lab/scale/grid/grid_results.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tessera/apps/lab/scale/grid/grid_methods.h"
#include "tessera/apps/lab/scale/report/figures_json.h"
#include "tessera/apps/lab/scale/tasks/records.h"
#include "tessera/apps/lab/scale/tasks/tasks.h"
#include "tessera/base/file.h"
#include "tessera/base/json.h"
#include "tessera/base/quoted.h"
#include "tessera/base/status_macros.h"

namespace tessera {
namespace {

constexpr int kDigits = 6;
constexpr double kMostTokens = 1e9, kMostSeconds = 1e9, kMostJoules = 1e12;
constexpr size_t kMostResults = 4096;

absl::StatusOr<std::string> NameOf(const JsonValue& object, const char* name, const std::vector<std::string>& known) {
  ASSIGN_OR_RETURN(const std::string text, object.String(name));
  if (std::find(known.begin(), known.end(), text) != known.end()) return text;
  ASSIGN_OR_RETURN(const JsonValue value, object.Value(name));
  return value.Error(Quoted(text), absl::StrCat("the name of a ", name));
}

absl::StatusOr<std::optional<GridPhone>> PhoneIn(const JsonValue& record) {
  if (!record.Has("phone")) return std::nullopt;
  ASSIGN_OR_RETURN(const JsonValue json, record.Object("phone"));
  GridPhone phone;
  ASSIGN_OR_RETURN(phone.device, json.String("device"));
  ASSIGN_OR_RETURN(phone.shape, json.String("shape"));
  ASSIGN_OR_RETURN(phone.cost.prompt_seconds, ReadNumber(json, "prompt_seconds", 0, kMostSeconds));
  ASSIGN_OR_RETURN(phone.cost.decode_seconds, ReadNumber(json, "decode_seconds", 0, kMostSeconds));
  ASSIGN_OR_RETURN(phone.cost.joules, ReadNumber(json, "joules", 0, kMostJoules));
  return phone;
}

absl::StatusOr<GridResult> ResultOf(const JsonValue& record) {
  GridResult result;
  ASSIGN_OR_RETURN(result.model, record.String("model"));
  ASSIGN_OR_RETURN(result.task, NameOf(record, "task", TaskNames()));
  ASSIGN_OR_RETURN(result.method, NameOf(record, "method", GridMethodNames()));
  ASSIGN_OR_RETURN(result.scorer, record.StringOr("scorer", ""));
  ASSIGN_OR_RETURN(const int64_t samples, record.Int("samples", 1, kMostGridSamples));
  result.samples = static_cast<int>(samples);
  ASSIGN_OR_RETURN(result.questions, record.Int("questions", 1, std::numeric_limits<int32_t>::max()));
  ASSIGN_OR_RETURN(result.right, ReadEstimate(record, "right", 0, 1));
  ASSIGN_OR_RETURN(result.gain, ReadEstimate(record, "gain", -1, 1));
  ASSIGN_OR_RETURN(result.prompt_tokens, ReadNumber(record, "prompt_tokens", 0, kMostTokens));
  ASSIGN_OR_RETURN(result.tokens, ReadNumber(record, "tokens", 0, kMostTokens));
  ASSIGN_OR_RETURN(result.passes, ReadNumber(record, "passes", 0, kMostTokens));
  ASSIGN_OR_RETURN(result.phone, PhoneIn(record));
  return result;
}

}  // namespace

void WriteGridResult(const GridResult& result, JsonWriter& json) {
  json.Key("model").String(result.model).Key("task").String(result.task).Key("method").String(result.method);
  if (!result.scorer.empty()) json.Key("scorer").String(result.scorer);
  json.Key("samples").Int(result.samples).Key("questions").Int(result.questions);
  WriteEstimate("right", result.right, json);
  WriteEstimate("gain", result.gain, json);
  json.Key("prompt_tokens").Double(result.prompt_tokens, kDigits).Key("tokens").Double(result.tokens, kDigits);
  json.Key("passes").Double(result.passes, kDigits);
  if (!result.phone.has_value()) return;
  const GridPhone& phone = *result.phone;
  json.Key("phone").BeginObject().Key("device").String(phone.device).Key("shape").String(phone.shape);
  json.Key("prompt_seconds").Double(phone.cost.prompt_seconds, kDigits);
  json.Key("decode_seconds").Double(phone.cost.decode_seconds, kDigits);
  json.Key("joules").Double(phone.cost.joules, kDigits).EndObject();
}

absl::Status WriteGridResults(const std::string& path, const std::vector<GridResult>& results) {
  std::string lines;
  for (const GridResult& result : results) {
    JsonWriter json;
    json.BeginObject();
    WriteGridResult(result, json);
    json.EndObject();
    absl::StrAppend(&lines, std::move(json).Take(), "\n");
  }
  return WriteFileAtomically(path, lines);
}

absl::StatusOr<std::vector<GridResult>> ReadGridResults(const std::string& path) {
  std::vector<GridResult> results;
  const auto read = [&](const JsonValue& record, int) -> absl::Status {
    if (results.size() == kMostResults) return record.Error("another result", absl::StrCat("at most ", kMostResults));
    ASSIGN_OR_RETURN(results.emplace_back(), ResultOf(record));
    return absl::OkStatus();
  };
  RETURN_IF_ERROR(ForEachRecord(path, read));
  return results;
}

}  // namespace tessera

#include "tessera/runtime/engine/switching/switch_profile.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "tessera/base/file.h"
#include "tessera/base/json.h"
#include "tessera/base/quoted.h"
#include "tessera/base/status_macros.h"

namespace tessera {
namespace {

constexpr int kVersion = 3;   // 1 had no fixed_seconds, 2 a number of 64 bits for the model.
constexpr int64_t kMostFileBytes = 1 << 20;
constexpr int64_t kMostValues = 1 << 15;

void WriteTimes(JsonWriter& json, absl::string_view name, const std::vector<double>& times) {
  json.Key(name).BeginArray();
  for (const double seconds : times) json.Double(seconds);
  json.EndArray();
}

}  // namespace

std::string SwitchProfile::ToJson() const {
  JsonWriter json(/*indent=*/1);
  json.BeginObject().Key("version").Int(kVersion).Key("device").String(device).Key("model").String(model.Hex()).Key("graphs").BeginArray();
  for (const GraphTimes& graph : graphs) {
    json.BeginObject().Key("rows").Int(graph.rows).Key("fixed_seconds").Double(graph.fixed_seconds);
    WriteTimes(json, "run_seconds", graph.run_seconds);
    WriteTimes(json, "load_seconds", graph.load_seconds);
    json.EndObject();
  }
  json.EndArray().EndObject();
  return std::move(json).Take() + "\n";
}

absl::StatusOr<SwitchProfile> SwitchProfile::Parse(absl::string_view text, absl::string_view source) {
  ASSIGN_OR_RETURN(const JsonValue file, JsonValue::Parse(text, source, {.max_bytes = kMostFileBytes, .max_values = kMostValues}));
  RETURN_IF_ERROR(file.Int("version", kVersion, kVersion).status());
  SwitchProfile profile;
  ASSIGN_OR_RETURN(profile.device, file.String("device"));
  ASSIGN_OR_RETURN(const std::string model, file.String("model"));
  const std::optional<Sha256Sum> sum = Sha256Sum::Parse(model);
  if (!sum.has_value()) {
    ASSIGN_OR_RETURN(const JsonValue value, file.Value("model"));
    return value.Error(Quoted(model), "64 hexadecimal digits");
  }
  profile.model = *sum;
  ASSIGN_OR_RETURN(const JsonValue graphs, file.Array("graphs"));
  for (int64_t i = 0; i < graphs.size(); ++i) {
    GraphTimes graph;
    ASSIGN_OR_RETURN(const int64_t rows, graphs[i].Int("rows", 1, kMostGraphRows));
    graph.rows = static_cast<int>(rows);
    ASSIGN_OR_RETURN(graph.run_seconds, graphs[i].Doubles("run_seconds"));
    ASSIGN_OR_RETURN(graph.load_seconds, graphs[i].Doubles("load_seconds"));
    ASSIGN_OR_RETURN(graph.fixed_seconds, graphs[i].Double("fixed_seconds"));
    profile.graphs.push_back(std::move(graph));
  }
  if (const absl::Status status = CheckGraphTimes(profile.graphs); !status.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(source, ": ", status.message()));
  }
  return profile;
}

absl::Status SwitchProfile::Save(const std::string& path) const { return WriteFileAtomically(path, ToJson()); }

absl::StatusOr<SwitchProfile> SwitchProfile::Load(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadFileToString(path, kMostFileBytes));
  return Parse(text, path);
}

absl::Status SwitchProfile::Check(const Key& key, absl::Span<const int> rows) const {
  if (device != key.device) {
    return absl::FailedPreconditionError(absl::StrCat("device: found ", Quoted(device), ", expected ", Quoted(key.device)));
  }
  if (model != key.model) return absl::FailedPreconditionError(absl::StrCat("model: found ", model.Hex(), ", expected ", key.model.Hex()));
  for (const int count : rows) {
    const auto graph = std::find_if(graphs.begin(), graphs.end(), [count](const GraphTimes& each) { return each.rows == count; });
    if (graph == graphs.end()) return absl::FailedPreconditionError(absl::StrCat("graphs: found none of ", count, " rows, expected one"));
    const size_t layers = graph->run_seconds.size();
    if (layers == static_cast<size_t>(key.layers)) continue;
    return absl::FailedPreconditionError(absl::StrCat("layers: found ", layers, ", expected ", key.layers));
  }
  return absl::OkStatus();
}

std::string SwitchProfilePath(absl::string_view model_path, absl::string_view device) {
  std::string name(device);
  for (char& letter : name) {
    if (!absl::ascii_isalnum(static_cast<unsigned char>(letter)) && letter != '.' && letter != '-') letter = '_';
  }
  return absl::StrCat(model_path, ".", name, ".switch.json");
}

}  // namespace tessera

// Reads adapter_config.json of mlx-lm: all settings of the training, including the modules that the adapter changes. The two kinds of
// folders are also told apart here.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "tessera/base/quoted.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/files/adapter_file.h"
#include "tessera/model/files/internal/adapter_keys.h"
#include "tessera/model/files/internal/adapter_plan.h"
#include "tessera/model/files/internal/folder_config.h"

namespace tessera {
namespace {

constexpr FolderForm kForm = {.file = "adapters.safetensors", .older = "adapters.npz", .half_a = ".lora_a", .half_b = ".lora_b",
                              .ending = "", .shown = "model.layers.N.MODULE.lora_a or .lora_b", .transposed = true};

class MlxConfig : public FolderConfig {
 public:
  MlxConfig(absl::string_view source, int layers) : source_(source), layers_(layers) {}

  absl::Status Read(const JsonValue& json) {
    ASSIGN_OR_RETURN(const std::string kind, json.StringOr("fine_tune_type", "lora"));
    if (kind != "lora") return Wrong("fine_tune_type", absl::StrCat("found ", Quoted(kind), ", expected \"lora\""));
    RETURN_IF_ERROR(JudgeAdapterKeys(json, MlxKeys()));
    RETURN_IF_ERROR(ReadLayers(json));
    if (!json.Has("lora_parameters")) return Wrong("lora_parameters", "found nothing, expected a value");
    ASSIGN_OR_RETURN(const JsonValue parameters, json.Object("lora_parameters"));
    return ReadParameters(parameters);
  }

  const FolderForm& form() const override { return kForm; }
  absl::Status CheckModule(const AdapterModule& module) const override;
  int RankOf(const AdapterModule& /*module*/) const override { return rank_; }
  double ScaleOf(const AdapterModule& /*module*/, int /*rank*/) const override { return scale_; }

 private:
  absl::Status Wrong(absl::string_view key, absl::string_view problem) const {
    return absl::InvalidArgumentError(absl::StrCat(source_, ": ", key, ": ", problem));
  }

  // Reads the number of last layers; 0 or less: all.
  absl::Status ReadLayers(const JsonValue& json) {
    const bool newer = json.Has("num_layers"), older = json.Has("lora_layers");
    if (newer == older) {
      return Wrong("num_layers", newer ? "found lora_layers, too, expected one of them" : "found nothing, expected a value");
    }
    ASSIGN_OR_RETURN(const int64_t layers, json.Int(newer ? "num_layers" : "lora_layers", -1));
    first_layer_ = layers <= 0 || layers >= layers_ ? 0 : layers_ - static_cast<int>(layers);
    return absl::OkStatus();
  }

  absl::Status ReadParameters(const JsonValue& parameters) {
    RETURN_IF_ERROR(JudgeAdapterKeys(parameters, MlxParameterKeys()));
    for (const absl::string_view key : {"rank", "scale"}) {
      if (!parameters.Has(key)) return Wrong(absl::StrCat("lora_parameters.", key), "found nothing, expected a value");
    }
    ASSIGN_OR_RETURN(const int64_t rank, parameters.Int("rank", 1, kMostAdapterRank));
    rank_ = static_cast<int>(rank);
    ASSIGN_OR_RETURN(scale_, parameters.Double("scale"));
    if (const absl::StatusOr<JsonValue> alpha = GivenValue(parameters, "alpha"); alpha.ok()) {
      ASSIGN_OR_RETURN(const double number, alpha->AsDouble());
      if (number != rank_) {
        return alpha->Error(absl::StrCat(number), absl::StrCat(rank_, ", the rank: older versions multiply the scale by alpha / rank, "
                                                               "later ones pass it over"));
      }
    }
    const absl::StatusOr<JsonValue> keys = GivenValue(parameters, "keys");
    if (!keys.ok()) return absl::OkStatus();
    ASSIGN_OR_RETURN(keys_, keys->AsStrings());
    if (keys_.empty()) return keys->Error(ShownValue(*keys), "names of modules, or null for all");
    return absl::OkStatus();
  }

  const std::string source_;
  const int layers_;                  // Layers of the model.
  int rank_ = 0, first_layer_ = 0;
  double scale_ = 0;
  std::vector<std::string> keys_;     // Empty: all.
};

// Checks a module. A key is a module's name within its layer, for the last layers; or the whole name, for any layer.
absl::Status MlxConfig::CheckModule(const AdapterModule& module) const {
  if (absl::c_linear_search(keys_, module.name)) return absl::OkStatus();
  if (!keys_.empty() && !absl::c_linear_search(keys_, absl::string_view(kAdapterTargets[module.matrix].peft))) {
    return Wrong("lora_parameters.keys", absl::StrCat("found none that means ", Quoted(module.name), ", expected one: it has an A or B"));
  }
  if (module.layer >= first_layer_) return absl::OkStatus();
  return Wrong("num_layers", absl::StrCat("found ", layers_ - first_layer_, ", expected ", layers_ - module.layer, " or more: ",
                                          Quoted(module.name), " has an A or B"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<FolderConfig>> ReadMlxConfig(const JsonValue& json, absl::string_view source, int layers) {
  auto config = std::make_unique<MlxConfig>(source, layers);
  RETURN_IF_ERROR(config->Read(json));
  return config;
}

absl::StatusOr<std::unique_ptr<FolderConfig>> ReadFolderConfig(absl::string_view text, absl::string_view source, int layers) {
  ASSIGN_OR_RETURN(const JsonValue json, JsonValue::Parse(text, source));
  if (!json.is_object()) return json.Error(JsonKindName(json.kind()), "an object");
  const bool mlx = !json.Has("peft_type") && (json.Has("lora_parameters") || json.Has("fine_tune_type"));
  return mlx ? ReadMlxConfig(json, source, layers) : ReadPeftConfig(json, source);
}

}  // namespace tessera

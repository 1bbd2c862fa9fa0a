// Reads adapter_config.json of PEFT. Modules are named and matched by the rules of PEFT 0.21.
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "tessera/base/quoted.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/files/adapter_file.h"
#include "tessera/model/files/internal/adapter_keys.h"
#include "tessera/model/files/internal/folder_config.h"
#include "tessera/model/files/internal/name_pattern.h"

namespace tessera {
namespace {

// Starts of training that leave the weights of the model unchanged. After other starts, the changed weights are in no file of the adapter.
constexpr absl::string_view kBeginnings[] = {"gaussian", "eva", "orthogonal", "mica"};

constexpr FolderForm kForm = {.file = "adapter_model.safetensors", .older = "adapter_model.bin", .half_a = ".lora_A", .half_b = ".lora_B",
                              .ending = ".weight", .shown = "base_model.model.model.layers.N.MODULE.lora_A.weight or .lora_B.weight",
                              .transposed = false};

// Returns true if PEFT finds the module by this name of a list: the whole name, or the last words.
bool IsNamed(absl::string_view module, absl::string_view name) {
  return module == name || (absl::ConsumeSuffix(&module, name) && absl::EndsWith(module, "."));
}

// Modules by names or by one pattern.
class ModuleSet {
 public:
  // Reads a set; nullopt if the key is absent or null.
  static absl::StatusOr<ModuleSet> Read(const JsonValue& json, absl::string_view key) {
    ModuleSet set;
    const absl::StatusOr<JsonValue> value = GivenValue(json, key);
    if (!value.ok()) return set;
    if (!value->is_string()) {
      ASSIGN_OR_RETURN(set.names_, value->AsStrings());
      return set;
    }
    ASSIGN_OR_RETURN(const std::string text, value->AsString());
    if (text.empty()) return set;
    if (absl::EqualsIgnoreCase(text, "all-linear")) {
      set.all_ = true;
      return set;
    }
    absl::StatusOr<NamePattern> pattern = NamePattern::Parse(text);
    if (!pattern.ok()) return value->Error(Quoted(text), absl::StrCat("a pattern that is read: ", pattern.status().message()));
    set.pattern_ = *std::move(pattern);
    return set;
  }

  bool Has(absl::string_view module) const {
    if (all_) return true;
    if (pattern_.has_value()) return pattern_->Matches(module);
    return absl::c_any_of(names_, [&](const std::string& name) { return IsNamed(module, name); });
  }
  bool HasWhole(const std::string& module) const { return absl::c_linear_search(names_, module); }
  bool has_names() const { return !names_.empty(); }
  bool is_empty() const { return !all_ && !pattern_.has_value() && names_.empty(); }

 private:
  bool all_ = false;
  std::optional<NamePattern> pattern_;
  std::vector<std::string> names_;
};

// Numbers of some modules, by patterns.
template <typename Number>
struct ByPattern {
  std::vector<std::pair<NamePattern, Number>> entries = {};   // In the order of the file: the first match counts.

  // Adds a pattern. By PEFT's rule a pattern matches behind any words, up to the end of the name. steps: the rest of kMostSteps.
  absl::Status Add(const JsonValue& object, const std::string& key, Number number, int* steps) {
    absl::StatusOr<NamePattern> pattern = NamePattern::Parse(key);   // Places in errors of Parse are places in the key.
    if (pattern.ok()) pattern = NamePattern::Parse(absl::StrCat("(.*\\.)?(", key, ")$"));
    if (!pattern.ok()) return object.Error(Quoted(key), absl::StrCat("a pattern that is read: ", pattern.status().message()));
    *steps -= pattern->steps();
    if (*steps < 0) return object.Error(Quoted(key), absl::StrCat("patterns of ", NamePattern::kMostSteps, " steps together"));
    entries.emplace_back(*std::move(pattern), number);
    return absl::OkStatus();
  }
  Number Of(const AdapterModule& module, Number otherwise) const {
    for (const auto& [pattern, number] : entries) {
      if (pattern.Matches(module.name)) return number;
    }
    return otherwise;
  }
};

class PeftConfig : public FolderConfig {
 public:
  explicit PeftConfig(absl::string_view source) : source_(source) {}

  absl::Status Read(const JsonValue& json) {
    for (const absl::string_view key : {"peft_type", "r", "lora_alpha", "target_modules"}) {
      if (!json.Has(key)) return Wrong(key, "found nothing, expected a value");
    }
    RETURN_IF_ERROR(ReadKinds(json));
    RETURN_IF_ERROR(JudgeAdapterKeys(json, PeftKeys()));
    RETURN_IF_ERROR(ReadNumbers(json));
    RETURN_IF_ERROR(ReadPatterns(json));
    RETURN_IF_ERROR(ReadModules(json));
    return ReadLayers(json);
  }

  const FolderForm& form() const override { return kForm; }
  absl::Status CheckModule(const AdapterModule& module) const override;
  absl::Status CheckMissing(const AdapterModule& module) const override {
    if (begins_at_zero_ || !CheckModule(module).ok()) return absl::OkStatus();
    return Wrong("init_lora_weights", absl::StrCat("found false, expected true: ", Quoted(module.name), " has no A and B in the file, and "
                                                   "PEFT would draw them"));
  }
  int RankOf(const AdapterModule& module) const override { return ranks_.Of(module, rank_); }
  double ScaleOf(const AdapterModule& module, int rank) const override {
    return alphas_.Of(module, alpha_) / (root_ ? std::sqrt(static_cast<double>(rank)) : rank);
  }

 private:
  absl::Status Wrong(absl::string_view key, absl::string_view problem) const {
    return absl::InvalidArgumentError(absl::StrCat(source_, ": ", key, ": ", problem));
  }
  absl::Status ReadKinds(const JsonValue& json);
  absl::Status ReadNumbers(const JsonValue& json);
  absl::Status ReadPatterns(const JsonValue& json);
  absl::Status ReadModules(const JsonValue& json);
  absl::Status ReadLayers(const JsonValue& json);
  bool IsInLayers(const AdapterModule& module) const;

  const std::string source_;
  int rank_ = 0;
  double alpha_ = 0;
  bool root_ = false;
  bool begins_at_zero_ = true;              // Missing tensors add nothing.
  ModuleSet targets_, excluded_;
  std::vector<int64_t> layers_;             // Empty: all.
  std::vector<std::string> layer_lists_;    // Allowed names of the list that holds a layer; empty: any.
  ByPattern<int> ranks_;
  ByPattern<double> alphas_;
};

absl::Status PeftConfig::ReadKinds(const JsonValue& json) {
  ASSIGN_OR_RETURN(const std::string kind, json.String("peft_type"));
  if (kind != "LORA") return Wrong("peft_type", absl::StrCat("found ", Quoted(kind), ", expected \"LORA\""));
  ASSIGN_OR_RETURN(const std::string task, json.StringOr("task_type", "CAUSAL_LM"));
  if (task != "CAUSAL_LM") return Wrong("task_type", absl::StrCat("found ", Quoted(task), ", expected \"CAUSAL_LM\""));
  ASSIGN_OR_RETURN(const std::string bias, json.StringOr("bias", "none"));
  if (bias != "none") return Wrong("bias", absl::StrCat("found ", Quoted(bias), ", expected \"none\": biases of the model are replaced"));
  const absl::StatusOr<JsonValue> beginning = GivenValue(json, "init_lora_weights");
  if (!beginning.ok()) return absl::OkStatus();
  if (beginning->kind() == JsonValue::Kind::kBool) {
    ASSIGN_OR_RETURN(begins_at_zero_, beginning->AsBool());
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const std::string name, beginning->AsString());
  if (absl::c_linear_search(kBeginnings, absl::AsciiStrToLower(name))) return absl::OkStatus();
  return beginning->Error(Quoted(name), "true, false, gaussian, eva, orthogonal or mica: others change the weights of the model, too");
}

absl::Status PeftConfig::ReadNumbers(const JsonValue& json) {
  ASSIGN_OR_RETURN(const int64_t rank, json.Int("r", 1, kMostAdapterRank));
  rank_ = static_cast<int>(rank);
  ASSIGN_OR_RETURN(alpha_, json.Double("lora_alpha"));
  ASSIGN_OR_RETURN(root_, json.BoolOr("use_rslora", false));
  return absl::OkStatus();
}

absl::Status PeftConfig::ReadPatterns(const JsonValue& json) {
  int steps = NamePattern::kMostSteps;
  if (const absl::StatusOr<JsonValue> ranks = GivenValue(json, "rank_pattern"); ranks.ok()) {
    if (!ranks->is_object()) return ranks->Error(ShownValue(*ranks), "an object of ranks by module");
    for (const std::string& key : ranks->Keys()) {
      ASSIGN_OR_RETURN(const int64_t rank, ranks->Int(key, 1, kMostAdapterRank));
      RETURN_IF_ERROR(ranks_.Add(*ranks, key, static_cast<int>(rank), &steps));
    }
  }
  if (const absl::StatusOr<JsonValue> alphas = GivenValue(json, "alpha_pattern"); alphas.ok()) {
    if (!alphas->is_object()) return alphas->Error(ShownValue(*alphas), "an object of alphas by module");
    for (const std::string& key : alphas->Keys()) {
      ASSIGN_OR_RETURN(const double alpha, alphas->Double(key));
      RETURN_IF_ERROR(alphas_.Add(*alphas, key, alpha, &steps));
    }
  }
  return absl::OkStatus();
}

absl::Status PeftConfig::ReadModules(const JsonValue& json) {
  ASSIGN_OR_RETURN(const JsonValue targets, json.Value("target_modules"));
  if (!targets.is_string() && !targets.is_array()) return targets.Error(ShownValue(targets), "names of modules, or a pattern");
  ASSIGN_OR_RETURN(targets_, ModuleSet::Read(json, "target_modules"));
  if (targets_.is_empty()) return targets.Error(ShownValue(targets), "names of modules, or a pattern");
  ASSIGN_OR_RETURN(excluded_, ModuleSet::Read(json, "exclude_modules"));
  return absl::OkStatus();
}

// Reads the layers. Both keys need a list of modules: PEFT refuses other values, too.
absl::Status PeftConfig::ReadLayers(const JsonValue& json) {
  const absl::StatusOr<JsonValue> layers = GivenValue(json, "layers_to_transform");
  if (layers.ok() && !IsNothing(*layers)) {
    if (!targets_.has_names()) return layers->Error(ShownValue(*layers), "nothing beside one pattern in target_modules");
    if (layers->is_array()) {
      ASSIGN_OR_RETURN(layers_, layers->AsInts(0));
    } else {
      ASSIGN_OR_RETURN(const int64_t layer, layers->AsInt(0));
      layers_ = {layer};
    }
  }
  const absl::StatusOr<JsonValue> lists = GivenValue(json, "layers_pattern");
  if (!lists.ok() || IsNothing(*lists)) return absl::OkStatus();
  if (layers_.empty()) return lists->Error(ShownValue(*lists), "nothing without layers_to_transform");
  if (lists->is_array()) {
    ASSIGN_OR_RETURN(layer_lists_, lists->AsStrings());
  } else {
    ASSIGN_OR_RETURN(const std::string name, lists->AsString());
    layer_lists_ = {name};
  }
  for (const std::string& name : layer_lists_) {
    const bool plain = !name.empty() && absl::c_all_of(name, [](char c) {
      return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.';
    });
    if (!plain) return lists->Error(Quoted(name), "names of letters, digits, _ and . alone: patterns are not read here");
  }
  return absl::OkStatus();
}

bool PeftConfig::IsInLayers(const AdapterModule& module) const {
  if (layers_.empty() || targets_.HasWhole(module.name)) return true;
  if (!absl::c_linear_search(layers_, int64_t{module.layer})) return false;
  const absl::string_view list(module.name.data(), module.name.rfind(absl::StrCat(".", module.layer, ".")));
  return layer_lists_.empty() || absl::c_any_of(layer_lists_, [&](const std::string& name) { return IsNamed(list, name); });
}

absl::Status PeftConfig::CheckModule(const AdapterModule& module) const {
  const std::string name = Quoted(module.name);
  if (!targets_.Has(module.name)) {
    return Wrong("target_modules", absl::StrCat("found none that means ", name, ", expected one: it has an A or B"));
  }
  if (excluded_.Has(module.name)) {
    return Wrong("exclude_modules", absl::StrCat("found one that means ", name, ", expected none: it has an A or B"));
  }
  if (IsInLayers(module)) return absl::OkStatus();
  if (absl::c_linear_search(layers_, int64_t{module.layer})) {
    return Wrong("layers_pattern", absl::StrCat("found none that means ", name, ", expected one: it has an A or B"));
  }
  return Wrong("layers_to_transform", absl::StrCat("found no ", module.layer, ", expected it: ", name, " has an A or B"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<FolderConfig>> ReadPeftConfig(const JsonValue& json, absl::string_view source) {
  auto config = std::make_unique<PeftConfig>(source);
  RETURN_IF_ERROR(config->Read(json));
  return config;
}

}  // namespace tessera

#include "tessera/model/files/internal/peft_config.h"

#include <cmath>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tessera/base/quoted.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/files/adapter_file.h"

namespace tessera {
namespace {

// Read below, each by a rule of its own.
constexpr absl::string_view kRead[] = {"peft_type", "task_type", "r", "lora_alpha", "use_rslora", "bias", "init_lora_weights",
                                       "target_modules", "exclude_modules", "rank_pattern", "alpha_pattern", "layers_to_transform",
                                       "layers_pattern"};

// How it was trained, and what describes it: a trained adapter computes the same whatever they say.
constexpr absl::string_view kHarmless[] = {"auto_mapping", "base_model_name_or_path", "revision", "inference_mode", "lora_dropout",
                                           "peft_version", "megatron_core", "eva_config", "corda_config",
                                           "qalora_group_size", "ensure_weight_tying"};

// Those that change the result in ways that are not computed here. They must be null, false or empty; and so must any other key.
struct Refused { absl::string_view key, reason; };
constexpr Refused kRefused[] = {
    {"use_dora", "DoRA also scales each output by a norm"},
    {"use_qalora", "QALoRA takes means of groups of inputs"},
    {"use_bdlora", "matrices of blocks are another product"},
    {"lora_bias", "B has a bias"},
    {"fan_in_fan_out", "matrices of a linear layer are not transposed"},
    {"modules_to_save", "whole modules are replaced"},
    {"trainable_token_indices", "rows of the embedding are replaced"},
    {"target_parameters", "parameters that are no linear layers are changed"},
    {"layer_replication", "the model has more layers than its file"},
    {"alora_invocation_tokens", "the adapter begins within the text"},
    {"loftq_config", "LoftQ changes the weights of the model, too"},
    {"arrow_config", "adapters are mixed row by row"},
    {"megatron_config", "the model is another implementation"}};

// How training may begin and leave the weights of the model as they are. After others they are in no file of the adapter.
constexpr absl::string_view kBeginnings[] = {"gaussian", "eva", "orthogonal"};

std::string Shown(const JsonValue& value) {
  const absl::StatusOr<bool> truth = value.AsBool();
  if (truth.ok()) return *truth ? "true" : "false";
  const absl::StatusOr<std::string> text = value.AsString();
  if (text.ok()) return Quoted(*text);
  const absl::StatusOr<double> number = value.AsDouble();
  if (number.ok()) return absl::StrCat(*number);
  return std::string(JsonKindName(value.kind()));
}

bool IsNothing(const JsonValue& value) {
  if (value.is_null()) return true;
  if (value.is_array() || value.is_object()) return value.size() == 0;
  const absl::StatusOr<bool> truth = value.AsBool();
  const absl::StatusOr<std::string> text = value.AsString();
  return (truth.ok() && !*truth) || (text.ok() && text->empty());
}

// The value under a key; null if it is absent or null.
absl::StatusOr<JsonValue> Given(const JsonValue& json, absl::string_view key) {
  ASSIGN_OR_RETURN(JsonValue value, json.Value(key));
  if (value.is_null()) return absl::NotFoundError(key);
  return value;
}

absl::Status CheckKeys(const JsonValue& json) {
  for (const std::string& key : json.Keys()) {
    if (absl::c_linear_search(kRead, key) || absl::c_linear_search(kHarmless, key)) continue;
    ASSIGN_OR_RETURN(const JsonValue value, json.Value(key));
    if (IsNothing(value)) continue;
    absl::string_view reason = "what it means is not known";
    for (const Refused& refused : kRefused) {
      if (key == refused.key) reason = refused.reason;
    }
    return value.Error(Shown(value), absl::StrCat("nothing: ", reason));
  }
  return absl::OkStatus();
}

// As PEFT finds a module by a plain name: the whole name, or its last words.
bool IsNamed(absl::string_view module, absl::string_view name) {
  return module == name || (module.size() > name.size() && absl::EndsWith(module, name) && module[module.size() - name.size() - 1] == '.');
}

// A name that means itself and no other: as a regular expression it would hold none but these.
bool IsPlain(absl::string_view name) {
  return !name.empty() && absl::c_all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
  });
}

absl::Status CheckPlain(const JsonValue& value, const std::string& name) {
  if (IsPlain(name)) return absl::OkStatus();
  return value.Error(Quoted(name), "names of letters, digits, _ and . alone: patterns are not read");
}

// A list of names, or nothing.
absl::Status ReadNames(const JsonValue& json, absl::string_view key, std::vector<std::string>* names) {
  const absl::StatusOr<JsonValue> value = Given(json, key);
  if (!value.ok()) return absl::OkStatus();
  ASSIGN_OR_RETURN(*names, value->AsStrings());
  for (const std::string& name : *names) RETURN_IF_ERROR(CheckPlain(*value, name));
  return absl::OkStatus();
}

}  // namespace

absl::Status PeftConfig::Wrong(absl::string_view key, absl::string_view problem) const {
  return absl::InvalidArgumentError(absl::StrCat(source_, ": ", key, ": ", problem));
}

absl::StatusOr<PeftConfig> PeftConfig::Parse(absl::string_view text, absl::string_view source) {
  ASSIGN_OR_RETURN(const JsonValue json, JsonValue::Parse(text, source));
  if (!json.is_object()) return json.Error(JsonKindName(json.kind()), "an object");
  PeftConfig config;
  config.source_ = std::string(source);
  for (const absl::string_view key : {"peft_type", "r", "lora_alpha", "target_modules"}) {
    if (!json.Has(key)) return config.Wrong(key, "found nothing, expected a value");
  }
  RETURN_IF_ERROR(config.ReadKinds(json));
  RETURN_IF_ERROR(CheckKeys(json));
  RETURN_IF_ERROR(config.ReadNumbers(json));
  RETURN_IF_ERROR(config.ReadPatterns(json));
  RETURN_IF_ERROR(config.ReadModules(json));
  return config;
}

absl::Status PeftConfig::ReadKinds(const JsonValue& json) {
  ASSIGN_OR_RETURN(const std::string kind, json.String("peft_type"));
  if (kind != "LORA") return Wrong("peft_type", absl::StrCat("found ", Quoted(kind), ", expected \"LORA\""));
  ASSIGN_OR_RETURN(const std::string task, json.StringOr("task_type", "CAUSAL_LM"));
  if (task != "CAUSAL_LM") return Wrong("task_type", absl::StrCat("found ", Quoted(task), ", expected \"CAUSAL_LM\""));
  ASSIGN_OR_RETURN(const std::string bias, json.StringOr("bias", "none"));
  if (bias != "none") return Wrong("bias", absl::StrCat("found ", Quoted(bias), ", expected \"none\": biases of the model are replaced"));
  const absl::StatusOr<JsonValue> beginning = Given(json, "init_lora_weights");
  if (!beginning.ok() || beginning->kind() == JsonValue::Kind::kBool) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::string name, beginning->AsString());
  if (absl::c_linear_search(kBeginnings, name)) return absl::OkStatus();
  return beginning->Error(Quoted(name), "true, false, gaussian, eva or orthogonal: others change the weights of the model, too");
}

absl::Status PeftConfig::ReadNumbers(const JsonValue& json) {
  ASSIGN_OR_RETURN(const int64_t rank, json.Int("r", 1, kMostAdapterRank));
  rank_ = static_cast<int>(rank);
  ASSIGN_OR_RETURN(alpha_, json.Double("lora_alpha"));
  ASSIGN_OR_RETURN(root_, json.BoolOr("use_rslora", false));
  return absl::OkStatus();
}

absl::Status PeftConfig::ReadPatterns(const JsonValue& json) {
  if (const absl::StatusOr<JsonValue> ranks = Given(json, "rank_pattern"); ranks.ok()) {
    if (!ranks->is_object()) return ranks->Error(Shown(*ranks), "an object of ranks by module");
    for (const std::string& name : ranks->Keys()) {
      RETURN_IF_ERROR(CheckPlain(*ranks, name));
      ASSIGN_OR_RETURN(const int64_t rank, ranks->Int(name, 1, kMostAdapterRank));
      ranks_.emplace_back(name, static_cast<int>(rank));
    }
  }
  if (const absl::StatusOr<JsonValue> alphas = Given(json, "alpha_pattern"); alphas.ok()) {
    if (!alphas->is_object()) return alphas->Error(Shown(*alphas), "an object of alphas by module");
    for (const std::string& name : alphas->Keys()) {
      RETURN_IF_ERROR(CheckPlain(*alphas, name));
      ASSIGN_OR_RETURN(const double alpha, alphas->Double(name));
      alphas_.emplace_back(name, alpha);
    }
  }
  return absl::OkStatus();
}

absl::Status PeftConfig::ReadModules(const JsonValue& json) {
  ASSIGN_OR_RETURN(const JsonValue targets, json.Value("target_modules"));
  any_module_ = targets.is_string();
  if (!any_module_) {
    if (!targets.is_array() || targets.size() == 0) return targets.Error(Shown(targets), "names of modules, or a pattern");
    RETURN_IF_ERROR(ReadNames(json, "target_modules", &targets_));
  }
  RETURN_IF_ERROR(ReadNames(json, "exclude_modules", &excluded_));
  if (const absl::StatusOr<JsonValue> layers = Given(json, "layers_to_transform"); layers.ok()) {
    if (layers->is_array()) {
      ASSIGN_OR_RETURN(layers_, layers->AsInts(0));
    } else {
      ASSIGN_OR_RETURN(const int64_t layer, layers->AsInt(0));
      layers_ = {layer};
    }
  }
  const absl::StatusOr<JsonValue> pattern = Given(json, "layers_pattern");
  if (!pattern.ok() || IsNothing(*pattern)) return absl::OkStatus();
  const JsonValue name = pattern->is_array() && pattern->size() == 1 ? (*pattern)[0] : *pattern;
  if (name.is_string() && *name.AsString() == "layers") return absl::OkStatus();
  return pattern->Error(Shown(*pattern), "\"layers\", as modules are named here");
}

absl::Status PeftConfig::CheckModule(absl::string_view module, int layer) const {
  const auto named = [&](const std::string& name) { return IsNamed(module, name); };
  if (!any_module_ && absl::c_none_of(targets_, named)) {
    return Wrong("target_modules", absl::StrCat("found none that means ", Quoted(module), ", expected one: it has an A or B"));
  }
  if (absl::c_any_of(excluded_, named)) {
    return Wrong("exclude_modules", absl::StrCat("found one that means ", Quoted(module), ", expected none: it has an A or B"));
  }
  if (layers_.empty() || absl::c_linear_search(layers_, int64_t{layer})) return absl::OkStatus();
  return Wrong("layers_to_transform", absl::StrCat("found no ", layer, ", expected it: ", Quoted(module), " has an A or B"));
}

absl::Status PeftConfig::CheckTargetsFound(const std::vector<std::string>& modules) const {
  for (const std::string& target : targets_) {
    if (absl::c_any_of(modules, [&](const std::string& module) { return IsNamed(module, target); })) continue;
    return Wrong("target_modules", absl::StrCat("found ", Quoted(target), ", expected names of modules that have an A and B"));
  }
  return absl::OkStatus();
}

int PeftConfig::RankOf(absl::string_view module) const {
  for (const auto& [name, rank] : ranks_) {
    if (IsNamed(module, name)) return rank;
  }
  return rank_;
}

double PeftConfig::AlphaOf(absl::string_view module) const {
  for (const auto& [name, alpha] : alphas_) {
    if (IsNamed(module, name)) return alpha;
  }
  return alpha_;
}

}  // namespace tessera

#include "tessera/model/files/internal/adapter_keys.h"

#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "tessera/base/nearest_name.h"
#include "tessera/base/quoted.h"
#include "tessera/base/status_macros.h"

namespace tessera {
namespace {

// The configuration of PEFT's LoRA, up to version 0.21, and additions of trainers.
constexpr AdapterKey kPeftKeys[] = {
    {"peft_type", AdapterKey::kRead, "the kind of adapter"},
    {"task_type", AdapterKey::kRead, "what the model is for"},
    {"r", AdapterKey::kRead, "the rank"},
    {"lora_alpha", AdapterKey::kRead, "over the rank, the scale"},
    {"use_rslora", AdapterKey::kRead, "alpha over the root of the rank"},
    {"bias", AdapterKey::kRead, "whether biases were trained"},
    {"init_lora_weights", AdapterKey::kRead, "how training began"},
    {"target_modules", AdapterKey::kRead, "which modules are changed"},
    {"exclude_modules", AdapterKey::kRead, "which are not"},
    {"rank_pattern", AdapterKey::kRead, "ranks of some modules"},
    {"alpha_pattern", AdapterKey::kRead, "alphas of some modules"},
    {"layers_to_transform", AdapterKey::kRead, "in which layers"},
    {"layers_pattern", AdapterKey::kRead, "what layers are called"},

    {"auto_mapping", AdapterKey::kNoEffect, "the class of Python that the model had"},
    {"base_model_name_or_path", AdapterKey::kNoEffect, "a name alone: shapes are compared, and the mark if there is one"},
    {"revision", AdapterKey::kNoEffect, "a version of that name"},
    {"inference_mode", AdapterKey::kNoEffect, "whether PEFT trains it on"},
    {"peft_version", AdapterKey::kNoEffect, "which version wrote the file"},
    {"lora_dropout", AdapterKey::kNoEffect, "leaves numbers out in training alone"},
    {"megatron_core", AdapterKey::kNoEffect, "the name of a Python module, which megatron_config alone needs"},
    {"eva_config", AdapterKey::kNoEffect, "how A began; what it became is in the file"},
    {"corda_config", AdapterKey::kNoEffect, "PEFT reads it only where init_lora_weights is corda, which is refused"},
    {"lora_ga_config", AdapterKey::kNoEffect, "PEFT reads it only where init_lora_weights is lora_ga, which is refused"},
    {"velora_config", AdapterKey::kNoEffect, "what training keeps of a pass for its way back"},
    {"qalora_group_size", AdapterKey::kNoEffect, "PEFT reads it only with use_qalora, which is refused"},
    {"ensure_weight_tying", AdapterKey::kNoEffect, "is of embeddings and heads, whose adapters are refused"},
    {"runtime_config", AdapterKey::kNoEffect, "PEFT passes it over, too: where numbers lie while it runs"},
    {"lora_dtype", AdapterKey::kNoEffect, "ms-swift: the format of A and B in training; the file says its own"},
    {"lorap_lr_ratio", AdapterKey::kNoEffect, "ms-swift: how much faster B was trained"},
    {"lorap_emb_lr", AdapterKey::kNoEffect, "ms-swift: how fast embeddings were trained"},

    {"use_dora", AdapterKey::kNothing, "DoRA also scales each output by a norm"},
    {"use_qalora", AdapterKey::kNothing, "QALoRA takes means of groups of inputs"},
    {"use_bdlora", AdapterKey::kNothing, "matrices of blocks are another product"},
    {"lora_bias", AdapterKey::kNothing, "B has a bias"},
    {"fan_in_fan_out", AdapterKey::kNothing, "matrices of a linear layer are not transposed"},
    {"modules_to_save", AdapterKey::kNothing, "whole modules are replaced"},
    {"trainable_token_indices", AdapterKey::kNothing, "rows of the embedding are replaced"},
    {"target_parameters", AdapterKey::kNothing, "parameters that are no linear layers are changed"},
    {"layer_replication", AdapterKey::kNothing, "the model has more layers than its file"},
    {"alora_invocation_tokens", AdapterKey::kNothing, "the adapter begins within the text"},
    {"loftq_config", AdapterKey::kNothing, "LoftQ changes the weights of the model, too"},
    {"arrow_config", AdapterKey::kNothing, "adapters are mixed row by row"},
    {"kasa_config", AdapterKey::kNothing, "KaSA has numbers between A and B, and changes the weights of the model, too"},
    {"monteclora_config", AdapterKey::kNothing, "MonteCLoRA draws numbers on top of A and B"},
    {"megatron_config", AdapterKey::kNothing, "the model is another implementation"},
};

// All settings of a training by mlx-lm are in the file.
constexpr AdapterKey kMlxKeys[] = {
    {"fine_tune_type", AdapterKey::kRead, "the kind of adapter"},
    {"num_layers", AdapterKey::kRead, "how many of the last layers are changed"},
    {"lora_layers", AdapterKey::kRead, "the same in older versions"},
    {"lora_parameters", AdapterKey::kRead, "rank, scale and modules"},
    {"use_dora", AdapterKey::kNothing, "DoRA also scales each output by a norm"},

    {"model", AdapterKey::kNoEffect, "a name alone: shapes are compared, and the mark if there is one"},
    {"adapter_path", AdapterKey::kNoEffect, "where the folder was written"},
    {"adapter_file", AdapterKey::kNoEffect, "where the file was written"},
    {"resume_adapter_file", AdapterKey::kNoEffect, "where training began; what it came to is in the file"},
    {"config", AdapterKey::kNoEffect, "where these settings were read from"},
    {"data", AdapterKey::kNoEffect, "what was trained with"},
    {"hf_dataset", AdapterKey::kNoEffect, "what was trained with"},
    {"prompt_feature", AdapterKey::kNoEffect, "what of the data was trained with"},
    {"completion_feature", AdapterKey::kNoEffect, "what of the data was trained with"},
    {"mask_prompt", AdapterKey::kNoEffect, "what of the data was trained with"},
    {"max_seq_length", AdapterKey::kNoEffect, "how long the texts of the training were"},
    {"train", AdapterKey::kNoEffect, "whether that run trained"},
    {"test", AdapterKey::kNoEffect, "whether that run tested"},
    {"test_batches", AdapterKey::kNoEffect, "how much it tested"},
    {"val_batches", AdapterKey::kNoEffect, "how much it tested"},
    {"batch_size", AdapterKey::kNoEffect, "texts of a step of training"},
    {"grad_accumulation_steps", AdapterKey::kNoEffect, "texts of a step of training"},
    {"iters", AdapterKey::kNoEffect, "steps of training"},
    {"seed", AdapterKey::kNoEffect, "how training began"},
    {"optimizer", AdapterKey::kNoEffect, "how it was trained"},
    {"optimizer_config", AdapterKey::kNoEffect, "how it was trained"},
    {"learning_rate", AdapterKey::kNoEffect, "how fast it was trained"},
    {"lr_schedule", AdapterKey::kNoEffect, "how fast it was trained"},
    {"grad_checkpoint", AdapterKey::kNoEffect, "what training kept in memory"},
    {"clear_cache_threshold", AdapterKey::kNoEffect, "what training kept in memory"},
    {"save_every", AdapterKey::kNoEffect, "when training wrote files"},
    {"steps_per_eval", AdapterKey::kNoEffect, "when training reported"},
    {"steps_per_report", AdapterKey::kNoEffect, "when training reported"},
    {"report_to", AdapterKey::kNoEffect, "where training reported"},
    {"project_name", AdapterKey::kNoEffect, "where training reported"},
    {"wandb", AdapterKey::kNoEffect, "where training reported"},
    {"trust_remote_code", AdapterKey::kNoEffect, "whether training ran programs of the model's folder"},
};

constexpr AdapterKey kMlxParameterKeys[] = {
    {"rank", AdapterKey::kRead, "the rank"},
    {"scale", AdapterKey::kRead, "the scale itself, whatever the rank"},
    {"keys", AdapterKey::kRead, "which modules are changed"},
    {"alpha", AdapterKey::kRead, "a factor that older versions multiplied and later ones do not"},
    {"dropout", AdapterKey::kNoEffect, "leaves numbers out in training alone"},
};

}  // namespace

AdapterKeys PeftKeys() { return kPeftKeys; }
AdapterKeys MlxKeys() { return kMlxKeys; }
AdapterKeys MlxParameterKeys() { return kMlxParameterKeys; }

absl::Status JudgeAdapterKeys(const JsonValue& json, AdapterKeys keys) {
  for (const std::string& key : json.Keys()) {
    const auto rule = absl::c_find_if(keys, [&](const AdapterKey& one) { return key == one.key; });
    if (rule != keys.end() && rule->judgement != AdapterKey::kNothing) continue;
    ASSIGN_OR_RETURN(const JsonValue value, json.Value(key));
    if (IsNothing(value)) continue;
    if (rule != keys.end()) return value.Error(ShownValue(value), absl::StrCat("nothing: ", rule->why));
    std::vector<std::string> read;
    for (const AdapterKey& one : keys) {
      if (one.judgement == AdapterKey::kRead) read.push_back(one.key);
    }
    return value.Error(ShownValue(value), absl::StrCat("nothing: what it means is not known", DidYouMean(key, read)));
  }
  return absl::OkStatus();
}

std::string ShownValue(const JsonValue& value) {
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

absl::StatusOr<JsonValue> GivenValue(const JsonValue& json, absl::string_view key) {
  ASSIGN_OR_RETURN(JsonValue value, json.Value(key));
  if (value.is_null()) return absl::NotFoundError(key);
  return value;
}

}  // namespace tessera

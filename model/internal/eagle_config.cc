#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tessera/base/checked_math.h"
#include "tessera/base/json.h"
#include "tessera/base/nearest_name.h"
#include "tessera/base/quoted.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/internal/eagle_weights.h"

namespace tessera {
namespace {

constexpr int kMostWidth = 1 << 20;       // Maximum width of any part of the head.
constexpr int64_t kMostText = int64_t{1} << 20;
constexpr size_t kMostMeant = 64;         // Longer keys are no typing errors.
constexpr char kLayerIds[] = "eagle_aux_hidden_state_layer_ids";

// Keys that are read below, here or there.
constexpr absl::string_view kUsed[] = {"draft_vocab_size", "eagle_config", kLayerIds, "head_dim", "hidden_act", "hidden_size",
                                       "intermediate_size", "layer_types", "num_attention_heads", "num_hidden_layers",
                                       "num_key_value_heads", "rms_norm_eps", "rope_theta", "sliding_window", "target_hidden_size",
                                       "vocab_size"};
// Keys that change the result in ways that are not computed here: the value must be false, null, absent, or neutral.
constexpr absl::string_view kRefused[] = {"attention_bias", "mlp_bias",    "tie_word_embeddings", "norm_before_residual",
                                          "norm_before_fc", "fc_norm",     "use_sliding_window",  "rope_scaling",
                                          "rope_parameters", "quantization_config"};
// Other keys of published heads, which change nothing: names, numbers of special tokens, training, storage, and the maximum length of a
// text. Windows of layers count only with use_sliding_window.
constexpr absl::string_view kHarmless[] = {
    "_name_or_path", "architectures", "attention_dropout", "bos_token_id", "decoder_start_token_id", "dtype", "eos_token_id",
    "initializer_range", "max_position_embeddings", "max_window_layers", "model_type", "pad_token_id", "pretraining_tp",
    "target_model_type", "torch_dtype", "transformers_version", "unk_token_id", "use_cache"};

// Keys in eagle_config whose other values are not computed here.
struct Wanted {
  absl::string_view key;
  bool value;
};
constexpr Wanted kWanted[] = {{"use_aux_hidden_state", true}, {"use_input_layernorm_in_first_layer", true}, {"use_last_layernorm", true},
                              {"use_mtp_layernorm", false}};
constexpr char kDraftSteps[] = "parallel_draft_step";
constexpr absl::string_view kHarmlessBelow[] = {"next_layer_regular", "parallel_draft_heads_num_layers"};   // With more layers or steps.

bool IsIn(absl::string_view key, absl::Span<const absl::string_view> keys) {
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

// Refuses unknown keys, unless the value is null.
absl::Status CheckLayerIdss(const JsonValue& json, absl::FunctionRef<bool(absl::string_view key)> is_known,
                       const std::vector<std::string>& used) {
  for (const std::string& key : json.Keys()) {
    ASSIGN_OR_RETURN(const JsonValue value, json.Value(key));
    if (value.is_null() || is_known(key)) continue;
    const std::string nearest = key.size() > kMostMeant ? "" : NearestName(key, used);
    return value.Error("it", absl::StrCat("keys of which it is known what they change",
                                          nearest.empty() ? "" : absl::StrCat("; did you mean ", nearest, "?")));
  }
  return absl::OkStatus();
}

absl::Status CheckKnown(const JsonValue& json) {
  const std::vector<std::string> used(std::begin(kUsed), std::end(kUsed));
  const auto is_known = [](absl::string_view key) { return IsIn(key, kUsed) || IsIn(key, kRefused) || IsIn(key, kHarmless); };
  return CheckLayerIdss(json, is_known, used);
}

// Checks the part that makers of heads add.
absl::Status CheckEagleConfig(const JsonValue& json) {
  const absl::StatusOr<JsonValue> part = json.Value("eagle_config");
  if (!part.ok() || part->is_null()) return absl::OkStatus();
  if (!part->is_object()) return part->Error(JsonKindName(part->kind()), "an object");
  std::vector<std::string> used = {kLayerIds, kDraftSteps};
  for (const auto& [key, expected] : kWanted) {
    used.emplace_back(key);
    ASSIGN_OR_RETURN(const bool found, part->BoolOr(key, expected));
    if (found == expected) continue;
    ASSIGN_OR_RETURN(const JsonValue value, part->Value(key));
    return value.Error(found ? "true" : "false", absl::StrCat(expected ? "true" : "false", ": another head is not computed here"));
  }
  RETURN_IF_ERROR(part->IntOr(kDraftSteps, 1, 1, 1).status());
  const auto is_known = [&](absl::string_view key) {
    return std::find(used.begin(), used.end(), key) != used.end() || IsIn(key, kHarmlessBelow);
  };
  return CheckLayerIdss(*part, is_known, used);
}

// Checks that all rows attend to all earlier positions.
absl::Status CheckWindows(const JsonValue& json) {
  const std::string expected = "nothing, or use_sliding_window false: all that was before is attended to here";
  const absl::StatusOr<JsonValue> window = json.Value("sliding_window"), types = json.Value("layer_types");
  const absl::StatusOr<JsonValue> uses = json.Value("use_sliding_window");
  const bool is_off = uses.ok() && !uses->is_null();   // The value is false: another value was refused before.
  if (window.ok() && !window->is_null() && !is_off) return window->Error("one", expected);
  if (!types.ok() || types->is_null()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::vector<std::string> names, types->AsStrings());
  for (const std::string& name : names) {
    if (name != "full_attention") return types->Error(Quoted(name), "\"full_attention\" alone");
  }
  return absl::OkStatus();
}

absl::Status CheckKinds(const JsonValue& json) {
  for (const absl::string_view key : kRefused) {
    const absl::StatusOr<JsonValue> value = json.Value(key);
    if (!value.ok() || value->is_null()) continue;
    const absl::StatusOr<bool> truth = value->AsBool();
    if (truth.ok() && !*truth) continue;
    return value->Error(truth.ok() ? "true" : JsonKindName(value->kind()), "nothing: what it means is not computed here");
  }
  ASSIGN_OR_RETURN(const std::string activation, json.StringOr("hidden_act", "silu"));
  if (activation == "silu") return absl::OkStatus();
  ASSIGN_OR_RETURN(const JsonValue value, json.Value("hidden_act"));
  return value.Error(Quoted(activation), "\"silu\"");
}

// Checks a number that must equal the model's, if present.
absl::Status CheckSame(const JsonValue& json, absl::string_view key, int expected) {
  ASSIGN_OR_RETURN(const int64_t found, json.IntOr(key, expected));
  if (found == expected) return absl::OkStatus();
  ASSIGN_OR_RETURN(const JsonValue value, json.Value(key));
  return value.Error(absl::StrCat(found), absl::StrCat(expected, ", the model's"));
}

absl::Status ReadSizes(const JsonValue& json, const ModelConfig& target, EagleShape& shape) {
  ASSIGN_OR_RETURN(const int64_t width, json.Int("hidden_size"));
  RETURN_IF_ERROR(CheckSame(json, "hidden_size", target.width));
  RETURN_IF_ERROR(CheckSame(json, "target_hidden_size", target.width));
  RETURN_IF_ERROR(CheckSame(json, "vocab_size", target.vocabulary));
  ASSIGN_OR_RETURN(const int64_t layers, json.IntOr("num_hidden_layers", 1));
  if (layers != 1) return json.Value("num_hidden_layers")->Error(absl::StrCat(layers), "1");
  ASSIGN_OR_RETURN(const int64_t heads, json.Int("num_attention_heads", 1, kMostWidth));
  ASSIGN_OR_RETURN(const int64_t kv_heads, json.IntOr("num_key_value_heads", heads, 1, heads));
  ASSIGN_OR_RETURN(const int64_t head_size, json.IntOr("head_dim", width / heads, 1, kMostWidth));
  ASSIGN_OR_RETURN(const int64_t feed_forward, json.Int("intermediate_size", 1, kMostWidth));
  ASSIGN_OR_RETURN(const int64_t vocabulary, json.IntOr("draft_vocab_size", 0, 1, target.vocabulary));
  if (heads % kv_heads != 0) {
    return json.Value("num_key_value_heads")->Error(absl::StrCat(kv_heads), absl::StrCat("a divisor of the ", heads, " heads"));
  }
  ASSIGN_OR_RETURN(const int64_t queries, CheckedMul(heads, head_size));
  if (head_size % 2 != 0 || head_size == 0 || queries > kMostWidth) {
    return json.Error(absl::StrCat(heads, " heads of ", head_size), absl::StrCat("an even size, and at most ", kMostWidth, " together"));
  }
  shape.width = target.width;
  shape.heads = static_cast<int>(heads), shape.kv_heads = static_cast<int>(kv_heads), shape.head_size = static_cast<int>(head_size);
  shape.feed_forward = static_cast<int>(feed_forward), shape.vocabulary = static_cast<int>(vocabulary);
  return absl::OkStatus();
}

absl::Status ReadNumbers(const JsonValue& json, EagleShape& shape) {
  ASSIGN_OR_RETURN(const double epsilon, json.Double("rms_norm_eps"));
  if (!(epsilon > 0 && epsilon < 1)) return json.Value("rms_norm_eps")->Error(absl::StrCat(epsilon), "a number between 0 and 1");
  ASSIGN_OR_RETURN(shape.rope_base, json.DoubleOr("rope_theta", 10'000));
  if (!(shape.rope_base > 1 && std::isfinite(shape.rope_base))) {
    return json.Value("rope_theta")->Error(absl::StrCat(shape.rope_base), "a finite number above 1");
  }
  shape.norm_epsilon = static_cast<float>(epsilon);
  return absl::OkStatus();
}

// Reads the list of fused states. Below eagle_config the list counts a layer's output by the layer's own number, as SGLang reads the list.
// At the top the list counts by the number of the layer that takes the output, as vLLM does. Absent or empty: the layers of the paper's
// code.
absl::Status ReadLayers(const JsonValue& json, const ModelConfig& target, EagleShape& shape) {
  const int all = static_cast<int>(target.layers.size());
  JsonValue place = json;
  int added = 0;
  if (const absl::StatusOr<JsonValue> nested = json.Value("eagle_config"); nested.ok() && nested->Has(kLayerIds)) {
    if (json.Has(kLayerIds)) {
      return json.Error(absl::StrCat(kLayerIds, " twice"), "it either here or in eagle_config, which count layers differently");
    }
    place = *nested, added = 1;
  }
  std::vector<int64_t> numbers;
  const absl::StatusOr<JsonValue> list = place.Value(kLayerIds);
  if (list.ok() && !list->is_null()) {
    ASSIGN_OR_RETURN(numbers, list->AsInts(-added, all - added));
  }
  if (numbers.empty()) {
    if (all < 7) return json.Error(absl::StrCat("no ", kLayerIds), absl::StrCat("them, since the model has only ", all, " layers"));
    numbers = {2 - added, all / 2 - added, all - 3 - added};
  }
  if (numbers.size() > EagleHead::kMostFused) {
    return list->Error(absl::StrCat(numbers.size(), " layers"), absl::StrCat("at most ", EagleHead::kMostFused));
  }
  for (const int64_t number : numbers) {
    const int layer = static_cast<int>(number) + added;
    if (!shape.layers.empty() && layer <= shape.layers.back()) return list->Error(absl::StrJoin(numbers, ", "), "ascending numbers");
    shape.layers.push_back(layer);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<EagleShape> ReadEagleShape(absl::string_view text, absl::string_view source, const ModelConfig& target) {
  ASSIGN_OR_RETURN(const JsonValue json, JsonValue::Parse(text, source, {.max_bytes = kMostText, .max_values = 1 << 14}));
  if (!json.is_object()) return json.Error(JsonKindName(json.kind()), "an object");
  EagleShape shape;
  RETURN_IF_ERROR(CheckKnown(json));
  RETURN_IF_ERROR(CheckKinds(json));
  RETURN_IF_ERROR(CheckWindows(json));
  RETURN_IF_ERROR(CheckEagleConfig(json));
  RETURN_IF_ERROR(ReadSizes(json, target, shape));
  RETURN_IF_ERROR(ReadNumbers(json, shape));
  RETURN_IF_ERROR(ReadLayers(json, target, shape));
  return shape;
}

}  // namespace tessera

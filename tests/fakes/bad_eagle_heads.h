// All known bad EAGLE-3 heads, each with a name and the expected error message: for tests, and as seeds of fuzzing.
//
//   for (const BadEagleHead& row : BadEagleHeads()) Refuse(row.name, row.spoil, row.message);      // of EagleBuilder()
//
// For a model with 2 layers, 64 wide, of 265 tokens. FILE stands for the path of the tensors, whose configuration is FILE.json. A message
// that ends in * gives only the start of the expected message. Pure.
#pragma once

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "tessera/tests/fakes/eagle_builder.h"

namespace tessera {

struct BadEagleHead {
  std::string name;
  std::function<void(EagleBuilder&)> spoil;
  std::string message;
};

inline std::vector<BadEagleHead> BadEagleTensors() {
  const auto tensor = [](const std::string& name, const std::string& rest) { return absl::StrCat("FILE: tensor \"", name, "\"", rest); };
  const std::string up = "midlayer.mlp.up_proj.weight", query = "midlayer.self_attn.q_proj.weight", head = "lm_head.weight";
  const int64_t least = std::numeric_limits<int64_t>::min();
  return {
      {"no-fusion", [](EagleBuilder& b) { b.Remove("fc.weight"); }, tensor("fc.weight", ": found nothing, expected [64, 192]")},
      {"fusion-of-two", [](EagleBuilder& b) { b.Reshape("fc.weight", {64, 128}); },
       tensor("fc.weight", " shape: found [64, 128], expected [64, 192]")},
      {"query-of-one-width", [=](EagleBuilder& b) { b.Reshape(query, {64, 64}); },
       tensor(query, " shape: found [64, 64], expected [64, 128]")},
      {"short-norm", [](EagleBuilder& b) { b.Reshape("norm.weight", {32}); }, tensor("norm.weight", " shape: found [32], expected [64]")},
      {"norm-a-matrix", [](EagleBuilder& b) { b.Reshape("norm.weight", {1, 64}); },
       tensor("norm.weight", " shape: found [1, 64], expected [64]")},
      {"head-of-integers", [=](EagleBuilder& b) { b.Of(head).dtype = "I32"; },
       tensor(head, " dtype: found I32, expected F32, F16 or BF16")},
      {"a-nan", [=](EagleBuilder& b) { b.Put(up, 3, std::numeric_limits<float>::quiet_NaN()); }, tensor(up, " value 3 at byte *")},
      {"an-infinity", [](EagleBuilder& b) { b.Put("norm.weight", 1, std::numeric_limits<float>::infinity()); },
       tensor("norm.weight", " value 1 at byte *")},
      {"a-bias", [](EagleBuilder& b) { b.tensors.push_back({"fc.bias", {1}, "F16", "xx"}); },
       tensor("fc.bias", ": found a tensor that no EAGLE-3 head has, expected those of the public layout alone")},
      {"no-tokens", [](EagleBuilder& b) { b.Remove("d2t"); }, tensor("d2t", ": found nothing, expected [40]")},
      {"tokens-of-floats", [](EagleBuilder& b) { b.Of("d2t").dtype = "F64"; }, tensor("d2t", " dtype: found F64, expected I64 or I32")},
      {"token-beyond", [](EagleBuilder& b) { b.Put<int64_t>("d2t", 3, 1000); },
       tensor("d2t", " value 3: found 1000, expected -3 to 261: a token of the model")},
      {"token-far-below", [=](EagleBuilder& b) { b.Put<int64_t>("d2t", 3, least); },
       tensor("d2t", absl::StrCat(" value 3: found ", least, ", expected -3 to 261: a token of the model"))},
      {"token-twice", [](EagleBuilder& b) { b.Put<int64_t>("d2t", 1, 1); },
       tensor("d2t", " value 1: found 1, expected another token than 2, which an earlier one is")},
      {"another-mask", [](EagleBuilder& b) { b.Put<char>("t2d", 0, 1); }, tensor("t2d", " value 0: found 1, expected 0, as d2t has it")},
      {"short-mask", [](EagleBuilder& b) { b.Reshape("t2d", {264}); }, tensor("t2d", " shape: found [264], expected [265]")},
      {"mask-of-halves", [](EagleBuilder& b) { b.Of("t2d").dtype = "F16", b.Reshape("t2d", {265}); },
       tensor("t2d", " dtype: found F16, expected BOOL or U8")},
      {"small-embeddings", [](EagleBuilder& b) { b.tensors.push_back({"embed_tokens.weight", {1, 64}, "F16", std::string(128, '\0')}); },
       tensor("embed_tokens.weight", " shape: found [1, 64], expected [265, 64]")},
  };
}

// Sets this key in the configuration.
inline BadEagleHead WithEagleKey(const std::string& name, const std::string& key, const std::string& json, const std::string& problem) {
  return {name, [=](EagleBuilder& b) { b.config[key] = json; }, absl::StrCat("FILE.json: ", problem)};
}

inline std::vector<BadEagleHead> BadEagleConfigurations() {
  const auto key = WithEagleKey;
  const auto layers = [=](const std::string& name, const std::string& list, const std::string& problem) {
    const std::string place = "eagle_config.eagle_aux_hidden_state_layer_ids";
    return key(name, "eagle_config", absl::StrCat("{\"eagle_aux_hidden_state_layer_ids\":", list, "}"), absl::StrCat(place, problem));
  };
  const std::string nothing = ", expected nothing: what it means is not computed here";
  return {
      key("another-width", "hidden_size", "65", "hidden_size: found 65, expected 64, the model's"),
      key("another-vocabulary", "vocab_size", "264", "vocab_size: found 264, expected 265, the model's"),
      key("two-layers", "num_hidden_layers", "2", "num_hidden_layers: found 2, expected 1"),
      key("no-heads", "num_attention_heads", "0", "num_attention_heads: found 0, expected an integer from 1 to 1048576"),
      key("heads-of-three", "num_key_value_heads", "3", "num_key_value_heads: found 3, expected a divisor of the 4 heads"),
      key("odd-heads", "head_dim", "15", "found 4 heads of 15, expected an even size, and at most 1048576 together"),
      key("vast-heads", "head_dim", "1048576", "found 4 heads of 1048576, expected an even size, and at most 1048576 together"),
      key("no-feed-forward", "intermediate_size", "0", "intermediate_size: found 0, expected an integer from 1 to 1048576"),
      key("large-vocabulary", "draft_vocab_size", "266", "draft_vocab_size: found 266, expected an integer from 1 to 265"),
      key("no-epsilon", "rms_norm_eps", "0", "rms_norm_eps: found 0, expected a number between 0 and 1"),
      key("base-1", "rope_theta", "1", "rope_theta: found 1, expected a finite number above 1"),
      key("scaled-rope", "rope_scaling", "{\"rope_type\":\"llama3\"}", "rope_scaling: found an object" + nothing),
      key("biases", "attention_bias", "true", "attention_bias: found true" + nothing),
      key("norm-first", "norm_before_residual", "true", "norm_before_residual: found true" + nothing),
      key("another-activation", "hidden_act", "\"gelu\"", "hidden_act: found \"gelu\", expected \"silu\""),
      key("layers-twice", "eagle_aux_hidden_state_layer_ids", "[0,1,2]",
          "found eagle_aux_hidden_state_layer_ids twice, expected it either here or in eagle_config, which count layers differently"),
      layers("layer-beyond", "[9]", "*"),
      layers("descending", "[1,0,-1]", ": found 1, 0, -1, expected ascending numbers"),
      layers("layers-a-text", "\"2\"", ": found \"2\", expected an array of integers"),
      {"no-layers", [](EagleBuilder& b) { b.config.erase("eagle_config"); },
       "FILE.json: found no eagle_aux_hidden_state_layer_ids, expected them, since the model has only 2 layers"},
      {"no-hidden-size", [](EagleBuilder& b) { b.config.erase("hidden_size"); }, "FILE.json: hidden_size*"},
      {"configuration-a-list", [](EagleBuilder& b) { b.whole_config = "[]"; }, "FILE.json: found an array, expected an object"},
      {"configuration-cut", [](EagleBuilder& b) { b.whole_config = "{\"hidden_size\":"; }, "FILE.json: *"},
      {"more-entries", [](EagleBuilder& b) { b.config["draft_vocab_size"] = "41"; },
       "FILE: tensor \"lm_head.weight\" shape: found [40, 64], expected [41, 64]"},
  };
}

// Keys that may change the computation, and keys that are not known to be harmless.
inline std::vector<BadEagleHead> BadEagleKeys() {
  const auto key = WithEagleKey;
  const auto below = [=](const std::string& name, const std::string& of, const std::string& json, const std::string& problem) {
    const std::string all = absl::StrCat("{\"eagle_aux_hidden_state_layer_ids\":[-1,0,1],\"", of, "\":", json, "}");
    return key(name, "eagle_config", all, absl::StrCat("eagle_config.", of, problem));
  };
  return {
      key("unknown-key", "rope_thetas", "10000",
          "rope_thetas: found it, expected keys of which it is known what they change; did you mean rope_theta?"),
      key("mixture-of-experts", "n_routed_experts", "8", "n_routed_experts: found it, expected keys of which it is known what they change"),
      key("a-window", "sliding_window", "512",
          "sliding_window: found one, expected nothing, or use_sliding_window false: all that was before is attended to here"),
      key("windowed-layers", "layer_types", "[\"full_attention\",\"sliding_attention\"]",
          "layer_types: found \"sliding_attention\", expected \"full_attention\" alone"),
      key("eagle-a-list", "eagle_config", "[]", "eagle_config: found an array, expected an object"),
      below("last-states-alone", "use_aux_hidden_state", "false",
            ": found false, expected true: another head is not computed here"),
      below("no-last-norm", "use_last_layernorm", "false", ": found false, expected true: another head is not computed here"),
      below("norms-of-mtp", "use_mtp_layernorm", "true", ": found true, expected false: another head is not computed here"),
      below("steps-at-once", "parallel_draft_step", "4", ": found 4, expected *"),
      below("unknown-below", "has_lm_head", "true", ": found it, expected keys of which it is known what they change"),
  };
}

inline std::vector<BadEagleHead> BadEagleHeads() {
  std::vector<BadEagleHead> rows = BadEagleTensors();
  for (BadEagleHead& row : BadEagleConfigurations()) rows.push_back(std::move(row));
  for (BadEagleHead& row : BadEagleKeys()) rows.push_back(std::move(row));
  return rows;
}

}  // namespace tessera

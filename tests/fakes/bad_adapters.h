// All known bad adapters, each with a name and the expected error message.
//
//   for (const BadPeft& row : BadPeftFolders()) Refuse(row.name, row.spoil, row.message);          // of a PeftBuilder
//   for (const BadGgufAdapter& row : BadGgufAdapters()) Refuse(row.name, row.spoil, row.message);  // of SmallGgufAdapter()
//
// For the tiny llama of tests/golden: 2 layers, 64 wide, 4 heads of 16, 2 of keys, 96 in the feed-forward part. Messages of folders omit
// the folder and "/"; FOLDER stands for the folder. Messages of GGUF files omit the file and ": ". A message that ends in * gives only the
// start of the expected message. Pure.
#pragma once

#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tessera/base/quoted.h"
#include "tessera/tests/fakes/adapter_builder.h"
#include "tessera/tests/fakes/gguf_builder.h"

namespace tessera {

struct BadPeft {
  std::string name;
  std::function<void(PeftBuilder&)> spoil;
  std::string message;
};

// Sets a key of the configuration to another value; `problem` is the rest of the message.
inline BadPeft BadPeftKey(const std::string& name, const std::string& key, const std::string& json, const std::string& problem) {
  return {name, [key, json](PeftBuilder& b) { b.config[key] = json; }, absl::StrCat("adapter_config.json: ", key, ": ", problem)};
}

inline std::vector<BadPeft> BadPeftKinds() {
  const auto refused = [](const std::string& key, const std::string& json, const std::string& found, const std::string& reason) {
    return BadPeftKey(absl::StrCat(key, "-given"), key, json, absl::StrCat("found ", found, ", expected nothing: ", reason));
  };
  const std::string others = ", expected true, false, gaussian, eva, orthogonal or mica: others change the weights of the model, too";
  return {
      BadPeftKey("another-kind", "peft_type", "\"IA3\"", "found \"IA3\", expected \"LORA\""),
      BadPeftKey("kind-a-number", "peft_type", "1", "found 1, expected a string"),
      BadPeftKey("another-task", "task_type", "\"SEQ_CLS\"", "found \"SEQ_CLS\", expected \"CAUSAL_LM\""),
      BadPeftKey("all-biases", "bias", "\"all\"", "found \"all\", expected \"none\": biases of the model are replaced"),
      BadPeftKey("biases-of-lora", "bias", "\"lora_only\"", "found \"lora_only\", expected \"none\": biases of the model are replaced"),
      BadPeftKey("begun-by-pissa", "init_lora_weights", "\"pissa\"", "found \"pissa\"" + others),
      BadPeftKey("begun-by-olora", "init_lora_weights", "\"olora\"", "found \"olora\"" + others),
      BadPeftKey("begun-by-lora-ga", "init_lora_weights", "\"lora_ga\"", "found \"lora_ga\"" + others),
      BadPeftKey("begun-by-loftq", "init_lora_weights", "\"loftq\"", "found \"loftq\"" + others),
      refused("use_dora", "true", "true", "DoRA also scales each output by a norm"),
      refused("use_qalora", "true", "true", "QALoRA takes means of groups of inputs"),
      refused("lora_bias", "true", "true", "B has a bias"),
      refused("fan_in_fan_out", "true", "true", "matrices of a linear layer are not transposed"),
      refused("modules_to_save", "[\"lm_head\"]", "an array", "whole modules are replaced"),
      refused("trainable_token_indices", "[1]", "an array", "rows of the embedding are replaced"),
      refused("target_parameters", "[\"x\"]", "an array", "parameters that are no linear layers are changed"),
      refused("layer_replication", "[[0,1]]", "an array", "the model has more layers than its file"),
      refused("alora_invocation_tokens", "[5]", "an array", "the adapter begins within the text"),
      refused("loftq_config", "{\"loftq_bits\":4}", "an object", "LoftQ changes the weights of the model, too"),
      refused("megatron_config", "{\"a\":1}", "an object", "the model is another implementation"),
      refused("use_bdlora", "{\"a\":1}", "an object", "matrices of blocks are another product"),
      refused("kasa_config", "{\"beta\":1}", "an object",
              "KaSA has numbers between A and B, and changes the weights of the model, too"),
      refused("monteclora_config", "{\"a\":1}", "an object", "MonteCLoRA draws numbers on top of A and B"),
      refused("arrow_config", "{\"a\":1}", "an object", "adapters are mixed row by row"),
      refused("use_new_kind", "0.5", "0.5", "what it means is not known"),
      {"configuration-cut", [](PeftBuilder& b) { b.whole_config = "{\"r\":"; }, "adapter_config.json: line 1, byte *"},
      {"configuration-a-list", [](PeftBuilder& b) { b.whole_config = "[]"; }, "adapter_config.json: found an array, expected an object"},
  };
}

inline std::vector<BadPeft> BadPeftNumbers() {
  const std::string ranks = ", expected an integer from 1 to 1024", nothing = ": found nothing, expected a value";
  const std::string query = Quoted(PeftName(0, PeftBuilder::kQuery, 'A'));
  const auto without = [&](const std::string& key) {
    return BadPeft{"without-" + key, [key](PeftBuilder& b) { b.config.erase(key); }, absl::StrCat("adapter_config.json: ", key, nothing)};
  };
  return {
      without("peft_type"), without("r"), without("lora_alpha"), without("target_modules"),
      BadPeftKey("rank-0", "r", "0", "found 0" + ranks),
      BadPeftKey("rank-1025", "r", "1025", "found 1025" + ranks),
      BadPeftKey("rank-a-text", "r", "\"8\"", "found \"8\"" + ranks),
      BadPeftKey("alpha-a-text", "lora_alpha", "\"x\"", "found \"x\", expected a number"),
      {"alpha-too-large", [](PeftBuilder& b) { b.config["lora_alpha"] = "1e300"; },
       absl::StrCat("adapter_model.safetensors: tensor ", query,
                    ": found a scale of 5e+299, expected one that is finite in FP32")},
      BadPeftKey("rslora-a-text", "use_rslora", "\"yes\"", "found \"yes\", expected true or false"),
      BadPeftKey("rank-pattern-a-list", "rank_pattern", "[]", "found an array, expected an object of ranks by module"),
      BadPeftKey("rank-pattern-that-looks-behind", "rank_pattern", "{\"x(?<=x)q\":2}",
                 "found \"x(?<=x)q\", expected a pattern that is read: byte 1: found \"(?<=\", expected (, (?:, (?P<name>, (?= or (?!"),
      BadPeftKey("alpha-patterns-too-long", "alpha_pattern", "{\"q{40000}\":2,\"v{10000}\":2}",
                 "found \"q{40000}\", expected a pattern that is read: found repeats of more than 65536 steps, expected less"),
      BadPeftKey("alpha-patterns-too-long-together", "alpha_pattern", "{\"q{30000}\":2,\"v{10000}\":2}",
                 "found \"v{10000}\", expected patterns of 65536 steps together"),
      {"rank-pattern-of-another-rank", [](PeftBuilder& b) { b.config["rank_pattern"] = "{\"q_proj\":4}"; },
       absl::StrCat("adapter_model.safetensors: tensor ", query,
                    ": found 2 x 64, expected 4 rows, the rank in FOLDER/adapter_config.json")},
      {"alpha-pattern-of-texts", [](PeftBuilder& b) { b.config["alpha_pattern"] = "{\"q_proj\":\"x\"}"; },
       "adapter_config.json: alpha_pattern.q_proj: found \"x\", expected a number"},
      BadPeftKey("no-targets", "target_modules", "[]", "found an array, expected names of modules, or a pattern"),
      BadPeftKey("targets-null", "target_modules", "null", "found null, expected names of modules, or a pattern"),
      BadPeftKey("layers-called-otherwise", "layers_pattern", "\"h\"", "found \"h\", expected nothing without layers_to_transform"),
  };
}

inline std::vector<BadPeft> BadPeftModules() {
  const std::string query = "\"model.layers.0.self_attn.q_proj\"", down = "\"model.layers.1.mlp.down_proj\"";
  const auto none = [](const std::string& module) {
    return absl::StrCat("found none that means ", module, ", expected one: it has an A or B");
  };
  const auto two = [](const std::string& name, const std::string& key, const std::string& json, const BadPeft& other) {
    return BadPeft{name, [=](PeftBuilder& b) { b.config[key] = json, other.spoil(b); }, other.message};
  };
  return {
      BadPeftKey("targets-a-number", "target_modules", "1", "found 1, expected names of modules, or a pattern"),
      BadPeftKey("targets-a-list-of-patterns", "target_modules", "[\"q_.*\"]", none(query)),
      BadPeftKey("targets-an-open-pattern", "target_modules", "\"x(\"",
                 "found \"x(\", expected a pattern that is read: byte 1: found \"(\", expected a \")\" for it"),
      BadPeftKey("targets-another-pattern", "target_modules", "\".*q_proj\"", none(down)),
      BadPeftKey("targets-a-pattern-of-a-part", "target_modules", "\"q_proj|down_proj\"", none(query)),
      BadPeftKey("target-missing", "target_modules", "[\"q_proj\"]", none(down)),
      two("target-drawn", "target_modules", "[\"q_proj\",\"down_proj\"]",
          BadPeftKey("", "init_lora_weights", "false", "found false, expected true: \"model.layers.0.mlp.down_proj\" has no A and B in the "
                                                       "file, and PEFT would draw them")),
      BadPeftKey("target-excluded", "exclude_modules", "[\"down_proj\"]",
                 absl::StrCat("found one that means ", down, ", expected none: it has an A or B")),
      BadPeftKey("target-excluded-by-a-pattern", "exclude_modules", "\".*1.*down_proj\"",
                 absl::StrCat("found one that means ", down, ", expected none: it has an A or B")),
      BadPeftKey("layer-not-transformed", "layers_to_transform", "[0]",
                 "found no 1, expected it: \"model.layers.1.self_attn.q_proj\" has an A or B"),
      two("layers-beside-a-pattern", "target_modules", "\".*\"",
          BadPeftKey("", "layers_to_transform", "[0,1]", "found an array, expected nothing beside one pattern in target_modules")),
      two("layers-in-another-list", "layers_to_transform", "[0,1]", BadPeftKey("", "layers_pattern", "[\"h\"]", none(query))),
      two("layers-by-a-pattern", "layers_to_transform", "[0,1]",
          BadPeftKey("", "layers_pattern", "\"l.*s\"",
                     "found \"l.*s\", expected names of letters, digits, _ and . alone: patterns are not read here")),
  };
}

// Gives tensors other names.
inline std::vector<BadPeft> BadPeftNames() {
  const auto called = [](const std::string& name, const std::string& tensor_name, const std::string& problem) {
    return BadPeft{name, [tensor_name](PeftBuilder& builder) { builder.tensors[0].name = tensor_name; },
                   absl::StrCat("adapter_model.safetensors: tensor ", Quoted(tensor_name), ": ", problem)};
  };
  const std::string form = "found this name, expected base_model.model.model.layers.N.MODULE.lora_A.weight or .lora_B.weight, *";
  const std::string prefix = "base_model.model.model.layers.0.self_attn.q_proj.";
  return {
      called("layer-2", PeftName(2, PeftBuilder::kQuery, 'A'), "found layer 2, expected 0 to 1, the layers of the model"),
      called("layer-with-zero", "base_model.model.model.layers.00.self_attn.q_proj.lora_A.weight", form),
      called("layer-negative", "base_model.model.model.layers.-1.self_attn.q_proj.lora_A.weight", form),
      called("layer-too-large", "base_model.model.model.layers.4294967296.self_attn.q_proj.lora_A.weight", form),
      called("head", "base_model.model.lm_head.lora_A.weight", "found an adapter of the head, expected those of layers alone"),
      called("head-saved-whole", "base_model.model.lm_head.modules_to_save.weight", "found an adapter of the head, *"),
      called("pictures", "base_model.model.vision_tower.encoder.layers.0.self_attn.q_proj.lora_A.weight",
             "found an adapter of what sees pictures, expected those of the text's layers alone"),
      called("experts", "base_model.model.model.layers.0.mlp.experts.3.down_proj.lora_A.weight",
             "found an adapter of experts, expected those of linear layers alone"),
      called("norm", PeftName(0, "input_layernorm", 'A'), form),
      called("other-half", prefix + "lora_C.weight", form),
      called("another-prefix", "base_model.model.transformer.layers.0.self_attn.q_proj.lora_A.weight", form),
      called("named-adapter", prefix + "lora_A.pirate.weight", form),
      called("named-twice", prefix + "lora_A.default.default.weight", form),
      called("mlx", "model.layers.0.self_attn.q_proj.lora_a", form),
      called("dora", prefix + "lora_magnitude_vector.weight", "found a norm of DoRA, expected A and B of LoRA alone"),
      called("embedding-by-a-linear-one", "base_model.model.model.embed_tokens.lora_A.weight",
             "found an adapter of the embedding, expected those of linear layers alone"),
      called("embedding", "base_model.model.model.embed_tokens.lora_embedding_A",
             "found an adapter of an embedding, expected those of linear layers alone"),
      called("bias", prefix + "lora_B.bias", "found a bias, expected A and B alone"),
  };
}

inline std::vector<BadPeft> BadPeftTensors() {
  const std::string a = PeftName(0, PeftBuilder::kQuery, 'A'), b = PeftName(0, PeftBuilder::kQuery, 'B');
  const std::string file = "adapter_model.safetensors: ", tensor = file + "tensor ";
  const std::string first = tensor + Quoted(a), second = tensor + Quoted(b);
  const auto sized = [](const std::string& name, int index, std::vector<int64_t> shape, const std::string& message) {
    return BadPeft{name, [index, shape](PeftBuilder& builder) { builder.tensors[static_cast<size_t>(index)].shape = shape; }, message};
  };
  return {
      {"no-tensors", [](PeftBuilder& builder) { builder.tensors.clear(); },
       file + "found no A and B, expected those of one matrix or more"},
      {"without-A", [](PeftBuilder& builder) { builder.tensors.erase(builder.tensors.begin()); },
       second + ": found no A beside it, expected both A and B"},
      {"without-B", [](PeftBuilder& builder) { builder.tensors.erase(builder.tensors.begin() + 1); },
       first + ": found no B beside it, expected both A and B"},
      sized("inputs-of-another-model", 0, {2, 65}, first + ": found 2 x 65, expected 2 x 64, the inputs of blk.0.attn_q.weight"),
      sized("transposed", 0, {64, 2}, first + ": found 64 x 2, expected 64 x 64, the inputs of blk.0.attn_q.weight"),
      sized("outputs-of-another-model", 1, {63, 2}, second + ": found 63 x 2, expected 64 x 2, the outputs of blk.0.attn_q.weight"),
      {"halves-of-two-modules", [](PeftBuilder& builder) { builder.tensors[1].name = "language_" + builder.tensors[1].name.substr(11); },
       tensor + "\"language_model.model.layers.0.self_attn.q_proj.lora_B.weight\": found module "
                "\"language_model.model.layers.0.self_attn.q_proj\", expected \"model.layers.0.self_attn.q_proj\", that of its A"},
      {"named-in-two-ways", [a](PeftBuilder& builder) { builder.tensors.push_back({a.substr(17), {2, 64}}); },
       absl::StrCat(tensor, Quoted(a.substr(17)), ": found ", Quoted(a), ", too, expected one of them")},
      sized("ranks-differ", 1, {64, 3}, absl::StrCat(second, ": found 64 x 3, expected 64 x 2, the rank of ", Quoted(a))),
      sized("rank-of-nothing", 0, {0, 64}, first + ": found 0 x 64, expected a rank of 1 to 1024, its rows"),
      sized("one-dimension", 0, {128}, first + " shape: found 1 dimensions, expected 2"),
      {"integers", [](PeftBuilder& builder) { builder.tensors[0].dtype = "I8"; }, first + " dtype: found I8, expected F32, F16 or BF16"},
      {"infinity", [](PeftBuilder& builder) { builder.numbers[{1, 5}] = 0x7c00; }, second + " value 5 at byte *"},
      {"mark-a-text", [](PeftBuilder& builder) { builder.metadata = "{\"tessera.model.vectors\":\"x\"}"; },
       file + "metadata \"tessera.model.vectors\": found \"x\", expected a number"},
      {"mark-of-another", [](PeftBuilder& builder) { builder.metadata = "{\"tessera.model.vectors\":\"1\"}"; },
       file + "metadata \"tessera.model.vectors\": found 1, expected *"},
  };
}

inline std::vector<BadPeft> BadPeftFolders() {
  std::vector<BadPeft> folders;
  for (const auto& table : {BadPeftKinds(), BadPeftNumbers(), BadPeftModules(), BadPeftNames(), BadPeftTensors()}) {
    folders.insert(folders.end(), table.begin(), table.end());
  }
  return folders;
}

struct BadGgufAdapter {
  std::string name;
  std::function<void(GgufBuilder&)> spoil;
  std::string message;
};

inline constexpr char kGgufHalfA[] = "blk.0.attn_q.weight.lora_a", kGgufHalfB[] = "blk.0.attn_q.weight.lora_b";

inline GgufBuilder SmallGgufAdapter() {
  GgufBuilder builder;
  builder.String("general.architecture", "llama").String("general.type", "adapter").String("adapter.type", "lora");
  builder.Number("adapter.lora.alpha", 6.0f).String("general.name", "small");
  builder.Tensor(kGgufHalfA, {64, 2}, 1, std::string(256, '\1')).Tensor(kGgufHalfB, {2, 64}, 1, std::string(256, '\2'));
  return builder;
}

inline std::vector<BadGgufAdapter> BadGgufAdapterKeys() {
  using B = GgufBuilder;
  const auto text = [](const std::string& name, const std::string& key, const std::string& value) {
    return BadGgufAdapter{name, [key, value](B& b) { b.Remove(key).String(key, value); },
                          absl::StrCat("metadata \"", key, "\" value at byte *")};
  };
  const auto without = [](const std::string& key, const std::string& expected) {
    return BadGgufAdapter{"without-" + key, [key](B& b) { b.Remove(key); },
                          absl::StrCat("metadata \"", key, "\": found no such key, expected ", expected)};
  };
  const auto alpha = [](const std::string& name, float value) {
    return BadGgufAdapter{name, [value](B& b) { b.Remove("adapter.lora.alpha").Number("adapter.lora.alpha", value); },
                          "metadata \"adapter.lora.alpha\" value at byte *"};
  };
  return {
      text("another-architecture", "general.architecture", "qwen3"), text("a-model", "general.type", "model"),
      text("another-kind", "adapter.type", "control_vector"), text("alpha-a-text", "adapter.lora.alpha", "6"),
      without("general.type", "\"adapter\", as an adapter has it"), without("adapter.type", "\"lora\", as an adapter has it"),
      alpha("alpha-infinite", std::numeric_limits<float>::infinity()), alpha("alpha-nan", std::numeric_limits<float>::quiet_NaN()),
      {"prompt-prefix", [](B& b) { b.String("adapter.lora.prompt_prefix", "x"); },
       "metadata \"adapter.lora.prompt_prefix\" value at byte *"},
      {"key-not-known", [](B& b) { b.Numbers<uint32_t>("adapter.alora.invocation_tokens", {5}); },
       "metadata \"adapter.alora.invocation_tokens\" value at byte *"},
      {"mark-of-another", [](B& b) { b.Number<uint32_t>("tessera.model.vectors", 1); },
       "metadata \"tessera.model.vectors\": found 1, expected *"},
  };
}

// Adds a tensor of FP16, or replaces the tensor with this name.
inline BadGgufAdapter BadGgufTensor(const std::string& name, const std::string& tensor, const std::vector<uint64_t>& shape,
                                    const std::string& problem, bool instead = false) {
  uint64_t numbers = 1;
  for (const uint64_t length : shape) numbers *= length;
  const std::string bytes(2 * numbers, '\1');
  return {name,
          [=](GgufBuilder& b) {
            if (instead) b.RemoveTensor(tensor);
            b.Tensor(tensor, shape, /*F16*/ 1, bytes);
          },
          absl::StrCat("tensor \"", tensor, "\": ", problem)};
}

inline std::vector<BadGgufAdapter> BadGgufAdapterTensors() {
  using B = GgufBuilder;
  const auto sized = [](const std::string& name, const char* half, const std::vector<uint64_t>& shape, const std::string& problem) {
    return BadGgufTensor(name, half, shape, problem, /*instead=*/true);
  };
  const std::string form = "found this name, expected blk.N.MATRIX.weight.lora_a or .lora_b, *";
  return {
      BadGgufTensor("embedding", "token_embd.weight.lora_a", {64, 2}, form), BadGgufTensor("norm", "blk.0.attn_norm.weight", {64}, form),
      BadGgufTensor("third-half", "blk.0.attn_k.weight.lora_c", {64, 2}, form),
      BadGgufTensor("no-layer", "blk.x.attn_k.weight.lora_a", {64, 2}, form),
      BadGgufTensor("layer-2", "blk.2.attn_k.weight.lora_a", {64, 2}, "found layer 2, expected 0 to 1, the layers of the model"),
      BadGgufTensor("half-alone", "blk.1.attn_k.weight.lora_b", {2, 32}, "found no A beside it, expected both A and B"),
      sized("three-dimensions", kGgufHalfA, {32, 2, 2}, "found 3 dimensions, expected 2"),
      sized("inputs-of-another-model", kGgufHalfA, {65, 2}, "found 2 x 65, expected 2 x 64, the inputs of blk.0.attn_q.weight"),
      sized("outputs-of-another-model", kGgufHalfB, {2, 63}, "found 63 x 2, expected 64 x 2, the outputs of blk.0.attn_q.weight"),
      sized("ranks-differ", kGgufHalfB, {4, 64}, absl::StrCat("found 64 x 4, expected 64 x 2, the rank of ", Quoted(kGgufHalfA))),
      {"no-tensors", [](B& b) { b.RemoveTensor(kGgufHalfA).RemoveTensor(kGgufHalfB); },
       "found no A and B, expected those of one matrix or more"},
      {"infinity", [](B& b) { b.RemoveTensor(kGgufHalfB).Tensor(kGgufHalfB, {2, 64}, 1, std::string(256, '\x7c')); },
       absl::StrCat("tensor ", kGgufHalfB, ": F16 value 0 at byte *")},
  };
}

inline std::vector<BadGgufAdapter> BadGgufAdapters() {
  std::vector<BadGgufAdapter> files = BadGgufAdapterKeys();
  for (BadGgufAdapter& file : BadGgufAdapterTensors()) files.push_back(std::move(file));
  return files;
}

}  // namespace tessera

#include "tessera/apps/cli/other_names.h"

#include <algorithm>
#include <iterator>

namespace tessera {
namespace {

constexpr char kStreams[] = "text is always written as it comes, so leave it out";
constexpr char kLayers[] = "every layer is computed on the CPU, so leave it out";
constexpr char kRows[] = "the rows of a pass are chosen by what they cost, so leave it out";
constexpr char kMapped[] = "weights are held in memory, at most as many as --memory_budget allows, so leave it out";

// Those of llama.cpp, Ollama, vLLM, transformers, MLX and services.
constexpr OtherName kNames[] = {
    {"m", "model", ""}, {"model_path", "model", ""}, {"hf", "model", ""}, {"hf_repo", "model", ""},
    {"t", "threads", ""}, {"threads_batch", "threads", ""}, {"tb", "threads", ""}, {"num_threads", "threads", ""},
    {"c", "context", ""}, {"ctx", "context", ""}, {"ctx_size", "context", ""}, {"n_ctx", "context", ""}, {"num_ctx", "context", ""},
    {"context_length", "context", ""}, {"max_model_len", "context", ""}, {"max_kv_size", "context", ""},
    {"n", "n_predict", ""}, {"max_tokens", "n_predict", ""}, {"max_new_tokens", "n_predict", ""}, {"num_predict", "n_predict", ""},
    {"predict", "n_predict", ""}, {"max_completion_tokens", "n_predict", ""},
    {"p", "prompt", ""}, {"f", "prompt_file", ""}, {"file", "prompt_file", ""},
    {"sys", "system", ""}, {"system_prompt", "system", ""},
    {"i", "chat", ""}, {"interactive", "chat", ""}, {"cnv", "chat", ""}, {"conversation", "chat", ""},
    {"no_cnv", "raw", ""}, {"no_conversation", "raw", ""}, {"no_chat_template", "raw", ""}, {"ignore_chat_template", "raw", ""},
    {"temp", "temperature", ""}, {"topk", "top_k", ""}, {"topp", "top_p", ""}, {"minp", "min_p", ""},
    {"repeat_penalty", "repetition_penalty", ""}, {"s", "seed", ""}, {"random_seed", "seed", ""},
    {"r", "stop", ""}, {"reverse_prompt", "stop", ""}, {"stop_sequences", "stop", ""}, {"stop_strings", "stop", ""},
    {"cache_type_k", "kv_format", ""}, {"ctk", "kv_format", ""}, {"cache_type_v", "kv_format", ""}, {"ctv", "kv_format", ""},
    {"kv_cache_dtype", "kv_format", ""}, {"kv_bits", "kv_format", ""},
    {"draft", "speculate", ""}, {"draft_max", "speculate", ""}, {"lookup", "speculate", ""}, {"spec_type", "speculate", ""},
    {"perf", "stats", ""}, {"verbose", "stats", ""}, {"v", "stats", ""}, {"timings", "stats", ""},
    {"o", "out", ""}, {"output", "out", ""}, {"output_file", "out", ""}, {"type", "format", ""}, {"outtype", "format", ""},
    {"stream", "", kStreams}, {"no_stream", "", kStreams},
    {"ngl", "", kLayers}, {"n_gpu_layers", "", kLayers}, {"gpu_layers", "", kLayers}, {"num_gpu", "", kLayers},
    {"b", "", kRows}, {"batch_size", "", kRows}, {"ub", "", kRows}, {"ubatch_size", "", kRows},
    {"mlock", "", kMapped}, {"mmap", "", kMapped}, {"no_mmap", "", kMapped},
    {"fa", "", "attention never stores its scores, so leave it out"},
    {"flash_attn", "", "attention never stores its scores, so leave it out"},
    {"jinja", "", "the file's chat template is used unless --chat_template names another, so leave it out"},
};

}  // namespace

const OtherName* FindOtherName(absl::string_view theirs) {
  const auto is_it = [&](const OtherName& name) { return name.theirs == theirs; };
  const auto* const found = std::find_if(std::begin(kNames), std::end(kNames), is_it);
  return found == std::end(kNames) ? nullptr : found;
}

}  // namespace tessera

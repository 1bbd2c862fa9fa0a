#include "tessera/apps/cli/other_names.h"

#include <algorithm>
#include <iterator>

namespace tessera {
namespace {

constexpr char kStreams[] = "text is always written as it comes, so leave it out";
constexpr char kLayers[] = "every layer is computed on the CPU, so leave it out";
constexpr char kRows[] = "the rows of a pass are chosen by what they cost, so leave it out";
constexpr char kBase[] = "an adapter changes the model of --model, so leave it out";
constexpr char kVector[] = "vectors are not added to hidden states; adapters are read (--adapter)";
constexpr char kGrammar[] = "answers cannot be bound to a grammar; ask for the form in the prompt, and check the answer";
constexpr char kSampler[] = "there is no such sampler; --temperature, --top_k, --top_p, --min_p and --repetition_penalty are there";
constexpr char kLogs[] = "messages go to standard error, so turn that to where you want them";
constexpr char kServer[] = "no program here is a server; --jsonl answers requests from standard input";
constexpr char kImages[] = "only text is read";
constexpr char kRope[] = "positions are computed as the model's file says, so leave it out";
constexpr char kWarm[] = "no pass is computed to warm up, so leave it out";
constexpr char kMapped[] = "weights are held in memory, at most as many as --memory_budget allows, so leave it out";

constexpr char kProbabilities[] = "probabilities are not written beside an answer; tessera_logits shows them for a given text";
constexpr char kEmbedding[] = "a text's embedding is not computed; tessera_quantize states writes hidden states, of which one can be made";
constexpr char kNuma[] = "memory lies where the system puts it; numactl starts a program on one node";
constexpr char kCpus[] = "threads run where the system puts them, and --threads=N says how many; taskset starts a program on some CPUs";
constexpr char kShift[] = "nothing is shifted out of a full context: the answer ends there, and --context=N makes room";

// Names of llama.cpp, Ollama, vLLM, transformers, MLX and services.
constexpr OtherName kNames[] = {
    {"m", "model", ""}, {"model_path", "model", ""}, {"hf", "model", ""}, {"hf_repo", "model", ""},
    {"t", "threads", ""}, {"threads_batch", "threads", ""}, {"tb", "threads", ""}, {"num_threads", "threads", ""},
    {"c", "context", ""}, {"ctx", "context", ""}, {"ctx_size", "context", ""}, {"n_ctx", "context", ""}, {"num_ctx", "context", ""},
    {"context_length", "context", ""}, {"max_model_len", "context", ""}, {"max_kv_size", "context", ""},
    {"n", "n_predict", ""}, {"max_tokens", "n_predict", ""}, {"max_new_tokens", "n_predict", ""}, {"num_predict", "n_predict", ""},
    {"predict", "n_predict", ""}, {"max_completion_tokens", "n_predict", ""},
    {"p", "prompt", ""}, {"f", "prompt_file", ""}, {"file", "prompt_file", ""}, {"input", "prompt_file", ""},
    {"bf", "prompt_file", ""}, {"binary_file", "prompt_file", ""}, {"prompt_cache", "session", ""},
    {"sys", "system", ""}, {"system_prompt", "system", ""},
    {"i", "chat", ""}, {"interactive", "chat", ""}, {"cnv", "chat", ""}, {"conversation", "chat", ""},
    {"interactive_first", "chat", ""}, {"if", "chat", ""}, {"multi_turn", "chat", ""}, {"chat_template_kwargs", "template_args", ""},
    {"no_cnv", "raw", ""}, {"no_conversation", "raw", ""}, {"no_chat_template", "raw", ""}, {"ignore_chat_template", "raw", ""},
    {"temp", "temperature", ""}, {"topk", "top_k", ""}, {"topp", "top_p", ""}, {"minp", "min_p", ""},
    {"repeat_last_n", "penalty_window", ""}, {"repetition_context_size", "penalty_window", ""},
    {"repeat_penalty", "repetition_penalty", ""}, {"s", "seed", ""}, {"random_seed", "seed", ""},
    {"r", "stop", ""}, {"reverse_prompt", "stop", ""}, {"stop_sequences", "stop", ""}, {"stop_strings", "stop", ""},
    {"cache_type_k", "kv_format", ""}, {"ctk", "kv_format", ""}, {"cache_type_v", "kv_format", ""}, {"ctv", "kv_format", ""},
    {"kv_cache_dtype", "kv_format", ""}, {"kv_bits", "kv_format", ""},
    {"draft", "speculate", ""}, {"draft_max", "speculate", ""}, {"draft_n", "speculate", ""}, {"draft_min", "speculate", ""},
    {"lookup", "speculate", ""}, {"spec_type", "speculate", ""},
    {"np", "parallel", ""}, {"n_parallel", "parallel", ""}, {"num_parallel", "parallel", ""}, {"max_num_seqs", "parallel", ""},
    {"num_return_sequences", "answers", ""}, {"n_samples", "answers", ""}, {"num_samples", "answers", ""},
    {"perf", "stats", ""}, {"verbose", "stats", ""}, {"v", "stats", ""}, {"timings", "stats", ""},
    {"o", "out", ""}, {"output", "out", ""}, {"output_file", "out", ""}, {"type", "format", ""}, {"outtype", "format", ""},
    {"stream", "", kStreams}, {"no_stream", "", kStreams},
    {"ngl", "", kLayers}, {"n_gpu_layers", "", kLayers}, {"gpu_layers", "", kLayers}, {"num_gpu", "", kLayers},
    {"b", "", kRows}, {"batch_size", "", kRows}, {"ub", "", kRows}, {"ubatch_size", "", kRows},
    {"mlock", "", kMapped}, {"mmap", "", kMapped}, {"no_mmap", "", kMapped},
    {"fa", "", "attention never stores its scores, so leave it out"},
    {"flash_attn", "", "attention never stores its scores, so leave it out"},
    {"md", "draft_model", ""}, {"model_draft", "draft_model", ""}, {"assistant_model", "draft_model", ""}, {"ngld", "", kLayers},
    {"lora", "adapter", ""}, {"lora_scaled", "adapter", ""}, {"adapter_path", "adapter", ""}, {"adapters", "adapter", ""},
    {"lora_modules", "adapter", ""}, {"lora_base", "", kBase}, {"control_vector", "", kVector},
    {"grammar", "", kGrammar}, {"grammar_file", "", kGrammar}, {"json_schema", "", kGrammar}, {"json_schema_file", "", kGrammar},
    {"j", "", kGrammar}, {"response_format", "", kGrammar},
    {"mirostat", "", kSampler}, {"typical", "", kSampler}, {"typical_p", "", kSampler}, {"tfs", "", kSampler}, {"samplers", "", kSampler},
    {"presence_penalty", "", kSampler}, {"frequency_penalty", "", kSampler}, {"dry_multiplier", "", kSampler},
    {"xtc_probability", "", kSampler}, {"top_nsigma", "", kSampler}, {"dynatemp_range", "", kSampler}, {"logit_bias", "", kSampler},
    {"log_disable", "", kLogs}, {"log_file", "", kLogs}, {"log_verbosity", "", kLogs}, {"lv", "", kLogs}, {"no_perf", "", kLogs},
    {"port", "", kServer}, {"host", "", kServer}, {"cont_batching", "", kServer},
    {"mmproj", "", kImages}, {"image", "", kImages},
    {"rope_scaling", "", kRope}, {"rope_scale", "", kRope}, {"rope_freq_base", "", kRope}, {"rope_freq_scale", "", kRope},
    {"warmup", "", kWarm}, {"no_warmup", "", kWarm},
    {"split_mode", "", kLayers}, {"sm", "", kLayers}, {"tensor_split", "", kLayers}, {"ts", "", kLayers}, {"main_gpu", "", kLayers},
    {"mg", "", kLayers}, {"device", "", kLayers}, {"dev", "", kLayers}, {"cpu_moe", "", kLayers}, {"n_cpu_moe", "", kLayers},
    {"logprobs", "", kProbabilities}, {"top_logprobs", "", kProbabilities}, {"n_probs", "", kProbabilities},
    {"logits_all", "", kProbabilities}, {"all_logits", "", kProbabilities},
    {"embedding", "", kEmbedding}, {"embeddings", "", kEmbedding}, {"pooling", "", kEmbedding},
    {"numa", "", kNuma}, {"cpu_mask", "", kCpus}, {"C", "", kCpus}, {"cpu_mask_batch", "", kCpus}, {"Cb", "", kCpus},
    {"cpu_range", "", kCpus}, {"Cr", "", kCpus}, {"cpu_range_batch", "", kCpus}, {"Crb", "", kCpus},
    {"cpu_strict", "", kCpus}, {"cpu_strict_batch", "", kCpus}, {"prio", "", kCpus}, {"prio_batch", "", kCpus},
    {"poll", "", kCpus}, {"poll_batch", "", kCpus},
    {"context_shift", "", kShift}, {"no_context_shift", "", kShift}, {"keep", "", kShift}, {"n_keep", "", kShift},
    {"ignore_eos", "", "an answer ends where the model ends it, so leave it out"},
    {"e", "", "texts of flags are taken as they are: let the shell write line breaks, as in $'two\\nlines'"},
    {"escape", "", "texts of flags are taken as they are: let the shell write line breaks, as in $'two\\nlines'"},
    {"jinja", "", "the file's chat template is used unless --chat_template names another, so leave it out"},
};

}  // namespace

absl::Span<const OtherName> OtherNames() { return kNames; }

const OtherName* FindOtherName(absl::string_view theirs) {
  const auto is_it = [&](const OtherName& name) { return name.theirs == theirs; };
  const auto* const found = std::find_if(std::begin(kNames), std::end(kNames), is_it);
  return found == std::end(kNames) ? nullptr : found;
}

}  // namespace tessera

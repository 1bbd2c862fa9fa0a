#include "tessera/runtime/chat/other_fields.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tessera/base/nearest_name.h"

namespace tessera {
namespace {

constexpr char kProbabilities[] = "probabilities are not written beside an answer: tessera_logits shows them for a given text";
constexpr char kForm[] = "answers cannot be bound to a form: ask for it in the prompt, and check the answer";
constexpr char kCalls[] = "which tool is called is the model's choice: the chat template shows it the tools of the field tools";
constexpr char kWhole[] = "an answer is one line, written when it is whole, so leave it out";
constexpr char kModel[] = "all requests are answered by the program's model, so leave it out";
constexpr char kSampler[] = "there is no such sampler: temperature, top_k, top_p, min_p and repetition_penalty are there";
constexpr char kRecords[] = "nothing is kept of a request, so leave it out";
constexpr char kCache[] = "prefixes that requests share are computed once in any case, so leave it out";
constexpr char kContext[] = "all requests have the program's context: one that is full ends its answer";
constexpr char kEnd[] = "an answer ends where the model ends it, so leave it out";
constexpr char kMiddle[] = "an answer goes on from the end of its prompt alone";
constexpr char kInside[] = "what it holds stands in the request itself: temperature, top_k and others";
constexpr char kText[] = "only text is read and written";

// Fields of other engines' servers, and of services.
constexpr OtherField kFields[] = {
    {"max_tokens", "n_predict", ""}, {"max_completion_tokens", "n_predict", ""}, {"max_new_tokens", "n_predict", ""},
    {"max_output_tokens", "n_predict", ""}, {"num_predict", "n_predict", ""}, {"max_length", "n_predict", ""},
    {"prompt", "text", ""}, {"input", "text", ""}, {"inputs", "text", ""}, {"content", "text", ""}, {"query", "text", ""},
    {"input_ids", "tokens", ""}, {"prompt_token_ids", "tokens", ""}, {"chat", "messages", ""}, {"conversation", "messages", ""},
    {"system", "messages", ""}, {"system_prompt", "messages", ""}, {"instructions", "messages", ""},
    {"temp", "temperature", ""}, {"repeat_penalty", "repetition_penalty", ""}, {"repeat_last_n", "penalty_window", ""},
    {"stop_sequences", "stop", ""}, {"stop_strings", "stop", ""}, {"random_seed", "seed", ""},
    {"num_return_sequences", "answers", ""}, {"lora", "adapter", ""}, {"lora_request", "adapter", ""},
    {"chat_template_kwargs", "template_args", ""}, {"functions", "tools", ""},
    {"logprobs", "", kProbabilities}, {"top_logprobs", "", kProbabilities}, {"n_probs", "", kProbabilities},
    {"prompt_logprobs", "", kProbabilities}, {"post_sampling_probs", "", kProbabilities},
    {"response_format", "", kForm}, {"format", "", kForm}, {"grammar", "", kForm}, {"json_schema", "", kForm}, {"guided_json", "", kForm},
    {"guided_regex", "", kForm}, {"guided_choice", "", kForm}, {"guided_grammar", "", kForm},
    {"tool_choice", "", kCalls}, {"parallel_tool_calls", "", kCalls}, {"function_call", "", kCalls},
    {"stream", "", kWhole}, {"stream_options", "", kWhole}, {"model", "", kModel}, {"keep_alive", "", kModel},
    {"presence_penalty", "", kSampler}, {"frequency_penalty", "", kSampler}, {"logit_bias", "", kSampler}, {"mirostat", "", kSampler},
    {"mirostat_tau", "", kSampler}, {"mirostat_eta", "", kSampler}, {"typical_p", "", kSampler}, {"tfs_z", "", kSampler},
    {"top_a", "", kSampler}, {"top_n_sigma", "", kSampler}, {"xtc_probability", "", kSampler}, {"xtc_threshold", "", kSampler},
    {"dry_multiplier", "", kSampler}, {"dry_base", "", kSampler}, {"dry_allowed_length", "", kSampler}, {"dynatemp_range", "", kSampler},
    {"samplers", "", kSampler}, {"bad_words", "", kSampler},
    {"user", "", kRecords}, {"metadata", "", kRecords}, {"store", "", kRecords}, {"service_tier", "", kRecords},
    {"cache_prompt", "", kCache}, {"id_slot", "", kCache}, {"n_cache_reuse", "", kCache},
    {"num_ctx", "", kContext}, {"n_keep", "", kContext}, {"n_discard", "", kContext}, {"truncate_prompt_tokens", "", kContext},
    {"ignore_eos", "", kEnd}, {"min_tokens", "", kEnd}, {"suffix", "", kMiddle}, {"echo", "", kMiddle}, {"input_prefix", "", kMiddle},
    {"input_suffix", "", kMiddle}, {"options", "", kInside}, {"sampling_params", "", kInside}, {"parameters", "", kInside},
    {"images", "", kText}, {"image_data", "", kText}, {"audio", "", kText}, {"modalities", "", kText},
};

}  // namespace

absl::Span<const OtherField> OtherFields() { return kFields; }

std::string ForeignFieldHint(absl::string_view name, absl::Span<const absl::string_view> known) {
  const auto* const found = std::find_if(std::begin(kFields), std::end(kFields), [&](const OtherField& one) { return one.theirs == name; });
  if (found != std::end(kFields)) {
    if (*found->ours == 0) return absl::StrCat("; ", found->note);
    if (std::find(known.begin(), known.end(), found->ours) != known.end()) return absl::StrCat("; did you mean ", found->ours, "?");
  }
  return DidYouMean(name, {known.begin(), known.end()});
}

}  // namespace tessera

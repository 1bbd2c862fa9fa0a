#include "tessera/model/files/architectures/family_sampling.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace tessera {
namespace {

constexpr FamilySampling kRows[] = {
    {.family = "SmolLM2",
     .source = "model cards of SmolLM2-135M-Instruct, -360M-Instruct and -1.7B-Instruct",
     .architecture = "llama",
     .basenames = "smollm2",
     .has_template = true,
     .temperature = 0.2f,
     .top_p = 0.9f},
    {.family = "Llama 3",
     .source = "generation_config.json of Meta-Llama-3-8B-Instruct, Llama-3.1-8B-Instruct and Llama-3.2-1B-Instruct",
     .architecture = "llama",
     .basenames = "llama-3,llama-3.1,llama-3.2,llama-3.3,meta-llama-3,meta-llama-3.1",
     .with = "instruct",
     .temperature = 0.6f,
     .top_p = 0.9f},
    {.family = "Qwen2.5 up to 1.5B",
     .source = "generation_config.json of Qwen2.5-0.5B-Instruct, Qwen2.5-1.5B-Instruct and Qwen2.5-Coder-7B-Instruct",
     .architecture = "qwen2",
     .basenames = "qwen2.5,qwen2.5-coder",
     .sizes = "0.5b,1.5b",
     .with = "instruct",
     .temperature = 0.7f,
     .top_k = 20,
     .top_p = 0.8f,
     .repetition_penalty = 1.1f},
    {.family = "Qwen2.5",
     .source = "documentation of Qwen2.5, decoding of Qwen2.5-7B-Instruct",
     .architecture = "qwen2",
     .basenames = "qwen2.5,qwen2.5-coder",
     .with = "instruct",
     .temperature = 0.7f,
     .top_k = 20,
     .top_p = 0.8f,
     .repetition_penalty = 1.05f},
    {.family = "Qwen3-2507",
     .source = "model card of Qwen3-4B-Instruct-2507",
     .architecture = "qwen3",
     .basenames = "qwen3",
     .with = "instruct-2507",
     .temperature = 0.7f,
     .top_k = 20,
     .top_p = 0.8f,
     .min_p = 0.0f},
    {.family = "Qwen3",
     .source = "generation_config.json and model card of Qwen3-0.6B, when it thinks",
     .architecture = "qwen3",
     .basenames = "qwen3",
     .without = "base",
     .temperature = 0.6f,
     .top_k = 20,
     .top_p = 0.95f,
     .min_p = 0.0f},
    {.family = "Gemma 3",
     .source = "generation_config.json of gemma-3-270m and gemma-3-270m-it",
     .architecture = "gemma3",
     .basenames = "gemma-3",
     .temperature = 1.0f,
     .top_k = 64,
     .top_p = 0.95f},
};

// "Qwen2.5 Coder" becomes "qwen2.5-coder".
std::string Normalized(absl::string_view name) {
  std::string text = absl::AsciiStrToLower(name);
  std::replace_if(text.begin(), text.end(), [](char c) { return c == ' ' || c == '_'; }, '-');
  return text;
}

std::string TextUnder(const GgufFile& file, absl::string_view key) { return Normalized(file.StringOr(key, "").value_or("")); }

// "135m", "0.5b".
bool IsSize(absl::string_view part) {
  if (part.size() < 2 || (part.back() != 'b' && part.back() != 'm')) return false;
  part.remove_suffix(1);
  return std::all_of(part.begin(), part.end(), [](char c) { return absl::ascii_isdigit(static_cast<unsigned char>(c)) || c == '.'; });
}

// The parts of a name before the size, and the size.
struct SizedName {
  std::string base, size;
};

SizedName SplitAtSize(const std::string& name) {
  const std::vector<absl::string_view> parts = absl::StrSplit(name, '-');
  const auto size = std::find_if(parts.begin(), parts.end(), IsSize);
  return {absl::StrJoin(parts.begin(), size, "-"), size == parts.end() ? "" : std::string(*size)};
}

bool IsOneOf(absl::string_view list, absl::string_view name) {
  const std::vector<absl::string_view> names = absl::StrSplit(list, ',');
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

const FamilySampling* FamilySamplingOf(const GgufFile& file) {
  const absl::string_view architecture = file.StringOr("general.architecture", "").value_or("");
  const std::string name = TextUnder(file, "general.name"), basename = TextUnder(file, "general.basename");
  const SizedName sized = SplitAtSize(name);
  const std::string label = TextUnder(file, "general.size_label");
  const std::string& base = basename.empty() ? sized.base : basename;
  const std::string& size = label.empty() ? sized.size : label;
  const std::string kind = absl::StrCat(name, " ", TextUnder(file, "general.finetune"));
  const bool has_template = file.Find("tokenizer.chat_template") != nullptr;
  const auto row = std::find_if(std::begin(kRows), std::end(kRows), [&](const FamilySampling& each) {
    return each.architecture == architecture && IsOneOf(each.basenames, base) && (*each.sizes == '\0' || IsOneOf(each.sizes, size)) &&
           absl::StrContains(kind, each.with) && (*each.without == '\0' || !absl::StrContains(kind, each.without)) &&
           (has_template || !each.has_template);
  });
  return row == std::end(kRows) ? nullptr : row;
}

absl::Span<const FamilySampling> FamilySamplings() { return kRows; }

}  // namespace tessera

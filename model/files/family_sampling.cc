#include "tessera/model/files/family_sampling.h"

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

#include "tessera/model/files/architectures/family_samplings.inc"  // kRows: a FamilySampling each.

// Returns "smollm2-instruct" for "SmolLM2 Instruct".
std::string Normalized(absl::string_view name) {
  std::string text = absl::AsciiStrToLower(name);
  std::replace_if(text.begin(), text.end(), [](char c) { return c == ' ' || c == '_'; }, '-');
  return text;
}

std::string TextUnder(const GgufFile& file, absl::string_view key) { return Normalized(file.StringOr(key, "").value_or("")); }

// Returns true for "135m" and "0.5b".
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

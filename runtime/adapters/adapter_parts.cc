#include "tessera/runtime/adapters/adapter_parts.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "tessera/base/nearest_name.h"
#include "tessera/base/quoted.h"
#include "tessera/base/status_macros.h"

namespace tessera {
namespace {

constexpr size_t kMostShown = 32;   // Most names in a message.

class PartReader {
 public:
  PartReader(const AdapterNames& names, absl::string_view no_adapter, WrongAdapter wrong)
      : names_(names), no_adapter_(no_adapter), wrong_(wrong) {}

  absl::StatusOr<AdapterParts> Read(const std::vector<std::string>& texts) const {
    if (texts.empty()) return wrong_("an empty list", absl::StrCat("one name or more, or ", no_adapter_));
    if (texts.size() > kMostAdapterParts) {
      return wrong_(absl::StrCat(texts.size(), " adapters in one"), absl::StrCat("at most ", kMostAdapterParts));
    }
    AdapterParts parts;
    for (const std::string& text : texts) {
      ASSIGN_OR_RETURN(AdapterPart part, ReadOne(text));
      const auto has_its_name = [&](const AdapterPart& other) { return other.name == part.name; };
      if (std::any_of(parts.begin(), parts.end(), has_its_name)) {
        return wrong_(absl::StrCat(Quoted(part.name), " twice"), "each once: scales of one adapter add up to one scale");
      }
      parts.push_back(std::move(part));
    }
    return parts;
  }

 private:
  bool IsKnown(const std::string& name) const {
    if (std::find(names_.listed.begin(), names_.listed.end(), name) != names_.listed.end()) return true;
    return names_.why_not != nullptr && names_.why_not(name).empty();
  }

  absl::StatusOr<AdapterPart> ReadOne(const std::string& text) const {
    if (IsKnown(text)) return AdapterPart{.name = text};
    const size_t at = text.rfind('@');
    if (at == std::string::npos) return Unknown(text);
    AdapterPart part = {.name = text.substr(0, at)};
    if (!IsKnown(part.name)) return Unknown(part.name);
    const std::string scale = text.substr(at + 1);
    double number = 0;
    const bool is_number = !scale.empty() && !absl::ascii_isspace(static_cast<unsigned char>(scale.front())) &&
                           !absl::ascii_isspace(static_cast<unsigned char>(scale.back())) && absl::SimpleAtod(scale, &number);
    part.scale = static_cast<float>(number);
    if (!is_number || !std::isfinite(part.scale) || (part.scale == 0 && number != 0)) {
      return wrong_(Quoted(text), "NAME@SCALE with a finite number that 32 bits hold");
    }
    return part;
  }

  absl::Status Unknown(const std::string& name) const {
    if (names_.listed.empty() && names_.why_not == nullptr) return wrong_(Quoted(name), "none: no adapter is loaded");
    std::vector<std::string> expected;
    if (!names_.listed.empty()) {
      const size_t shown = std::min(names_.listed.size(), kMostShown);
      std::string all = absl::StrJoin(names_.listed.begin(), names_.listed.begin() + static_cast<std::ptrdiff_t>(shown), ", ");
      if (shown < names_.listed.size()) absl::StrAppend(&all, " and ", names_.listed.size() - shown, " more");
      expected.push_back(absl::StrCat("one of ", all));
    }
    if (names_.why_not != nullptr) expected.push_back(names_.why_not(name));
    expected.push_back(std::string(no_adapter_));
    const std::string near = NearestName(name.substr(0, 2 * kMostShown), names_.listed);
    const std::string meant = near.empty() ? "" : absl::StrCat("; did you mean ", Quoted(near), "?");
    return wrong_(Quoted(name), absl::StrCat(absl::StrJoin(expected, ", or "), meant));
  }

  const AdapterNames& names_;
  const absl::string_view no_adapter_;
  const WrongAdapter wrong_;
};

}  // namespace

absl::StatusOr<AdapterParts> ParseAdapterParts(absl::string_view text, const AdapterNames& names, absl::string_view no_adapter,
                                               WrongAdapter wrong) {
  return PartReader(names, no_adapter, wrong).Read(absl::StrSplit(text, ','));
}

absl::StatusOr<std::optional<AdapterParts>> AdapterPartsOf(const JsonValue& object, const AdapterNames& names) {
  constexpr absl::string_view kNone = "null for none";
  if (!object.Has("adapter")) return std::nullopt;
  ASSIGN_OR_RETURN(const JsonValue adapter, object.Value("adapter"));
  if (adapter.is_null()) return std::optional<AdapterParts>(AdapterParts());
  const auto wrong = [&](const std::string& found, const std::string& expected) { return adapter.Error(found, expected); };
  if (adapter.is_array()) {
    ASSIGN_OR_RETURN(const std::vector<std::string> texts, adapter.AsStrings());
    ASSIGN_OR_RETURN(AdapterParts parts, PartReader(names, kNone, wrong).Read(texts));
    return std::optional<AdapterParts>(std::move(parts));
  }
  if (!adapter.is_string()) return adapter.Error(JsonKindName(adapter.kind()), "a name, a list of names, or null for none");
  ASSIGN_OR_RETURN(const std::string text, adapter.AsString());
  if (text.empty()) return std::optional<AdapterParts>(AdapterParts());
  ASSIGN_OR_RETURN(AdapterParts parts, ParseAdapterParts(text, names, kNone, wrong));
  return std::optional<AdapterParts>(std::move(parts));
}

std::string AdapterPartsName(const AdapterParts& parts) {
  return absl::StrJoin(parts, ",", [](std::string* out, const AdapterPart& part) {
    absl::StrAppend(out, part.name);
    if (part.scale != 1) absl::StrAppend(out, "@", part.scale);
  });
}

}  // namespace tessera

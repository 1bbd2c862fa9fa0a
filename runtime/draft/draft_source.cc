#include "tessera/runtime/draft/draft_source.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "tessera/base/quoted.h"
#include "tessera/base/usage_error.h"
#include "tessera/runtime/draft/forecast_draft.h"
#include "tessera/runtime/draft/low_bit_copy.h"

namespace tessera {
namespace {

constexpr char kField[] = "draft_model", kHeadKey[] = ",head=";
constexpr char kSources[] = "a file, or a copy of the model: self:q2, self:q3 or self:q4 (self:q3:FILE: of that file), or its first "
                            "layers: self:layers=8 or self:layers=8,head=FILE";

// "8" or "8,head=FILE".
absl::StatusOr<DraftSource> ParseLayers(absl::string_view text, absl::string_view rest) {
  const std::pair<absl::string_view, absl::string_view> parts = absl::StrSplit(rest, absl::MaxSplits(kHeadKey, 1));
  DraftSource source = {.map = std::string(parts.second)};
  const bool is_number = absl::SimpleAtoi(parts.first, &source.layers) && source.layers > 0;
  if (!is_number || (source.map.empty() && absl::StrContains(rest, kHeadKey))) return WrongUsage(kField, Quoted(text), kSources);
  return source;
}

bool IsCopy(const std::string& name) {
  const std::vector<std::string>& names = LowBitCopy::Names();
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

absl::StatusOr<DraftSource> DraftSource::Parse(absl::string_view text) {
  absl::string_view rest = text;
  if (!absl::ConsumePrefix(&rest, "self:")) return DraftSource{.file = std::string(text)};
  if (absl::ConsumePrefix(&rest, "layers=")) return ParseLayers(text, rest);
  const std::pair<std::string, std::string> parts = absl::StrSplit(rest, absl::MaxSplits(':', 1));
  if (!IsCopy(parts.first) || (parts.second.empty() && absl::StrContains(rest, ':'))) return WrongUsage(kField, Quoted(text), kSources);
  return DraftSource{.file = parts.second, .copy = parts.first};
}

absl::Status DraftSource::Check() const {
  if (!copy.empty() && !IsCopy(copy)) return WrongUsage(kField, Quoted(absl::StrCat("self:", copy)), kSources);
  if (layers < 0) return WrongUsage(kField, absl::StrCat(layers, " layers"), "0 (all layers) or more");
  if (layers > 0 && !(file.empty() && copy.empty())) return WrongUsage(kField, "layers beside a file or a copy", "one of them");
  if (layers == 0 && !map.empty()) return WrongUsage(kField, "a map without layers", "both");
  return absl::OkStatus();
}

bool DraftSource::IsHead() const {
  std::error_code unknown;
  return copy.empty() && (absl::EndsWith(file, ".safetensors") || (!file.empty() && std::filesystem::is_directory(file, unknown)));
}

bool DraftSource::HasForecasts() const { return copy.empty() && ForecastDraft::IsIn(file); }

}  // namespace tessera

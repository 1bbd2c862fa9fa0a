#include "tessera/model/files/recommended_sampling.h"

#include <limits>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tessera/base/status_macros.h"

namespace tessera {
namespace {

constexpr char kPrefix[] = "general.sampling.";

// The number under a key, if it is there and `fits`.
absl::Status ReadNumber(const GgufFile& file, const char* name, bool (*fits)(float), const char* expected, std::optional<float>& number) {
  const std::string key = absl::StrCat(kPrefix, name);
  if (file.Find(key) == nullptr) return absl::OkStatus();
  ASSIGN_OR_RETURN(const double found, file.Float(key));
  if (!fits(static_cast<float>(found))) return file.Unexpected(key, expected);
  number = static_cast<float>(found);
  return absl::OkStatus();
}

// The same for a whole number. Below 0 it stands for `unlimited`.
absl::Status ReadWhole(const GgufFile& file, const char* name, int unlimited, std::optional<int>& number) {
  constexpr int kMost = std::numeric_limits<int>::max();
  const std::string key = absl::StrCat(kPrefix, name);
  if (file.Find(key) == nullptr) return absl::OkStatus();
  ASSIGN_OR_RETURN(const int64_t found, file.Int(key));
  if (found > kMost) return file.Unexpected(key, absl::StrCat("at most ", kMost));
  number = found < 0 ? unlimited : static_cast<int>(found);
  return absl::OkStatus();
}

// What a key of no field asks for: true if that is a step which the sampler does not have.
absl::StatusOr<bool> AsksForMore(const GgufFile& file, absl::string_view key) {
  const auto is = [&](const char* name) { return key == absl::StrCat(kPrefix, name); };
  if (is("mirostat_tau") || is("mirostat_eta") || is("xtc_threshold")) return false;  // They matter with the two below alone.
  if (is("mirostat")) {
    ASSIGN_OR_RETURN(const int64_t version, file.Int(key));
    return version != 0;
  }
  if (is("xtc_probability")) {
    ASSIGN_OR_RETURN(const double probability, file.Float(key));
    return probability != 0;
  }
  for (const char* field : {"temp", "top_k", "top_p", "min_p", "penalty_repeat", "penalty_last_n"}) {
    if (is(field)) return false;
  }
  return true;
}

}  // namespace

absl::StatusOr<RecommendedSampling> ReadRecommendedSampling(const GgufFile& file) {
  constexpr float kLargest = std::numeric_limits<float>::max();
  RecommendedSampling sampling;
  RETURN_IF_ERROR(ReadNumber(file, "temp", [](float t) { return t >= 0 && t <= kLargest; }, "a finite number of 0 or more",
                             sampling.temperature));
  RETURN_IF_ERROR(ReadWhole(file, "top_k", /*unlimited=*/0, sampling.top_k));
  RETURN_IF_ERROR(ReadNumber(file, "top_p", [](float p) { return p > 0 && p <= 1; }, "above 0, at most 1", sampling.top_p));
  RETURN_IF_ERROR(ReadNumber(file, "min_p", [](float p) { return p >= 0 && p <= 1; }, "0 to 1", sampling.min_p));
  RETURN_IF_ERROR(ReadNumber(file, "penalty_repeat", [](float x) { return x > 0 && x <= kLargest; }, "a finite number above 0",
                             sampling.repetition_penalty));
  RETURN_IF_ERROR(ReadWhole(file, "penalty_last_n", std::numeric_limits<int>::max(), sampling.penalty_window));
  for (const auto& [key, value] : file.metadata()) {
    if (!absl::StartsWith(key, kPrefix)) continue;
    ASSIGN_OR_RETURN(const bool more, AsksForMore(file, key));
    if (more) sampling.not_applied.emplace_back(key);
  }
  return sampling;
}

}  // namespace tessera

#include "tessera/model/files/recommended_sampling.h"

#include <cmath>
#include <limits>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace tessera {
namespace {

constexpr char kPrefix[] = "general.sampling.";

// Reads a number of any type.
absl::StatusOr<double> NumberUnder(const GgufFile& file, absl::string_view key) {
  if (const absl::StatusOr<double> number = file.Float(key); number.ok()) return *number;
  if (const absl::StatusOr<int64_t> whole = file.Int(key); whole.ok()) return static_cast<double>(*whole);
  if (const absl::StatusOr<uint64_t> large = file.Uint(key); large.ok()) return static_cast<double>(*large);
  return file.Unexpected(key, "a number");
}

class Reader {
 public:
  Reader(const GgufFile& file, RecommendedSampling& sampling) : file_(file), sampling_(sampling) {}

  // Reads the number under a key, if the number is present and in range.
  void Read(const char* name, const char* field, double above, bool or_equal, double most, const char* expected,
            std::optional<float>& number) {
    Put(name, field, number, [&](double found, const std::string& key) -> absl::StatusOr<float> {
      const float taken = static_cast<float>(found);
      if (found <= most && (double{taken} > above || (or_equal && double{taken} == above))) return taken;
      return file_.Unexpected(key, expected);
    });
  }

  // Like Read, for a whole number. Numbers below 0 mean `unlimited`.
  void ReadWhole(const char* name, const char* field, int unlimited, std::optional<int>& number) {
    constexpr int kMost = std::numeric_limits<int>::max();
    Put(name, field, number, [&](double found, const std::string& key) -> absl::StatusOr<int> {
      if (!(found <= kMost) || found != std::floor(found)) return file_.Unexpected(key, absl::StrCat("a whole number, at most ", kMost));
      return found < 0 ? unlimited : static_cast<int>(found);
    });
  }

 private:
  template <typename Value, typename Check>
  void Put(const char* name, const char* field, std::optional<Value>& place, const Check& check) {
    const std::string key = absl::StrCat(kPrefix, name);
    if (file_.Find(key) == nullptr) return;
    const absl::StatusOr<double> found = NumberUnder(file_, key);
    const absl::StatusOr<Value> value = found.ok() ? check(*found, key) : absl::StatusOr<Value>(found.status());
    if (value.ok()) place = *value;
    else sampling_.wrong.push_back({field, value.status()});
  }

  const GgufFile& file_;
  RecommendedSampling& sampling_;
};

// Returns true if a key of no field asks for a step that the sampler does not have.
bool AsksForMore(const GgufFile& file, absl::string_view key) {
  const auto is = [&](const char* name) { return key == absl::StrCat(kPrefix, name); };
  if (is("mirostat_tau") || is("mirostat_eta") || is("xtc_threshold")) return false;  // Only relevant with the two keys below.
  if (is("mirostat") || is("xtc_probability")) {
    const absl::StatusOr<double> number = NumberUnder(file, key);
    return !number.ok() || *number != 0;
  }
  for (const char* field : {"temp", "top_k", "top_p", "min_p", "penalty_repeat", "penalty_last_n"}) {
    if (is(field)) return false;
  }
  return true;
}

}  // namespace

RecommendedSampling ReadRecommendedSampling(const GgufFile& file) {
  constexpr double kLargest = std::numeric_limits<float>::max();
  RecommendedSampling sampling;
  Reader reader(file, sampling);
  reader.Read("temp", "temperature", 0, /*or_equal=*/true, kLargest, "a finite number of 0 or more", sampling.temperature);
  reader.ReadWhole("top_k", "top_k", /*unlimited=*/0, sampling.top_k);
  reader.Read("top_p", "top_p", 0, /*or_equal=*/false, 1, "above 0, at most 1", sampling.top_p);
  reader.Read("min_p", "min_p", 0, /*or_equal=*/true, 1, "0 to 1", sampling.min_p);
  reader.Read("penalty_repeat", "repetition_penalty", 0, /*or_equal=*/false, kLargest, "a finite number above 0",
              sampling.repetition_penalty);
  reader.ReadWhole("penalty_last_n", "penalty_window", std::numeric_limits<int>::max(), sampling.penalty_window);
  for (const auto& [key, value] : file.metadata()) {
    if (absl::StartsWith(key, kPrefix) && AsksForMore(file, key)) sampling.not_applied.emplace_back(key);
  }
  return sampling;
}

}  // namespace tessera

#include "tessera/runtime/scale/beam_search.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <glog/logging.h>

#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"

namespace tessera {
namespace {

absl::Status CheckRange(const char* field, int value, int most) {
  if (value >= 1 && value <= most) return absl::OkStatus();
  return WrongUsage(field, value, absl::StrCat("1 to ", most));
}

bool IsBetter(const BeamSearch::Beam& a, const BeamSearch::Beam& b) {
  if (std::isnan(b.score)) return !std::isnan(a.score);
  return a.score > b.score;
}

}  // namespace

absl::StatusOr<BeamSearch> BeamSearch::Create(const BeamOptions& options) {
  constexpr int kMost = 1024;
  RETURN_IF_ERROR(CheckRange("width", options.width, kMost));
  RETURN_IF_ERROR(CheckRange("expansions", options.expansions, kMost));
  RETURN_IF_ERROR(CheckRange("most_steps", options.most_steps, 1 << 20));
  if (options.delimiter.empty()) return WrongUsage("delimiter", "an empty text", "a text that ends a step");
  return BeamSearch(options);
}

void BeamSearch::Advance(absl::Span<const Step> steps) {
  CHECK(!done_);
  const size_t each = static_cast<size_t>(expansions());
  CHECK_EQ(steps.size(), beams_.size() * each);
  std::vector<Beam> next;
  for (size_t i = 0; i < steps.size(); ++i) {
    const Step& step = steps[i];
    const Beam& before = beams_[i / each];
    const size_t delimiter = step.text.find(options_.delimiter);
    const size_t end = delimiter == std::string::npos ? step.text.size() : delimiter + options_.delimiter.size();
    next.push_back({.text = before.text + step.text.substr(0, end),
                    .score = step.score,
                    .ended = step.ended && end == step.text.size(),
                    .steps = before.steps + 1,
                    .from = static_cast<int>(i)});
  }
  std::stable_sort(next.begin(), next.end(), IsBetter);
  const size_t kept = std::min(next.size(), static_cast<size_t>(options_.width) - ended_.size());
  beams_.clear();
  for (size_t i = 0; i < kept; ++i) (next[i].ended ? ended_ : beams_).push_back(std::move(next[i]));
  ++steps_;
  done_ = beams_.empty() || steps_ == options_.most_steps;
}

const std::vector<BeamSearch::Beam>& BeamSearch::results() const {
  CHECK(done_);
  return ended_.empty() ? beams_ : ended_;
}

const BeamSearch::Beam& BeamSearch::best() const {
  const std::vector<Beam>& all = results();
  return *std::min_element(all.begin(), all.end(), IsBetter);
}

}  // namespace tessera

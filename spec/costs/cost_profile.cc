#include "tessera/spec/costs/cost_profile.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tessera/base/file.h"
#include "tessera/base/status_macros.h"

namespace tessera {
namespace {

constexpr double kNewWeight = 0.05, kNewDraftWeight = 0.25;   // A new time's, among many. A drafter may become slow at once.
constexpr double kLeafShare = 0.05;                           // A leaf is assumed to cost little compared with unknown costs of rows,
constexpr double kTextShare = 0.3;                            // a text to cost more: a text's keys are read for that text's rows alone.
constexpr double kLevelWeight = 0.02;                         // The level is for lasting changes.
constexpr double kLessWeighs = 4;                             // Factor of the weight of a time below the mean: noise only adds.
constexpr double kOutlier = 2, kDraftOutlier = 4;             // Beyond this factor a time counts as if at the factor,
constexpr int kKnown = 3;                                     // once there are kKnown times; kKnown times also tell the level.
constexpr int kMostCounted = 64;                              // More times add no weight relative to other row counts.
constexpr int64_t kMostFileBytes = 1 << 20;
constexpr double kMostSeconds = 1e4;
constexpr int kVersion = 1;

bool IsTime(double seconds) { return seconds > 0 && seconds <= kMostSeconds; }  // NaN is none.

}  // namespace

void CostProfile::Mean::Add(double value, double new_weight, double outlier) {
  if (++count <= kKnown) {
    seconds = count == 1 ? value : std::min(seconds, value);
    return;
  }
  count = std::min(count, kMostCounted);
  value = std::clamp(value, seconds / outlier, seconds * outlier);
  seconds += (value < seconds ? std::min(1.0, kLessWeighs * new_weight) : new_weight) * (value - seconds);
}

// Returns the seconds of one more row while only the first row count is known. With two or more other means, this is the least slope of
// all, since one mean may be unlucky. Otherwise a guess: a share of the seconds of one row, by the same guess.
double CostProfile::Curve::UnknownRow() const {
  const auto& [first_rows, first] = *means_.begin();
  if (means_.size() < 3) return unknown_row_ * first.seconds / (1 + unknown_row_ * (first_rows - 1));
  double least = std::numeric_limits<double>::infinity();
  for (auto other = std::next(means_.begin()); other != means_.end(); ++other) {
    least = std::min(least, (other->second.seconds - first.seconds) / (other->first - first_rows));
  }
  return least;
}

// Isotonic regression by pooling adjacent violators: finds the nearest values to the known means, weighted by counts, that never fall with
// more rows. Times of a flash are noisy: the least of all that more rows took would stand for too many.
void CostProfile::Curve::Fit() {
  struct Pool {
    double sum, weight;
    int members;
    double Seconds() const { return sum / weight; }
  };
  std::vector<Pool> pools;
  for (const auto& [rows, mean] : means_) {
    if (mean.count < kKnown) continue;
    pools.push_back({mean.seconds * mean.count, static_cast<double>(mean.count), 1});
    while (pools.size() > 1 && pools[pools.size() - 2].Seconds() >= pools.back().Seconds()) {
      const Pool last = pools.back();
      pools.pop_back();
      pools.back() = {pools.back().sum + last.sum, pools.back().weight + last.weight, pools.back().members + last.members};
    }
  }
  auto mean = means_.begin();
  for (const Pool& pool : pools) {
    for (int members = 0; members < pool.members; ++mean) {
      if (mean->second.count < kKnown) continue;
      mean->second.fitted = pool.Seconds();
      ++members;
    }
  }
}

// Draws straight lines between measured row counts; beyond the last one, the mean slope goes on. `some` selects the means that count.
template <typename Some>
CostProfile::Curve::Slope CostProfile::Curve::DrawThrough(Some some, Line& line) const {
  const auto& [first_rows, first] = *means_.begin();
  int from_rows = first_rows, rows = 1;
  double from = first.Fitted();
  for (; rows <= first_rows; ++rows) line[rows] = from;
  for (const auto& [to_rows, to] : means_) {
    if (to_rows == from_rows || !some(to)) continue;
    for (; rows <= to_rows; ++rows) line[rows] = from + (to.Fitted() - from) * (rows - from_rows) / (to_rows - from_rows);
    from_rows = to_rows;
    from = to.Fitted();
  }
  const double slope = from_rows > first_rows ? (from - first.Fitted()) / (from_rows - first_rows) : UnknownRow();
  const Slope beyond = {from_rows, from, std::max(slope, 0.0)};
  for (; rows <= drawn_; ++rows) line[rows] = beyond.At(rows);
  return beyond;
}

void CostProfile::Curve::Add(int rows, double seconds) {
  means_[rows].Add(seconds, kNewWeight, kOutlier);
  Draw();
}

void CostProfile::Curve::Shift(int rows, double seconds) {
  Mean& mean = means_[rows];
  mean.seconds = std::max(mean.seconds + seconds, mean.seconds / kOutlier);
  mean.count = std::min(mean.count + 1, kMostCounted);
  Draw();
}

bool CostProfile::Curve::Knows(int rows) const {
  const auto place = means_.find(rows);
  return place != means_.end() && place->second.count >= kKnown;
}

// Draws the lines. A row count that was measured often is known. Other means may be one unlucky time, which must not keep the row count
// from being measured again. So other means count only where lower than the line of the known means.
void CostProfile::Curve::Draw() {
  Fit();
  drawn_ = means_.rbegin()->first;
  Line known;
  known_ = DrawThrough([](const Mean& mean) { return mean.count >= kKnown; }, known);
  all_ = DrawThrough([](const Mean&) { return true; }, at_);
  for (int rows = 1; rows <= drawn_; ++rows) at_[rows] = std::min(at_[rows], known[rows]);
  one_ = contains(1) ? at_[1] : std::numeric_limits<double>::infinity();
  for (int rows = 2; rows <= drawn_; ++rows) at_[rows] = std::min(at_[rows], rows * one_);  // So many rows could be as many passes.
  at_[drawn_] = std::min(at_[drawn_], Beyond(drawn_ + 1));  // Fewer rows cost no more, by no rounding either.
  for (int rows = drawn_; rows > 1; --rows) at_[rows - 1] = std::min(at_[rows - 1], at_[rows]);
}

// Continues the line of Draw, where no line falls any more.
double CostProfile::Curve::Beyond(int rows) const {
  return drawn_ == 0 ? 0 : std::min({all_.At(rows), known_.At(rows), rows * one_});
}

void CostProfile::AddPass(const Shape& shape, double seconds) {
  if (frozen_ || !IsTime(seconds)) return;
  const int rows = Clamped(shape.rows);
  const bool known = pass_.Knows(rows);
  last_ = {known ? seconds / PassSeconds(shape) : 1, last_[0]};
  if (known) {
    const double ratio = std::clamp(seconds / PassSeconds(shape), 1 / kOutlier, kOutlier);
    level_ *= 1 + (ratio < 1 ? kLessWeighs : 1) * kLevelWeight * (ratio - 1);
  }
  const double at_level = seconds / level_;
  const int more_leaves = MoreLeaves(shape), more_texts = MoreTexts(shape);
  if (known && more_leaves + more_texts > 0) {
    // Divides the error of the prediction between rows, leaves and texts: a gradient step of the squared error. Negative errors weigh more,
    // as for the means; otherwise noise would count as cost of leaves and texts.
    const double apart = more_leaves * leaf_ + more_texts * text_;
    const double error = std::clamp(at_level - pass_.At(rows) - apart, -pass_.At(1), pass_.At(1));
    const double leaves = kLeafShare * more_leaves, texts = kTextShare * more_texts;
    const double step = (error < 0 ? kLessWeighs : 1) * kNewWeight * error / (1 + leaves * leaves + texts * texts);
    leaf_ += step * leaves * kLeafShare;
    text_ += step * texts * kTextShare;
    pass_.Shift(rows, step);
  } else {
    pass_.Add(rows, std::max(at_level - ApartSeconds(shape), at_level / 2));
  }
}

void CostProfile::AddHead(int rows, double seconds) {
  if (!frozen_ && IsTime(seconds)) head_.Add(Clamped(rows), seconds / level_);
}

void CostProfile::AddDraft(absl::string_view drafter, double seconds) {
  if (frozen_ || !IsTime(seconds)) return;
  auto place = drafts_.find(drafter);
  if (place == drafts_.end()) place = drafts_.emplace(std::string(drafter), Mean()).first;
  place->second.Add(seconds, kNewDraftWeight, kDraftOutlier);
}

void CostProfile::AddTop(int rows, double seconds) {
  if (!frozen_ && rows > 0 && IsTime(seconds)) top_.Add(seconds / rows, kNewWeight, kOutlier);
}

void CostProfile::AddPromptPass(int rows, double seconds) {
  if (frozen_ || rows <= 0 || !IsTime(seconds)) return;
  prompt_passes_[next_prompt_pass_] = {Clamped(rows), seconds / level_};
  next_prompt_pass_ = (next_prompt_pass_ + 1) % prompt_passes_.size();
}

double CostProfile::PromptPassSeconds(const Shape& shape, int prompt_rows) const {
  const double without = PassSeconds(shape);
  if (prompt_rows <= 0) return without;
  const int own = Clamped(shape.rows), rows = Clamped(shape.rows + prompt_rows);
  if (prompt_passes_[0].rows == 0) return PassSeconds({shape.rows + prompt_rows, shape.leaves + 1, shape.texts + 1});
  double least = std::numeric_limits<double>::infinity();
  for (const PromptPass& pass : prompt_passes_) {
    if (pass.rows == 0) continue;
    const int from = std::max(pass.rows, own);
    const double seconds = pass.rows > own ? std::max(level_ * pass.seconds, without) : without;
    const double more = rows >= from ? seconds * (static_cast<double>(rows) / from)
                                     : std::min(seconds, without + (seconds - without) * (rows - own) / (from - own));   // Rounding.
    least = std::min(least, more);
  }
  return least;
}

double CostProfile::DraftSeconds(absl::string_view drafter) const {
  const auto place = drafts_.find(drafter);
  return place == drafts_.end() ? 0 : place->second.seconds;
}

bool CostProfile::IsYield(const Yield& yield) { return yield.tokens >= 1 && yield.rows >= yield.tokens && yield.rows <= kMostRows; }

void CostProfile::SetYield(absl::string_view drafter, const Yield& yield) {
  if (!frozen_ && IsYield(yield)) yields_.insert_or_assign(std::string(drafter), yield);
}

std::optional<CostProfile::Yield> CostProfile::YieldOf(absl::string_view drafter) const {
  const auto place = yields_.find(drafter);
  return place == yields_.end() ? std::nullopt : std::optional<Yield>(place->second);
}

std::string CostProfile::ToJson() const {
  JsonWriter json(/*indent=*/1);
  const auto write = [&json](absl::string_view name, const Curve& curve, double level) {
    json.Key(name).BeginArray();
    for (const auto& [rows, mean] : curve.means())
      json.BeginObject().Key("rows").Int(rows).Key("seconds").Double(mean.seconds * level, 6).EndObject();
    json.EndArray();
  };
  json.BeginObject().Key("version").Int(kVersion);
  write("pass", pass_, level_);
  json.Key("leaf_seconds").Double(LeafSeconds() * level_, 6).Key("text_seconds").Double(TextSeconds() * level_, 6);
  write("head", head_, level_);
  json.Key("top_seconds").Double(top_.seconds, 6);
  json.Key("drafters").BeginArray();
  for (const auto& [name, mean] : drafts_) json.BeginObject().Key("name").String(name).Key("seconds").Double(mean.seconds, 6).EndObject();
  json.EndArray();
  if (!yields_.empty()) json.Key("yields").BeginArray();
  for (const auto& [name, yield] : yields_) {
    json.BeginObject().Key("name").String(name).Key("tokens").Double(yield.tokens, 6).Key("rows").Double(yield.rows, 6).EndObject();
  }
  if (!yields_.empty()) json.EndArray();
  json.EndObject();
  return std::move(json).Take() + "\n";
}

namespace {

absl::StatusOr<double> TimeOf(const JsonValue& value, absl::string_view key, bool may_be_zero) {
  ASSIGN_OR_RETURN(const JsonValue field, value.Value(key));
  ASSIGN_OR_RETURN(const double seconds, field.AsDouble());
  if (IsTime(seconds) || (may_be_zero && seconds == 0)) return seconds;
  return field.Error(absl::StrCat(seconds),
                     absl::StrCat("seconds, ", may_be_zero ? "at least 0" : "more than 0", " and at most ", kMostSeconds));
}

}  // namespace

absl::Status CostProfile::Curve::Read(const JsonValue& file, absl::string_view name) {
  ASSIGN_OR_RETURN(const JsonValue entries, file.Array(name));
  for (int64_t i = 0; i < entries.size(); ++i) {
    ASSIGN_OR_RETURN(const int64_t rows, entries[i].Int("rows", 1, kMostRows));
    ASSIGN_OR_RETURN(const double seconds, TimeOf(entries[i], "seconds", /*may_be_zero=*/false));
    if (means_.emplace(static_cast<int>(rows), Mean{seconds, kKnown}).second) continue;
    return entries[i].Error(absl::StrCat("a second entry for ", rows, " rows"), "one");
  }
  if (!contains(1)) return entries.Error("no entry for 1 row", "one");
  Draw();
  return absl::OkStatus();
}

// Reads the yields; older files have none.
absl::Status CostProfile::ReadYields(const JsonValue& file) {
  if (!file.Has("yields")) return absl::OkStatus();
  ASSIGN_OR_RETURN(const JsonValue yields, file.Array("yields"));
  for (int64_t i = 0; i < yields.size(); ++i) {
    ASSIGN_OR_RETURN(const std::string name, yields[i].String("name"));
    Yield yield;
    ASSIGN_OR_RETURN(yield.tokens, yields[i].Double("tokens"));
    ASSIGN_OR_RETURN(yield.rows, yields[i].Double("rows"));
    if (!IsYield(yield)) {
      return yields[i].Error(absl::StrCat(yield.tokens, " tokens of ", yield.rows, " rows"),
                             absl::StrCat("1 token or more, and as many rows or more, at most ", kMostRows));
    }
    if (!yields_.emplace(name, yield).second) return yields[i].Error(absl::StrCat("a second entry for ", name), "one");
  }
  return absl::OkStatus();
}

absl::StatusOr<CostProfile> CostProfile::Parse(absl::string_view text, absl::string_view source) {
  ASSIGN_OR_RETURN(const JsonValue file, JsonValue::Parse(text, source, {.max_bytes = kMostFileBytes, .max_values = 1 << 14}));
  RETURN_IF_ERROR(file.Int("version", kVersion, kVersion).status());
  CostProfile costs;
  RETURN_IF_ERROR(costs.pass_.Read(file, "pass"));
  RETURN_IF_ERROR(costs.head_.Read(file, "head"));
  ASSIGN_OR_RETURN(costs.leaf_, TimeOf(file, "leaf_seconds", /*may_be_zero=*/true));
  if (file.Has("text_seconds")) {  // Older files have none.
    ASSIGN_OR_RETURN(costs.text_, TimeOf(file, "text_seconds", /*may_be_zero=*/true));
  }
  ASSIGN_OR_RETURN(costs.top_.seconds, TimeOf(file, "top_seconds", /*may_be_zero=*/true));
  ASSIGN_OR_RETURN(const JsonValue drafters, file.Array("drafters"));
  for (int64_t i = 0; i < drafters.size(); ++i) {
    ASSIGN_OR_RETURN(const std::string name, drafters[i].String("name"));
    ASSIGN_OR_RETURN(const double seconds, TimeOf(drafters[i], "seconds", /*may_be_zero=*/true));
    if (!costs.drafts_.emplace(name, Mean{seconds, kKnown}).second) {
      return drafters[i].Error(absl::StrCat("a second entry for ", name), "one");
    }
  }
  RETURN_IF_ERROR(costs.ReadYields(file));
  costs.Freeze();
  return costs;
}

absl::Status CostProfile::Save(const std::string& path) const { return WriteFileAtomically(path, ToJson()); }

absl::StatusOr<CostProfile> CostProfile::Load(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadFileToString(path, kMostFileBytes));
  return Parse(text, path);
}

}  // namespace tessera

// Learns a step's costs on this machine, with this model: a pass by rows, leaves and texts, the head by rows, and drafters' time. Also
// keeps the drafts' yields, for plans of memory.
//
//   CostProfile costs;
//   costs.AddPass({.rows = 1, .leaves = 1}, 0.0070);          // as measured; any number of times, whenever there is a pass
//   costs.AddPass({.rows = 8, .leaves = 1}, 0.0140);
//   costs.AddHead(1, 0.0011);
//   costs.PassSeconds({.rows = 4, .leaves = 1});              // 0.0100: between what was measured, and never less with more rows
//   RETURN_IF_ERROR(costs.Save("costs.json"));
//   ASSIGN_OR_RETURN(CostProfile frozen, CostProfile::Load("costs.json"));    // measures no more: decisions can be repeated
//
// A pass that also reads a chunk of a prompt is no measure of decoding. The times of the last few such passes are kept apart, and give the
// size of the next chunk.
//
//   costs.AddPromptPass(/*rows=*/40, 0.0150);                 // all rows, those of texts that are written beside it included
//   costs.PromptPassSeconds({.rows = 8, .leaves = 8, .texts = 8}, /*prompt_rows=*/20);
//
// Low times of a shape count most, since noise only adds. A cause that makes all shapes slower or faster for long (heat, another program)
// is one factor. So shapes measured at different times can be compared. Reading a streamed model is part of each pass, so reading is part
// of the table. Each leaf beyond the first of its text adds the same time. So does each text beyond the first, since no other text's rows
// read its keys. A time that rows, leaves and texts do not explain is divided between the three. The table is the nearest one to the
// measured times in which more rows never cost less. Thread-compatible.
#pragma once

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tessera/base/json.h"

namespace tessera {

class CostProfile {
 public:
  static constexpr int kMostRows = 512;   // More rows count as kMostRows.

  // One tree, or the trees of several texts together.
  struct Shape {
    int rows = 1;     // Roots included.
    int leaves = 1;   // One per text at least.
    int texts = 1;
  };

  // Each call does nothing once the profile is frozen, or if the seconds are not positive and finite.
  void AddPass(const Shape& shape, double seconds);   // Without the head.
  void AddHead(int rows, double seconds);
  void AddDraft(absl::string_view drafter, double seconds);   // Per step.
  void AddTop(int rows, double seconds);                      // TopTokensOf, for `rows` rows.
  void AddPromptPass(int rows, double seconds);               // A pass in which some rows are a prompt's. The last few count.

  // For a streamed model: assumes that rows and their logits cost next to nothing, until more is measured. Passes and the head wait for
  // reading.
  void ExpectFreeRows() {
    pass_.GuessRow(kFreeRow);
    head_.GuessRow(kFreeRow);
  }

  // Unknown times are guessed from known ones; 0 while nothing is known.
  double PassSeconds(const Shape& shape) const { return level_ * (pass_.At(Clamped(shape.rows)) + ApartSeconds(shape)); }
  // Like PassSeconds, by the time of present passes. Larger if texts have become longer than in most measured passes.
  double PassSecondsNow(const Shape& shape) const { return PassSeconds(shape) * std::max(1.0, std::min(last_[0], last_[1])); }
  double HeadSeconds(int rows) const { return rows <= 0 ? 0 : level_ * head_.At(Clamped(rows)); }
  // Returns the seconds of a pass of this shape with `prompt_rows` prompt rows: the least by any of the last few such passes, since noise
  // only adds. More rows than such a pass had are assumed to cost as much each as the measured rows, which is the most they can. Fewer rows
  // are assumed to have added the same time each.
  double PromptPassSeconds(const Shape& shape, int prompt_rows) const;
  double DraftSeconds(absl::string_view drafter) const;
  double TopSeconds(int rows) const { return rows * top_.seconds; }
  // Returns whether a step was measured, with any number of texts. Before that, a draft cannot be compared with anything.
  bool KnowsSteps() const { return !pass_.means().empty() && !head_.means().empty(); }
  // Returns whether a token without any draft was measured. Before that, times of one text are no better than guesses.
  bool KnowsPlain() const { return pass_.contains(1) && head_.contains(1); }
  // Returns the seconds of a token without any draft if `texts` texts share the pass: each text's part.
  double PlainSeconds(int texts = 1) const {
    return PassSeconds({.rows = texts, .leaves = texts, .texts = texts}) / texts + HeadSeconds(texts) / texts;
  }

  // The yield of one kind of draft, for plans of memory (draft_choice.h). No choice of rows uses the yield.
  struct Yield {
    double tokens = 1;   // Mean tokens per pass: 1, and the guesses that came true.
    double rows = 1;     // Mean rows per pass: the root, and the guesses that were verified.
  };
  // Does nothing once frozen, or if a number is below 1 or no number, or if there are more tokens than rows or more rows than kMostRows.
  void SetYield(absl::string_view drafter, const Yield& yield);
  std::optional<Yield> YieldOf(absl::string_view drafter) const;   // nullopt: unknown.

  void Freeze() { frozen_ = true; }
  bool frozen() const { return frozen_; }

  // Writes the table as JSON, and reads the JSON back, frozen. InvalidArgument: file, field, found, expected.
  std::string ToJson() const;
  static absl::StatusOr<CostProfile> Parse(absl::string_view text, absl::string_view source);
  absl::Status Save(const std::string& path) const;
  static absl::StatusOr<CostProfile> Load(const std::string& path);

 private:
  static constexpr double kUnknownRow = 0.15, kFreeRow = 0.01;   // Little, so that more rows are tried.
  static constexpr double kUnknownHeadRow = 0.5;                // With weights in memory, logits of one more row are never cheap.
  struct Mean {
    double seconds = 0;
    int count = 0;
    double fitted = 0;   // Among the others of a curve; 0 while unknown.
    double Fitted() const { return fitted > 0 ? fitted : seconds; }
    void Add(double value, double new_weight, double outlier);
  };
  // Seconds by rows, at level 1.
  class Curve {
   public:
    explicit Curve(double unknown_row) : unknown_row_(unknown_row) {}
    void Add(int rows, double seconds);
    // Changes the known time of `rows` rows. REQUIRES: Knows(rows).
    void Shift(int rows, double seconds);
    // At measured row counts: whether there were enough measurements to know the level by them.
    bool Knows(int rows) const;
    bool contains(int rows) const { return means_.contains(rows); }
    // 0 while nothing was measured.
    double At(int rows) const { return rows <= drawn_ ? at_[static_cast<size_t>(rows)] : Beyond(rows); }
    const std::map<int, Mean>& means() const { return means_; }
    absl::Status Read(const JsonValue& file, absl::string_view name);
    // Sets the guess of one more row's time while only one row count is known, as a share of one row's time.
    void GuessRow(double share) { unknown_row_ = share; }

   private:
    using Line = std::array<double, kMostRows + 1>;   // [rows].
    // The line's continuation beyond the measured row counts.
    struct Slope {
      int from_rows = 0;
      double from = 0, per_row = 0;
      double At(int rows) const { return from + per_row * (rows - from_rows); }
    };
    template <typename Some>
    Slope DrawThrough(Some some, Line& line) const;
    double UnknownRow() const;
    double Beyond(int rows) const;
    void Fit();
    void Draw();
    double unknown_row_;
    std::map<int, Mean> means_;
    Line at_ = {};         // Drawn through the means,
    int drawn_ = 0;        // up to the most measured rows: a draft's few rows draw a short line.
    Slope all_, known_;    // Beyond: by all means, and by the known means;
    double one_ = 0;       // and one pass per row; infinite while one row was not measured.
  };

  static bool IsYield(const Yield& yield);
  absl::Status ReadYields(const JsonValue& file);
  static int Clamped(int rows) { return std::clamp(rows, 1, kMostRows); }
  double LeafSeconds() const { return std::max(leaf_, 0.0); }
  double TextSeconds() const { return std::max(text_, 0.0); }
  // The part of a pass that does not depend on rows.
  double ApartSeconds(const Shape& shape) const { return MoreLeaves(shape) * LeafSeconds() + MoreTexts(shape) * TextSeconds(); }
  static int MoreLeaves(const Shape& shape) { return std::max(shape.leaves - std::max(shape.texts, 1), 0); }
  static int MoreTexts(const Shape& shape) { return std::max(shape.texts - 1, 0); }

  Curve pass_{kUnknownRow}, head_{kUnknownHeadRow};
  double leaf_ = 0;             // Per leaf beyond the first; noise may make it negative, and
  double text_ = 0;             // per text beyond the first, too.
  Mean top_;                    // Per row.
  struct PromptPass { int rows = 0; double seconds = 0; };
  std::array<PromptPass, 3> prompt_passes_;   // The last ones, at level 1; no rows: there were fewer.
  size_t next_prompt_pass_ = 0;               // Is overwritten by the next.
  std::map<std::string, Mean, std::less<>> drafts_;
  std::map<std::string, Yield, std::less<>> yields_;
  double level_ = 1;            // Present slowness of everything, relative to the curves.
  std::array<double, 2> last_ = {1, 1};   // The last passes' times as shares of the expected times; the newest first.
  bool frozen_ = false;
};

}  // namespace tessera

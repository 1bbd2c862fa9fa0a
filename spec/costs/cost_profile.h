// What a step costs on this machine, with this model: a pass of so many rows, leaves and texts, the head over so many rows, and what
// drafters take; and what drafts gave, for whoever plans memory.
//
//   CostProfile costs;
//   costs.AddPass({.rows = 1, .leaves = 1}, 0.0070);          // as measured; any number of times, whenever there is a pass
//   costs.AddPass({.rows = 8, .leaves = 1}, 0.0140);
//   costs.AddHead(1, 0.0011);
//   costs.PassSeconds({.rows = 4, .leaves = 1});              // 0.0100: between what was measured, and never less with more rows
//   RETURN_IF_ERROR(costs.Save("costs.json"));
//   ASSIGN_OR_RETURN(CostProfile frozen, CostProfile::Load("costs.json"));    // measures no more: decisions can be repeated
//
// A pass that reads a part of a prompt as well is no measure of decoding: what the last few of them took is kept apart, and says how large
// the next part may be.
//
//   costs.AddPromptPass(/*rows=*/40, 0.0150);                 // all rows, those of texts that are written beside it included
//   costs.PromptPassSeconds({.rows = 8, .leaves = 8, .texts = 8}, /*prompt_rows=*/20);
//
// Low times of a shape count most, since noise only adds. Whatever makes all shapes slower or faster for long (heat, another program) is
// one factor beside them, so that shapes that were measured at different times can be compared. Reading a streamed model is part of each
// pass, so it is part of the table. Each leaf beyond the first of its text adds the same time; so does each text beyond the first, whose
// keys no other text's rows read. A time that rows, leaves and texts do not explain is divided between them. The table is the one nearest
// to what was measured in which more rows never cost less.
// Thread-compatible.
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
  static constexpr int kMostRows = 512;   // More count as so many.

  // One tree, or those of several texts together.
  struct Shape {
    int rows = 1;     // Roots included.
    int leaves = 1;   // One per text at least.
    int texts = 1;
  };

  // Nothing happens once frozen, or if the seconds are not positive and finite.
  void AddPass(const Shape& shape, double seconds);   // Without the head.
  void AddHead(int rows, double seconds);
  void AddDraft(absl::string_view drafter, double seconds);   // Per step.
  void AddTop(int rows, double seconds);                      // TopTokensOf, for so many rows.
  void AddPromptPass(int rows, double seconds);               // A pass in which some rows are a prompt's. The last few count.

  // For a streamed model: until more is measured, rows and their logits are taken to cost next to nothing, since passes and the head wait
  // for reading.
  void ExpectFreeRows() {
    pass_.GuessRow(kFreeRow);
    head_.GuessRow(kFreeRow);
  }

  // What is not known is guessed from what is; 0 while nothing is.
  double PassSeconds(const Shape& shape) const { return level_ * (pass_.At(Clamped(shape.rows)) + ApartSeconds(shape)); }
  // The same by what passes take now: more, where texts have become longer than those that most passes were measured with.
  double PassSecondsNow(const Shape& shape) const { return PassSeconds(shape) * std::max(1.0, std::min(last_[0], last_[1])); }
  double HeadSeconds(int rows) const { return rows <= 0 ? 0 : level_ * head_.At(Clamped(rows)); }
  // A pass of this shape and so many rows of a prompt beside it: the least that one of the last few such passes says, since noise only
  // adds. More rows than it had are taken to cost as much each as those did, which is the most they can; fewer, as if each had added the
  // same time.
  double PromptPassSeconds(const Shape& shape, int prompt_rows) const;
  double DraftSeconds(absl::string_view drafter) const;
  double TopSeconds(int rows) const { return rows * top_.seconds; }
  // A step was measured, of however many texts. Before that there is nothing to hold a draft against.
  bool KnowsSteps() const { return !pass_.means().empty() && !head_.means().empty(); }
  // A token without any draft. Only once that was measured are times of one text better than guesses.
  bool KnowsPlain() const { return pass_.contains(1) && head_.contains(1); }
  // What a token without any draft costs a text where so many texts share the pass: each text's part.
  double PlainSeconds(int texts = 1) const {
    return PassSeconds({.rows = texts, .leaves = texts, .texts = texts}) / texts + HeadSeconds(texts) / texts;
  }

  // What drafts of one kind gave, for plans of memory (draft_choice.h): no choice of rows looks at it.
  struct Yield {
    double tokens = 1;   // That a pass gave on average: 1, and those of its guesses that came true.
    double rows = 1;     // That it had: the root, and those of its guesses that were verified.
  };
  // Nothing happens once frozen, or if a number is below 1 or no number, or there are more tokens than rows or more rows than kMostRows.
  void SetYield(absl::string_view drafter, const Yield& yield);
  std::optional<Yield> YieldOf(absl::string_view drafter) const;   // nullopt: it is not known.

  void Freeze() { frozen_ = true; }
  bool frozen() const { return frozen_; }

  // The table as JSON, and back, frozen. InvalidArgument: file, field, found, expected.
  std::string ToJson() const;
  static absl::StatusOr<CostProfile> Parse(absl::string_view text, absl::string_view source);
  absl::Status Save(const std::string& path) const;
  static absl::StatusOr<CostProfile> Load(const std::string& path);

 private:
  static constexpr double kUnknownRow = 0.15, kFreeRow = 0.01;   // Little, so that more rows are tried.
  static constexpr double kUnknownHeadRow = 0.5;                // With weights in memory logits of a row more are never cheap.
  struct Mean {
    double seconds = 0;
    int count = 0;
    double fitted = 0;   // Among the others of a curve; 0 while it is not known.
    double Fitted() const { return fitted > 0 ? fitted : seconds; }
    void Add(double value, double new_weight, double outlier);
  };
  // Seconds by rows, at level 1.
  class Curve {
   public:
    explicit Curve(double unknown_row) : unknown_row_(unknown_row) {}
    void Add(int rows, double seconds);
    // Changes what is known of so many rows. REQUIRES: Knows(rows).
    void Shift(int rows, double seconds);
    // At row counts that were measured, only if they were often enough to know the level by them.
    bool Knows(int rows) const;
    bool contains(int rows) const { return means_.contains(rows); }
    // 0 while nothing was measured.
    double At(int rows) const { return rows <= drawn_ ? at_[static_cast<size_t>(rows)] : Beyond(rows); }
    const std::map<int, Mean>& means() const { return means_; }
    absl::Status Read(const JsonValue& file, absl::string_view name);
    // What a row more takes while there is one row count alone, as a share of that one.
    void GuessRow(double share) { unknown_row_ = share; }

   private:
    using Line = std::array<double, kMostRows + 1>;   // [rows].
    // How a line goes on beyond what was measured.
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
    int drawn_ = 0;        // up to the most rows that were measured: a draft's few rows draw a short line.
    Slope all_, known_;    // Beyond, what all means say, and those that are known,
    double one_ = 0;       // and a pass for each row; infinite while one row was not measured.
  };

  static bool IsYield(const Yield& yield);
  absl::Status ReadYields(const JsonValue& file);
  static int Clamped(int rows) { return std::clamp(rows, 1, kMostRows); }
  double LeafSeconds() const { return std::max(leaf_, 0.0); }
  double TextSeconds() const { return std::max(text_, 0.0); }
  // A pass's, apart from its rows.
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
  double level_ = 1;            // How much slower than the curves everything is now.
  std::array<double, 2> last_ = {1, 1};   // What the last passes took, as shares of what was expected of them; the newest first.
  bool frozen_ = false;
};

}  // namespace tessera

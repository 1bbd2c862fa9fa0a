#include "tessera/model/files/internal/name_pattern.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/files/internal/pattern_nodes.h"

namespace tessera {

// Compiles nodes to steps. Repeats are written out, so the number of steps bounds the cost of a pattern.
class PatternCompiler {
 public:
  absl::StatusOr<NamePattern> Compile(const PatternNode& node) && {
    RETURN_IF_ERROR(Emit(node, 0));
    Add({.kind = Step::kDone});
    if (pattern_.steps() > NamePattern::kMostSteps) return TooLong();
    return std::move(pattern_);
  }

 private:
  using Step = NamePattern::Step;

  static absl::Status TooLong() {
    return absl::InvalidArgumentError(absl::StrCat("found repeats of more than ", NamePattern::kMostSteps, " steps, expected less"));
  }
  int Next() const { return static_cast<int>(pattern_.steps_.size()); }
  int Add(const Step& step) {
    pattern_.steps_.push_back(step);
    return Next() - 1;
  }
  void LeadHere(int step) { pattern_.steps_[static_cast<size_t>(step)].other = Next(); }

  absl::Status Emit(const PatternNode& node, int looks) {
    if (Next() >= NamePattern::kMostSteps) return TooLong();
    switch (node.kind) {
      case PatternNode::kBytes: {
        Add({.kind = Step::kBytes, .other = static_cast<int>(pattern_.sets_.size())});
        pattern_.sets_.push_back(node.bytes);
        return absl::OkStatus();
      }
      case PatternNode::kPlace: Add({.kind = node.step}); return absl::OkStatus();
      case PatternNode::kSequence: {
        for (const PatternNode& part : node.parts) RETURN_IF_ERROR(Emit(part, looks));
        return absl::OkStatus();
      }
      case PatternNode::kChoice: return EmitChoice(node, looks);
      case PatternNode::kRepeat: return EmitRepeat(node, looks);
      case PatternNode::kLook: return EmitLook(node, looks);
    }
    return absl::OkStatus();
  }

  absl::Status EmitChoice(const PatternNode& node, int looks) {
    std::vector<int> ends;
    for (size_t i = 0; i + 1 < node.parts.size(); ++i) {
      const int fork = Add({.kind = Step::kFork});
      RETURN_IF_ERROR(Emit(node.parts[i], looks));
      ends.push_back(Add({.kind = Step::kJump}));
      LeadHere(fork);
    }
    RETURN_IF_ERROR(Emit(node.parts.back(), looks));
    for (const int end : ends) LeadHere(end);
    return absl::OkStatus();
  }

  // Each part has a separate step, so that empty parts have a cost, too.
  absl::Status EmitRepeat(const PatternNode& node, int looks) {
    for (int i = 0; i < node.least; ++i) {
      LeadHere(Add({.kind = Step::kJump}));
      RETURN_IF_ERROR(Emit(node.parts[0], looks));
    }
    std::vector<int> forks;
    if (node.most == PatternNode::kNoMost) {
      forks.push_back(Add({.kind = Step::kFork}));
      RETURN_IF_ERROR(Emit(node.parts[0], looks));
      Add({.kind = Step::kJump, .other = forks[0]});
    } else {
      for (int i = node.least; i < node.most; ++i) {
        forks.push_back(Add({.kind = Step::kFork}));
        RETURN_IF_ERROR(Emit(node.parts[0], looks));
      }
    }
    for (const int fork : forks) LeadHere(fork);
    return absl::OkStatus();
  }

  absl::Status EmitLook(const PatternNode& node, int looks) {
    const int look = Add({.kind = node.step, .look = pattern_.looks_++});
    pattern_.most_nested_ = std::max(pattern_.most_nested_, looks + 1);
    RETURN_IF_ERROR(Emit(node.parts[0], looks + 1));
    Add({.kind = Step::kDone});
    LeadHere(look);
    return absl::OkStatus();
  }

  NamePattern pattern_;
};

namespace {

using Step = NamePattern::Step;

bool IsWord(absl::string_view name, size_t at) {
  return at < name.size() && (absl::ascii_isalnum(static_cast<unsigned char>(name[at])) || name[at] == '_');
}

// Follows all ways through the steps at once, byte by byte.
class Match {
 public:
  Match(const std::vector<Step>& steps, const std::vector<NamePattern::ByteSet>& sets, int looks, int nested, absl::string_view name)
      : steps_(steps), sets_(sets), name_(name), levels_(static_cast<size_t>(nested) + 1),
        found_(static_cast<size_t>(looks) * (name.size() + 1), kUnknown) {}

  // Returns true if a step and a place lead to kDone; whole: at the end of the name.
  bool Leads(int step, size_t at, size_t nested, bool whole) {
    Level& level = levels_[nested];
    if (level.seen.empty()) level.seen.resize(steps_.size());
    level.now.clear();
    bool done = Follow(step, at, nested, level.now);
    for (; !(done && (!whole || at == name_.size())) && at < name_.size() && !level.now.empty(); ++at) {
      level.next.clear();
      ++level.round;
      done = false;
      for (const int from : level.now) {
        const auto byte = static_cast<unsigned char>(name_[at]);
        const auto& set = sets_[static_cast<size_t>(steps_[static_cast<size_t>(from)].other)];
        if (byte < set.size() && set[byte] && FollowOn(from + 1, at + 1, nested, level.next)) done = true;
      }
      level.now.swap(level.next);
    }
    return done && (!whole || at == name_.size());
  }

 private:
  static constexpr char kUnknown = 2;
  // State shared by the ways of one nesting.
  struct Level {
    std::vector<int> now, next;     // Steps that wait for a byte.
    std::vector<int> open;          // Steps to follow.
    std::vector<int64_t> seen;      // By step: the last round that followed the step.
    int64_t round = 0;
  };

  bool Follow(int step, size_t at, size_t nested, std::vector<int>& waiting) {
    ++levels_[nested].round;
    return FollowOn(step, at, nested, waiting);
  }

  // Follows steps that take no byte; returns true if one of the steps is kDone.
  bool FollowOn(int step, size_t at, size_t nested, std::vector<int>& waiting) {
    Level& level = levels_[nested];
    bool done = false;
    level.open.assign(1, step);
    while (!level.open.empty()) {
      const int here = level.open.back();
      level.open.pop_back();
      int64_t& seen = level.seen[static_cast<size_t>(here)];
      if (seen == level.round) continue;
      seen = level.round;
      const Step& one = steps_[static_cast<size_t>(here)];
      if (one.kind == Step::kDone) done = true;
      if (one.kind == Step::kBytes) waiting.push_back(here);
      if (one.kind == Step::kFork || one.kind == Step::kJump) level.open.push_back(one.other);
      if (one.kind == Step::kFork || (IsPlace(one.kind) && Holds(one.kind, at))) level.open.push_back(here + 1);
      if (one.kind == Step::kAhead || one.kind == Step::kNotAhead) {
        if (Finds(one, here + 1, at, nested) == (one.kind == Step::kAhead)) level.open.push_back(one.other);
      }
    }
    return done;
  }

  static bool IsPlace(Step::Kind kind) { return kind >= Step::kBegin && kind <= Step::kNoEdge; }
  bool Holds(Step::Kind place, size_t at) const {
    if (place == Step::kBegin) return at == 0;
    if (place == Step::kEnd) return at == name_.size();
    const bool edge = (at > 0 && IsWord(name_, at - 1)) != IsWord(name_, at);
    return edge == (place == Step::kEdge);
  }

  // Caches the result of a lookahead, which depends on the place alone.
  bool Finds(const Step& look, int step, size_t at, size_t nested) {
    const size_t place = static_cast<size_t>(look.look) * (name_.size() + 1) + at;
    if (found_[place] == kUnknown) found_[place] = Leads(step, at, nested + 1, /*whole=*/false) ? 1 : 0;
    return found_[place] == 1;
  }

  const std::vector<Step>& steps_;
  const std::vector<NamePattern::ByteSet>& sets_;
  const absl::string_view name_;
  std::vector<Level> levels_;
  std::vector<char> found_;
};

}  // namespace

absl::StatusOr<NamePattern> NamePattern::Parse(absl::string_view text) {
  ASSIGN_OR_RETURN(const PatternNode node, ParsePattern(text));
  return PatternCompiler().Compile(node);
}

bool NamePattern::Matches(absl::string_view name) const {
  return Match(steps_, sets_, looks_, most_nested_, name).Leads(0, 0, 0, /*whole=*/true);
}

}  // namespace tessera

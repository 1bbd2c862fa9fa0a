// Patterns of names in the syntax of Python's `re`. Adapters use patterns to name the modules that change.
//
//   ASSIGN_OR_RETURN(const NamePattern pattern, NamePattern::Parse(".*\\.layers\\.(0|1)\\.self_attn\\.[qv]_proj"));
//   if (pattern.Matches("model.layers.1.self_attn.q_proj")) Use(module);               // the whole name, as re.fullmatch
//
// A pattern comes from outside. A match takes at most steps() for each byte of the name, and as many again per byte where the pattern looks
// ahead: no way through the pattern is tried twice. Supported are: bytes, ".", classes, \d \w \s \b and their opposites, groups, |, repeats
// (lazy repeats match the same names), ^ $ \A \Z, and lookahead. Refused by name are: lookbehind, backreferences (\1), flags, possessive
// repeats, and bytes beyond ASCII. Errors: InvalidArgument with place, found and expected. Thread-safe (constant data).
#pragma once

#include <bitset>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace tessera {

class NamePattern {
 public:
  static constexpr int kMostSteps = 1 << 16;   // A repeat of n parts counts as n parts' steps.

  static absl::StatusOr<NamePattern> Parse(absl::string_view text);

  bool Matches(absl::string_view name) const;
  int steps() const { return static_cast<int>(steps_.size()); }

  using ByteSet = std::bitset<128>;
  struct Step {
    enum Kind : uint8_t {
      kBytes,          // One byte of a set, then the next step.
      kFork,           // The next step, and the step `other`.
      kJump,           // The step `other`.
      kBegin, kEnd,    // The next step, if the place is the begin or the end.
      kEdge, kNoEdge,  // The next step, if \b or \B holds.
      kAhead, kNotAhead,  // The step `other`, if the steps from the next step on lead to kDone from here (kAhead), or do not (kNotAhead).
      kDone,
    };
    Kind kind = kDone;
    int other = 0;     // A step, or for kBytes a set.
    int look = 0;      // For kAhead and kNotAhead: the number of the lookahead.
  };

 private:
  friend class PatternCompiler;
  NamePattern() = default;

  std::vector<Step> steps_;
  std::vector<ByteSet> sets_;
  int looks_ = 0;
  int most_nested_ = 0;   // Nesting of lookaheads.
};

}  // namespace tessera

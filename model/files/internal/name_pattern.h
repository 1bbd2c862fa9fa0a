// Patterns of names as Python's `re` has them, by which adapters say which modules of a model they change.
//
//   ASSIGN_OR_RETURN(const NamePattern pattern, NamePattern::Parse(".*\\.layers\\.(0|1)\\.self_attn\\.[qv]_proj"));
//   if (pattern.Matches("model.layers.1.self_attn.q_proj")) Use(module);               // the whole name, as re.fullmatch
//
// A pattern comes from outside. A match takes at most steps() for each byte of the name, and where the pattern looks ahead as much again
// from each byte: no way through it is tried twice. Read are: bytes, ".", classes, \d \w \s \b and their opposites, groups, |, repeats
// (lazy ones, too: they match the same names), ^ $ \A \Z, and what looks ahead. Refused by name are: what looks behind, groups that are
// repeated later (\1), flags, possessive repeats, and bytes beyond ASCII. Errors are InvalidArgument with place, found and expected.
// Thread-safe (constant data).
#pragma once

#include <bitset>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace tessera {

class NamePattern {
 public:
  static constexpr int kMostSteps = 1 << 16;   // A repeat of n parts takes the steps of n.

  static absl::StatusOr<NamePattern> Parse(absl::string_view text);

  bool Matches(absl::string_view name) const;
  int steps() const { return static_cast<int>(steps_.size()); }

  using ByteSet = std::bitset<128>;
  struct Step {
    enum Kind : uint8_t {
      kBytes,          // One byte of a set, then the next step.
      kFork,           // The next step, and the other.
      kJump,           // The other.
      kBegin, kEnd,    // The next step, if the place is so.
      kEdge, kNoEdge,  // The same for \b and \B.
      kAhead, kNotAhead,  // The other, if the steps from the next on lead to kDone from here, or if they do not.
      kDone,
    };
    Kind kind = kDone;
    int other = 0;     // A step, or for kBytes a set.
    int look = 0;      // For kAhead and kNotAhead: which of them it is.
  };

 private:
  friend class PatternCompiler;
  NamePattern() = default;

  std::vector<Step> steps_;
  std::vector<ByteSet> sets_;
  int looks_ = 0;
  int most_nested_ = 0;   // Looks within looks.
};

}  // namespace tessera

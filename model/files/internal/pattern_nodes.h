// Parses the text of a pattern, for NamePattern.
//
//   ASSIGN_OR_RETURN(const PatternNode node, ParsePattern("a|[bc]+"));       // a choice of bytes and a repeat of bytes
//
// Errors: InvalidArgument with place, found and expected. Thread-safe (pure).
#pragma once

#include <limits>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tessera/model/files/internal/name_pattern.h"

namespace tessera {

struct PatternNode {
  enum Kind { kBytes, kSequence, kChoice, kRepeat, kPlace, kLook };
  static constexpr int kNoMost = std::numeric_limits<int>::max();

  Kind kind = kSequence;
  NamePattern::ByteSet bytes = {};           // kBytes
  std::vector<PatternNode> parts = {};       // One for kRepeat and kLook.
  int least = 0, most = 0;                   // kRepeat
  NamePattern::Step::Kind step = NamePattern::Step::kDone;   // kPlace: kBegin to kNoEdge; kLook: kAhead or kNotAhead.
};

// Maximum nesting of groups.
inline constexpr int kMostPatternDepth = 64;

absl::StatusOr<PatternNode> ParsePattern(absl::string_view text);

}  // namespace tessera

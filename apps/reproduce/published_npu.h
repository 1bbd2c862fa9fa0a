// What papers 000, 001, 003 and 004 say about NPUs: times, memory, shares and ratios, to compare predictions with.
//
//   for (const PublishedFigure& figure : PublishedNpuFigures()) Print(figure.id, figure.low, figure.high, figure.unit, figure.source);
//
// They stand in this file alone. What compares and prints them may include it, and nothing else: no figure is a parameter, and no
// prediction knows one. Not here are figures of whole requests with drafts (published_sdnpu.h), of accuracy (docs/tiles.md) and of flash
// (paper 002). Constant data: thread-safe.
#pragma once

#include <cstdint>

#include "absl/types/span.h"
#include "tessera/base/cpp20.h"

namespace tessera {

struct PublishedFigure {
  enum class Kind : uint8_t { kValue, kRange, kAtMost, kAtLeast };   // Bounds have their number in low and high.
  enum class Use : uint8_t {
    kCounted,
    kContradicted,   // The papers contradict it: shown, not counted.
    kElsewhere,      // About requests whose drafts come from recordings: tessera_reproduce sdnpu compares it.
  };
  const char* id;
  const char* what;
  Kind kind;
  double low, high;
  const char* unit;
  const char* source;
  Use use = Use::kCounted;
  const char* reason = "";   // Why the use is not kCounted, or a note.
};

absl::Span<const PublishedFigure> PublishedNpuFigures();

}  // namespace tessera

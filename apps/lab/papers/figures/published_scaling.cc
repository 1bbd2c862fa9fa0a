// The test-time scaling paper's numbers about decoding of several samples at once, as far as in the text: the rest of section 7.2 is
// pictures.
#include "tessera/apps/lab/papers/figures/published.h"

namespace tessera {
namespace {

using Kind = PublishedFigure::Kind;
using Use = PublishedFigure::Use;

constexpr char kPowers[] = "the profile's powers of the parts are guesses within this number, so that their sum says nothing about it";

constexpr PublishedFigure kFigures[] = {
    {"001-npu-memory-1.5b", "memory of the NPU, 1.5B, context 4096", Kind::kValue, 1056, 1056, "MiB", "001, section 7.5"},
    {"001-npu-memory-3b", "memory of the NPU, 3B, context 4096", Kind::kValue, 2090, 2090, "MiB", "001, section 7.5"},
    {"001-memory-1.5b", "all memory, 1.5B, about", Kind::kValue, 1.3, 1.3, "GiB", "001, section 7.5"},
    {"001-memory-3b", "all memory, 3B, about", Kind::kValue, 2.4, 2.4, "GiB", "001, section 7.5"},
    {"001-power-1.5b", "the device's power, 1.5B, 1 to 16 rows", Kind::kAtMost, 5, 5, "W", "001, section 7.2.3", Use::kOfParameters,
     kPowers},
    {"001-power-3b", "the device's power, 3B, 1 to 16 rows, about", Kind::kValue, 4.3, 4.3, "W", "001, section 7.2.3", Use::kOfParameters,
     kPowers},
};

constexpr PublishedAccuracy kAccuracies[] = {
    {"llama-3.2-1b", "MATH500", 15.9, "001, table 1, 4 bits by AWQ"},
    {"llama-3.2-1b", "GSM8K", 32.6, "001, table 1, 4 bits by AWQ"},
};

}  // namespace

absl::Span<const PublishedFigure> PublishedScalingFigures() { return kFigures; }

absl::Span<const PublishedAccuracy> PublishedBaseAccuracies() { return kAccuracies; }

}  // namespace tessera

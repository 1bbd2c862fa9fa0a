#include "tessera/quant/internal/tiles/tile_quantizer.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "tessera/base/checked_math.h"
#include "tessera/base/half.h"
#include "tessera/base/status_macros.h"

namespace tessera::tiles {
namespace {

// FP16 has neither codes nor scales; the default scheme's codes and scales are never used.
TileScheme WithCodes(TileScheme scheme) { return scheme.code == TileCode::kHalf ? TileScheme{} : scheme; }

}  // namespace

RunWriter::RunWriter(TileScheme scheme) : scheme_(scheme), places_(kRuns * kRun) {
  for (int run = 0; run < kRuns; ++run) {
    for (int i = 0; i < kRun; ++i) {
      const RunPlace place = PlaceInRun(scheme, run, i);
      places_[static_cast<size_t>(run * kRun + i)] = PlaceOfCode(scheme, place.input, place.output);
    }
  }
}

void RunWriter::PutScale(int run, uint16_t half, std::byte* panel, std::byte* tile) const {
  const RunPlace first = PlaceInRun(scheme_, run, 0);
  const ScalePlace place = PlaceOfScale(scheme_, first.input, first.output);
  std::memcpy((place.in_header ? panel : tile) + place.byte, &half, sizeof half);
}

TileQuantizer::TileQuantizer(const MatrixSpec& spec, TileScheme scheme, TensorView<const float> weights,
                             const TileMatrix::Choice& choice)
    : spec_(spec), scheme_(scheme), weights_(weights), choice_(choice), tiles_(CeilDiv(spec.in_features, kTileSide)),
      tile_bytes_(TileBytes(scheme)), encoder_(WithCodes(scheme).code), writer_(WithCodes(scheme)),
      output_(static_cast<size_t>(tiles_ * kTileSide)) {
  if (choice.importance.empty()) return;
  importance_.assign(choice.importance.begin(), choice.importance.end());
  importance_.resize(output_.size());
}

absl::Status TileQuantizer::Panel(int64_t panel, std::byte* out) {
  std::memset(out, 0, static_cast<size_t>(HeaderBytes(scheme_) + tiles_ * tile_bytes_));
  if (scheme_.code == TileCode::kHalf) return Halves(panel, out);
  if (HasGroups(scheme_)) return Groups(panel, out);
  for (int output = 0; output < kTileSide; ++output) RETURN_IF_ERROR(Output(panel, output, out));
  return absl::OkStatus();
}

absl::Status TileQuantizer::Halves(int64_t panel, std::byte* out) const {
  for (int64_t tile = 0; tile < tiles_; ++tile, out += tile_bytes_) {
    for (int run = 0; run < kRuns; ++run) {
      float numbers[kRun];
      Gather(panel, tile, run, numbers);
      for (int i = 0; i < kRun; ++i) {
        const uint16_t half = FloatToHalf(numbers[i]);
        if (!std::isfinite(HalfToFloat(half))) return NotHeld(panel, tile, run, i, numbers[i], "a finite number that FP16 holds");
        const RunPlace place = PlaceInRun(scheme_, run, i);
        std::memcpy(out + PlaceOfCode(scheme_, place.input, place.output).byte, &half, sizeof half);
      }
    }
  }
  return absl::OkStatus();
}

absl::Status TileQuantizer::Groups(int64_t panel, std::byte* out) const {
  for (int64_t tile = 0; tile < tiles_; ++tile) {
    std::byte* const to = out + tile * tile_bytes_;
    for (int run = 0; run < kRuns; ++run) {
      float numbers[kRun], importance[kRun];
      Gather(panel, tile, run, numbers);
      for (int i = 0; i < kRun && !importance_.empty(); ++i) {
        importance[i] = importance_[static_cast<size_t>(tile * kTileSide + PlaceInRun(scheme_, run, i).input)];
      }
      ASSIGN_OR_RETURN(const TileScale scale,
                       Choose(panel, tile, run, numbers, importance_.empty() ? nullptr : importance, kRun));
      uint8_t codes[kRun];
      encoder_.Encode(numbers, scale.inverse, codes);
      writer_.PutScale(run, scale.half, out, to);
      writer_.PutCodes(run, codes, to);
    }
  }
  return absl::OkStatus();
}

// All numbers of an output, whose runs are its tiles' (a run is named after its output there).
absl::Status TileQuantizer::Output(int64_t panel, int output, std::byte* out) {
  for (int64_t tile = 0; tile < tiles_; ++tile) Gather(panel, tile, output, output_.data() + tile * kTileSide);
  const float* const importance = importance_.empty() ? nullptr : importance_.data();
  ASSIGN_OR_RETURN(const TileScale scale, Choose(panel, 0, output, output_.data(), importance, tiles_ * kTileSide));
  writer_.PutScale(output, scale.half, out, nullptr);
  for (int64_t tile = 0; tile < tiles_; ++tile) {
    uint8_t codes[kRun];
    encoder_.Encode(output_.data() + tile * kTileSide, scale.inverse, codes);
    writer_.PutCodes(output, codes, out + kHeader + tile * tile_bytes_);
  }
  return absl::OkStatus();
}

void TileQuantizer::Gather(int64_t panel, int64_t tile, int run, float* numbers) const {
  const int64_t output = panel * kTileSide, input = tile * kTileSide;
  if (!HasTileGroups(scheme_)) {
    const bool exists = output + run < spec_.out_features;
    const int64_t count = exists ? std::min<int64_t>(kRun, spec_.in_features - input) : 0;
    if (count > 0) std::copy_n(weights_.row(output + run) + input, count, numbers);
    std::fill(numbers + count, numbers + kRun, 0.0f);
    return;
  }
  for (int i = 0; i < kRun; ++i) {
    const RunPlace place = PlaceInRun(scheme_, run, i);
    const bool exists = output + place.output < spec_.out_features && input + place.input < spec_.in_features;
    numbers[i] = exists ? weights_.row(output + place.output)[input + place.input] : 0;
  }
}

absl::StatusOr<TileScale> TileQuantizer::Choose(int64_t panel, int64_t tile, int run, const float* numbers, const float* importance,
                                                int64_t count) const {
  const int64_t bad = FirstNotFinite(numbers, count);
  if (bad >= 0) return NotHeld(panel, tile, run, bad, numbers[bad], "a finite number");
  const int64_t at = LargestIn(numbers, count);
  if (scheme_.scales == TileScales::kTensor) {
    if (std::fabs(numbers[at]) > choice_.largest) {
      return NotHeld(panel, tile, run, at, numbers[at], absl::StrCat("a magnitude of at most ", choice_.largest, ", the matrix's largest"));
    }
    return ScaleOf(choice_.largest / std::fabs(encoder_.largest()));
  }
  const bool products = HasGroups(scheme_);
  const float nearest = numbers[at] / encoder_.largest();
  if (!encoder_.Holds(ScaleOf(nearest), products)) {
    return NotHeld(panel, tile, run, at, numbers[at], products ? "a number that FP16 holds, as its scale" : "one whose scale FP16 holds");
  }
  return importance == nullptr ? ScaleOf(nearest) : encoder_.Search(numbers, importance, count, nearest, products);
}

absl::Status TileQuantizer::NotHeld(int64_t panel, int64_t tile, int run, int64_t i, float found, absl::string_view expected) const {
  const RunPlace place = PlaceInRun(scheme_, run, static_cast<int>(i % kRun));
  const int64_t output = choice_.first_output + panel * kTileSide + place.output, input = (tile + i / kRun) * kTileSide + place.input;
  return absl::InvalidArgumentError(
      absl::StrCat(spec_.name, ": output ", output, ", input ", input, ": found ", found, ", expected ", expected));
}

}  // namespace tessera::tiles

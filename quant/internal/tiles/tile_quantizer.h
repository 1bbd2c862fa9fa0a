// Fills the panels of a tile matrix with numbers, rounded to codes and scales (quant/tile_matrix.h).
//
//   tiles::TileQuantizer quantizer(spec, scheme, weights, choice);
//   RETURN_IF_ERROR(quantizer.Panel(/*panel=*/0, bytes));
//
// Threads: thread-compatible; the quantizer has scratch memory for the numbers of an output.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "tessera/quant/internal/tiles/tile_encoder.h"
#include "tessera/quant/tile_matrix.h"

namespace tessera::tiles {

// The places of the codes of a scheme's runs, looked up once, used for every tile.
class RunWriter {
 public:
  explicit RunWriter(TileScheme scheme);   // REQUIRES: not kHalf.

  // Stores the codes of a run. REQUIRES: the codes' bits are 0 in `tile`.
  void PutCodes(int run, const uint8_t* codes, std::byte* tile) const {
    for (int i = 0; i < kRun; ++i) {
      const CodePlace place = places_[static_cast<size_t>(run * kRun + i)];
      tile[place.byte] |= static_cast<std::byte>(codes[i] << place.shift);
    }
  }
  void PutScale(int run, uint16_t half, std::byte* panel, std::byte* tile) const;

 private:
  const TileScheme scheme_;
  std::vector<CodePlace> places_;
};

class TileQuantizer {
 public:
  // All arguments must outlive the quantizer. REQUIRES: sizes are right, importance is of all inputs or empty, choice.largest is finite and
  // not negative.
  TileQuantizer(const MatrixSpec& spec, TileScheme scheme, TensorView<const float> weights, const TileMatrix::Choice& choice);

  // Quantizes one panel. InvalidArgument as TileMatrix::Quantize. out: the panel's bytes.
  absl::Status Panel(int64_t panel, std::byte* out);

 private:
  absl::Status Halves(int64_t panel, std::byte* out) const;
  absl::Status Groups(int64_t panel, std::byte* out) const;
  absl::Status Output(int64_t panel, int output, std::byte* out);

  void Gather(int64_t panel, int64_t tile, int run, float* numbers) const;
  absl::Status NotHeld(int64_t panel, int64_t tile, int run, int64_t i, float found, absl::string_view expected) const;
  // Chooses the scale of `count` numbers, whole runs. The first number is number 0 of `run`.
  absl::StatusOr<TileScale> Choose(int64_t panel, int64_t tile, int run, const float* numbers, const float* importance,
                                   int64_t count) const;

  const MatrixSpec& spec_;
  const TileScheme scheme_;
  const TensorView<const float> weights_;
  const TileMatrix::Choice& choice_;
  const int64_t tiles_, tile_bytes_;
  const TileEncoder encoder_;
  const RunWriter writer_;
  std::vector<float> output_, importance_;   // Whole tiles of inputs, with zeros as padding. importance_: empty without an importance.
};

}  // namespace tessera::tiles

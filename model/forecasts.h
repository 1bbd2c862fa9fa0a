// Lets a model draft for itself (DS2D, the one-for-all paper, section 3.5): keys and values of prefix slots, and forecast embeddings. The
// model stays unchanged; scripts/train/ds2d.py trains prefix and forecasts.
//
//   ASSIGN_OR_RETURN(const ForecastSizes sizes, Forecasts::SizesIn("ds2d.safetensors"));          // before a model is opened
//   ASSIGN_OR_RETURN(const std::shared_ptr<const Forecasts> forecasts, Forecasts::Open("ds2d.safetensors", model.file(), model.config()));
//   PassRow row = {.paths = paths, .embedding = forecasts->embedding(0), .position = position + 1};   // of a token at `position`
//   forecasts->keys(layer);                                                                       // [slots, kv_heads x head_size]
//
// Forecast k (0, 1, ...) of a token at position p has position p + k + 1. The forecast attends to the prefix slots (which have no
// position), to the text up to the token, and to forecasts 0 to k of the token. The forecast predicts the token k + 2 ahead. Rows of the
// text never attend to the prefix or a forecast, so the text's bits stay the model's bits.
//
// The file holds three tensors in F32, F16 or BF16. prefix.keys and prefix.values [layers, slots, kv_heads, head_size] are stored as by the
// model's layers (keys in GGUF's order of pairs). The third is forecasts [forecasts, width]. The file may hold texts: "slots" and
// "forecasts" must equal the tensors' sizes. "tessera.model.vectors" must be the model's mark (model/files/marked_model.h); another mark
// means a file of another model.
//
// Models with windowed attention are refused: a window counts positions backwards from the row, and the prefix, in front of all positions,
// would leave the window. The file is hostile until checked: sizes against the model, every number finite, no other tensors.
//
// Errors: InvalidArgument with file, tensor or text, found and expected; NotFound for a missing file; the errors of SafetensorsFile and of
// MarkedModel.
//
// Threads: thread-safe, constant once made.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tessera/model/files/config.h"
#include "tessera/model/files/model_file.h"
#include "tessera/model/files/safetensors.h"

namespace tessera {

struct ForecastSizes {
  int slots = 0;
  int forecasts = 0;   // Maximum forecasts behind a token.
  friend bool operator==(const ForecastSizes&, const ForecastSizes&) = default;
};

class Forecasts {
 public:
  static constexpr int kMostSlots = 256, kMostForecasts = 16;

  // Returns true if the file looks like a file of forecasts: it has a tensor "forecasts".
  static bool IsIn(const SafetensorsFile& file) { return file.FindTensor("forecasts") != nullptr; }
  // Returns the sizes by the tensors' shapes, before a model is open to check against.
  static absl::StatusOr<ForecastSizes> SizesIn(const std::string& path);
  static absl::StatusOr<ForecastSizes> SizesIn(const SafetensorsFile& file);

  // Opens the forecasts of the model with this file and configuration.
  static absl::StatusOr<std::shared_ptr<const Forecasts>> Open(const std::string& path, const ModelFile& model, const ModelConfig& config);
  // Reads the forecasts from an open file, without a check of the model's mark.
  static absl::StatusOr<std::shared_ptr<const Forecasts>> Read(const SafetensorsFile& file, const ModelConfig& config);

  const ForecastSizes& sizes() const { return sizes_; }
  int layers() const { return layers_; }
  int columns() const { return columns_; }   // kv_heads x head_size.
  int width() const { return width_; }
  // Returns the prefix keys of a layer: [slots, columns()]. REQUIRES: 0 <= layer < layers().
  absl::Span<const float> keys(int layer) const { return Of(keys_, layer); }
  absl::Span<const float> values(int layer) const { return Of(values_, layer); }
  // Returns an embedding: [width]. REQUIRES: 0 <= forecast < sizes().forecasts.
  const float* embedding(int forecast) const { return &embeddings_[static_cast<size_t>(forecast) * static_cast<size_t>(width_)]; }
  // Returns the memory of all numbers.
  int64_t bytes() const { return static_cast<int64_t>((keys_.size() + values_.size() + embeddings_.size()) * sizeof(float)); }

 private:
  Forecasts(const ForecastSizes& sizes, const ModelConfig& config);
  absl::Span<const float> Of(const std::vector<float>& numbers, int layer) const {
    const size_t count = static_cast<size_t>(sizes_.slots) * static_cast<size_t>(columns_);
    return absl::MakeConstSpan(numbers).subspan(static_cast<size_t>(layer) * count, count);
  }

  const ForecastSizes sizes_;
  const int layers_, columns_, width_;
  std::vector<float> keys_, values_;   // [layers][slots][columns_]
  std::vector<float> embeddings_;      // [forecasts][width_]
};

}  // namespace tessera

// A model's file, configuration, and weights in memory: everything needed before computing.
//
//   LoadedWeights model(TinyModelBuilder({}));                            // or LoadedWeights model("model.gguf")
//   const WeightLease lease = Must(model.source().Acquire(/*unit=*/0));
//
// Operations that cannot fail in a right program are CHECKed. Thread-compatible.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tessera/base/thread_pool.h"
#include "tessera/model/files/config.h"
#include "tessera/model/files/gguf.h"
#include "tessera/model/files/weights.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/fakes/tiny_model.h"

namespace tessera {

class LoadedWeights {
 public:
  explicit LoadedWeights(GgufBuilder builder, WeightEncoding encoding = WeightEncoding::kPacked, int64_t largest_unit = kLargestUnitBytes)
      : bytes_(builder.Build()) {
    const std::byte* data = reinterpret_cast<const std::byte*>(bytes_.data());
    Load(GgufFile::Parse(absl::MakeConstSpan(data, bytes_.size()), "tiny"), encoding, largest_unit);
  }
  explicit LoadedWeights(const std::string& path, WeightEncoding encoding = WeightEncoding::kPacked) {
    Load(GgufFile::Open(path), encoding, kLargestUnitBytes);
  }
  // Loads weights in tiles, by a recipe.
  LoadedWeights(GgufBuilder builder, const std::string& recipe) : bytes_(builder.Build()), recipe_(recipe) {
    const std::byte* data = reinterpret_cast<const std::byte*>(bytes_.data());
    Load(GgufFile::Parse(absl::MakeConstSpan(data, bytes_.size()), "tiny"), WeightEncoding::kTiles, kLargestUnitBytes);
  }

  const GgufFile& file() const { return *file_; }
  const ModelConfig& config() const { return config_; }
  const WeightLayout& layout() const { return layout_; }
  WeightSource& source() const { return *source_; }

  // Returns the bytes of every unit, for a test's own sources.
  std::vector<std::vector<std::byte>> Units() const {
    std::vector<std::vector<std::byte>> units(layout_.units());
    for (int i = 0; i < layout_.units(); ++i) {
      units[i].resize(layout_.UnitBytes(i));
      Must(FillUnit(*file_, layout_, i, absl::MakeSpan(units[i])));
    }
    return units;
  }

 private:
  void Load(absl::StatusOr<std::unique_ptr<GgufFile>> file, WeightEncoding encoding, int64_t largest_unit) {
    file_ = Must(std::move(file));
    config_ = Must(ReadModelConfig(*file_));
    const WeightRecipe recipe = encoding == WeightEncoding::kTiles ? Must(WeightRecipe::Parse(recipe_)) : WeightRecipe();
    layout_ = Must(WeightLayout::Plan(*file_, config_, encoding, recipe, largest_unit));
    ThreadPool pool(1);
    source_ = Must(LoadResident(*file_, layout_, pool));
  }

  std::string bytes_, recipe_ = "001";   // The recipe: of weights in tiles.
  std::unique_ptr<GgufFile> file_;
  ModelConfig config_;
  WeightLayout layout_;
  std::unique_ptr<WeightSource> source_;
};

}  // namespace tessera

// A model's file: GGUF, or packed from GGUF (.tsr). The first bytes decide the kind, not the name.
//
//   ASSIGN_OR_RETURN(std::unique_ptr<ModelFile> file, ModelFile::Open("model.tsr"));
//   ASSIGN_OR_RETURN(ModelConfig config, ReadModelConfig(file->gguf()));
//   ASSIGN_OR_RETURN(WeightLayout layout, file->PlanWeights(config, WeightEncoding::kPacked));
//   ASSIGN_OR_RETURN(std::unique_ptr<WeightSource> weights, file->LoadWeights(layout, pool));
//
// A packed file keeps the header of its GGUF file, so metadata, configuration, tokenizer and layout come from the same code. A packed file
// also keeps the recipe of its weights (weight_recipe.h). Weights in tiles (WeightEncoding::kTiles) are made while a GGUF file, or a packed
// file in panels, is loaded. Weights of a file packed with a recipe for tiles are read unchanged. Offsets in messages about the header are
// offsets in the original GGUF file.
//
// Both files are hostile until checked. Errors: the errors of GgufFile, TsrReader and WeightLayout, with file, found and expected.
//
// Threads: thread-safe after Open, except LoadWeights.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tessera/base/thread_pool.h"
#include "tessera/model/files/config.h"
#include "tessera/model/files/gguf.h"
#include "tessera/model/files/weights.h"
#include "tessera/storage/loading_source.h"
#include "tessera/storage/tsr_reader.h"

namespace tessera {

class ModelFile {
 public:
  // kAtOnce: LoadWeights will follow, so threads start to read the weights of a packed file now, while the header is parsed. cancel: see
  // LoadingSource.
  enum class Weights { kAtOnce, kLater };
  static absl::StatusOr<std::unique_ptr<ModelFile>> Open(const std::string& path, Weights weights = Weights::kLater,
                                                         const std::atomic<bool>* cancel = nullptr);

  const std::string& path() const { return gguf_->path(); }  // A split model has the path of its first part.
  const GgufFile& gguf() const { return *gguf_; }            // For a packed file: only the header, without tensors' data.
  const TsrReader* packed() const { return packed_.get(); }  // Null for GGUF.

  // The recipe and the layout of a packed file's weights: kPacked, or kTiles if the recipe has tiles. GGUF: all kept, kPacked.
  const WeightRecipe& recipe() const { return recipe_; }
  WeightEncoding encoding() const { return recipe_.has_tiles() ? WeightEncoding::kTiles : WeightEncoding::kPacked; }

  // Plans the layout. config: the file's configuration, or FirstLayers of this configuration. recipe: the wanted forms. nullopt: the forms
  // of a packed file with the encoding; otherwise, for kTiles, WeightRecipe::Default(). For a packed file, returns InvalidArgument (found,
  // expected, how to pack it) in three cases: the units are not the units of the file's layout (with the first difference), the file was
  // packed with another recipe, or the file does not hold the encoding. Panels become tiles only if packed without a recipe: otherwise
  // numbers would be quantized twice. Also returns InvalidArgument for a recipe with tiles and another encoding.
  absl::StatusOr<WeightLayout> PlanWeights(const ModelConfig& config, WeightEncoding encoding,
                                           const std::optional<WeightRecipe>& recipe = std::nullopt) const;
  // Returns true if the file holds the units of this layout unchanged, so that the units can be streamed. REQUIRES: PlanWeights returned
  // the layout.
  bool HoldsUnitsOf(const WeightLayout& layout) const {
    return packed_ != nullptr && HasFormOf(layout) && layout.units() == packed_->units();
  }
  // Returns InvalidArgument (found, expected, how to pack it) for a packed file if HoldsUnitsOf is false, for example if the layout has
  // only the first of the file's layers.
  absl::Status CheckStreams(const WeightLayout& layout) const;

  // Loads all units of the layout. In three cases all threads of the pool make or read the units before this returns: for a GGUF file, for
  // tiles from panels, and for a layout with only the first of a packed file's layers. Any other packed file is read while the units are
  // used (see LoadingSource). The result must end before the file. REQUIRES: PlanWeights returned the layout. LoadWeights was not called
  // before. No importance for a packed file, whose scales were chosen when it was packed.
  absl::StatusOr<std::unique_ptr<WeightSource>> LoadWeights(const WeightLayout& layout, ThreadPool& pool,
                                                            const std::atomic<bool>* cancel = nullptr, const FillOptions& options = {});

 private:
  ModelFile() = default;
  // True if the packed file has the layout's matrices in the layout's forms. Without tiles, kTiles has panels.
  bool HasFormOf(const WeightLayout& layout) const { return layout.encoding() == encoding() || layout.recipe() == recipe_; }
  // Returns the layout that the packed file should have: all units in the forms of `layout` or, if the file has other forms, in panels.
  absl::StatusOr<WeightLayout> LayoutOfFile(const WeightLayout& layout) const;
  absl::StatusOr<WeightRecipe> ChooseRecipe(WeightEncoding encoding, const std::optional<WeightRecipe>& recipe) const;

  std::unique_ptr<TsrReader> packed_;
  std::unique_ptr<GgufFile> gguf_;
  WeightRecipe recipe_;
  std::unique_ptr<LoadingSource> loading_;  // Until LoadWeights returns it. Reads packed_.
};

}  // namespace tessera

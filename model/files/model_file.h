// A model's file: GGUF, or packed from GGUF (.tsr). Its first bytes decide which, not its name.
//
//   ASSIGN_OR_RETURN(std::unique_ptr<ModelFile> file, ModelFile::Open("model.tsr"));
//   ASSIGN_OR_RETURN(ModelConfig config, ReadModelConfig(file->gguf()));
//   ASSIGN_OR_RETURN(WeightLayout layout, file->PlanWeights(config, WeightEncoding::kPacked));
//   ASSIGN_OR_RETURN(std::unique_ptr<WeightSource> weights, file->LoadWeights(layout, pool));
//
// A packed file keeps the header of its GGUF file, so metadata, configuration, tokenizer and layout come from the same code, and the recipe
// by which its weights were formed (weight_recipe.h). Weights in tiles (WeightEncoding::kTiles) are made while a GGUF file is loaded, or a
// packed one in panels; those of a file packed with a recipe that has tiles are read as they lie.
// Offsets in messages about the header are offsets in that GGUF file. Both files are hostile until checked; errors are those of GgufFile,
// TsrReader and WeightLayout, and name the file, what was found and what expected. Thread-safe after Open, except for LoadWeights.
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
  // kAtOnce: LoadWeights will follow, so threads begin to read the weights of a packed file now, while the header is parsed. cancel: see
  // LoadingSource.
  enum class Weights { kAtOnce, kLater };
  static absl::StatusOr<std::unique_ptr<ModelFile>> Open(const std::string& path, Weights weights = Weights::kLater,
                                                         const std::atomic<bool>* cancel = nullptr);

  const std::string& path() const { return gguf_->path(); }  // A split model has the path of its first part.
  const GgufFile& gguf() const { return *gguf_; }            // For a packed file only the header, without tensors' data.
  const TsrReader* packed() const { return packed_.get(); }  // Null for GGUF.

  // How a packed file's weights were formed, and how they lie: kPacked, or kTiles if the recipe has tiles. GGUF: all kept, kPacked.
  const WeightRecipe& recipe() const { return recipe_; }
  WeightEncoding encoding() const { return recipe_.has_tiles() ? WeightEncoding::kTiles : WeightEncoding::kPacked; }

  // config: that of the file, or FirstLayers of it. recipe: the forms that are wanted; none: those of a packed file that has the encoding;
  // else, for kTiles, WeightRecipe::Default(). For a packed file: InvalidArgument (found, expected, how to pack it) if its units are not
  // those of the file's layout, with the first difference, if it was packed with another recipe, or if it does not hold the encoding.
  // Panels become tiles only if they were packed without a recipe: else numbers would be quantized twice. InvalidArgument, too, for a
  // recipe with tiles and another encoding.
  absl::StatusOr<WeightLayout> PlanWeights(const ModelConfig& config, WeightEncoding encoding,
                                           const std::optional<WeightRecipe>& recipe = std::nullopt) const;
  // Whether the units of this layout lie in the file as they are, and so can be streamed. REQUIRES: PlanWeights gave the layout.
  bool HoldsUnitsOf(const WeightLayout& layout) const {
    return packed_ != nullptr && HasFormOf(layout) && layout.units() == packed_->units();
  }
  // InvalidArgument (found, expected, how to pack it) for a packed file of which HoldsUnitsOf is false, such as one of whose layers the
  // layout has only the first.
  absl::Status CheckStreams(const WeightLayout& layout) const;

  // All units of the layout. From GGUF, for tiles from panels, and where the layout has only the first of a packed file's layers, all
  // threads of the pool make or read them before this returns; another packed file is read while its units are used (see LoadingSource).
  // The result must end before the file. REQUIRES: PlanWeights gave the layout; LoadWeights was not called before; no importance for a
  // packed file, whose scales were chosen as it was packed.
  absl::StatusOr<std::unique_ptr<WeightSource>> LoadWeights(const WeightLayout& layout, ThreadPool& pool,
                                                            const std::atomic<bool>* cancel = nullptr, const FillOptions& options = {});

 private:
  ModelFile() = default;
  // The packed file has the layout's matrices in the forms that the layout gives them. Without tiles kTiles has panels.
  bool HasFormOf(const WeightLayout& layout) const { return layout.encoding() == encoding() || layout.recipe() == recipe_; }
  // All units of the packed file, as it should have them: in the forms of `layout` or, if it has others, in panels.
  absl::StatusOr<WeightLayout> LayoutOfFile(const WeightLayout& layout) const;
  absl::StatusOr<WeightRecipe> ChooseRecipe(WeightEncoding encoding, const std::optional<WeightRecipe>& recipe) const;

  std::unique_ptr<TsrReader> packed_;
  std::unique_ptr<GgufFile> gguf_;
  WeightRecipe recipe_;
  std::unique_ptr<LoadingSource> loading_;  // Until LoadWeights hands it out. Reads packed_.
};

}  // namespace tessera

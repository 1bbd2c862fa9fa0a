#include "tessera/model/files/model_file.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <glog/logging.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tessera/base/available_cpus.h"
#include "tessera/base/quoted.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/files/internal/packed_header.h"
#include "tessera/model/files/internal/packed_units.h"
#include "tessera/model/files/internal/retile.h"
#include "tessera/quant/tile_matrix.h"

namespace tessera {
namespace {

constexpr int kMostReaders = 4;  // More readers would hardly clear and copy memory faster.

// Reading is work of the system, which clears pages and copies. Reading therefore gets threads even if few threads compute. But the CPU
// that parses the header meanwhile gets a reading thread only if the thread is worth it (late_threads).
absl::StatusOr<std::unique_ptr<LoadingSource>> StartLoading(const TsrReader& reader, const std::atomic<bool>* cancel) {
  const int cpus = AvailableCpus(), threads = std::min(cpus, kMostReaders);
  return LoadingSource::Start(reader, {.threads = threads, .late_threads = threads == cpus && cpus > 1 ? 1 : 0, .cancel = cancel});
}

// `loading` may be null.
absl::StatusOr<SharedBytes> ReadBytes(const TsrReader& reader, LoadingSource* loading, absl::string_view name) {
  if (loading != nullptr) return loading->ReadAttachment(name);
  ASSIGN_OR_RETURN(std::vector<std::byte> bytes, reader.ReadAttachment(name));
  return SharedBytes(std::move(bytes));
}

absl::Status CheckLayout(const TsrReader& reader) {
  if (reader.layout() == PackedMatrix::kLayout || reader.layout() == TileMatrix::kLayout) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(reader.path(), ": layout: found ", Quoted(reader.layout()), ", expected ",
                                                 Quoted(PackedMatrix::kLayout), " or ", Quoted(TileMatrix::kLayout),
                                                 "; pack the model again"));
}

// recipe: the recipe's name. Empty: without a recipe.
std::string PackAgain(const std::string& recipe) {
  return absl::StrCat("pack the GGUF model again: tessera_pack ", recipe.empty() ? "" : absl::StrCat("-recipe=", recipe, " "),
                      "MODEL.gguf MODEL.tsr");
}

}  // namespace

absl::StatusOr<std::unique_ptr<ModelFile>> ModelFile::Open(const std::string& path, Weights weights,
                                                           const std::atomic<bool>* cancel) {
  std::unique_ptr<ModelFile> file(new ModelFile);
  ASSIGN_OR_RETURN(std::unique_ptr<RandomAccessFile> opened, RandomAccessFile::Open(path));
  ASSIGN_OR_RETURN(const bool packed, IsTsrFile(*opened));
  if (packed) {
    ASSIGN_OR_RETURN(file->packed_, TsrReader::Open(std::move(opened)));
    if (weights == Weights::kAtOnce) {
      // If there is no memory for the weights, the header may still show the file's faults; LoadWeights tries again later.
      if (auto loading = StartLoading(*file->packed_, cancel); loading.ok()) file->loading_ = *std::move(loading);
    }
    RETURN_IF_ERROR(CheckLayout(*file->packed_));
    const std::vector<TsrReader::Attachment> attachments = file->packed_->attachments();
    const auto read = [&](absl::string_view name) { return ReadBytes(*file->packed_, file->loading_.get(), name); };
    ASSIGN_OR_RETURN(file->gguf_, OpenHeader(attachments, read, file->packed_->path()));
    ASSIGN_OR_RETURN(file->recipe_, OpenRecipe(file->packed_->layout(), attachments, read, file->packed_->path()));
  } else {
    absl::StatusOr<std::unique_ptr<GgufFile>> gguf = GgufFile::Open(std::move(opened));
    if (!gguf.ok() && absl::EndsWith(path, ".tsr")) {  // Perhaps too short to be recognized.
      return absl::Status(gguf.status().code(), absl::StrCat(gguf.status().message(), "; nor does it begin as a .tsr file does"));
    }
    ASSIGN_OR_RETURN(file->gguf_, std::move(gguf));
  }
  return file;
}

absl::StatusOr<WeightRecipe> ModelFile::ChooseRecipe(WeightEncoding encoding, const std::optional<WeightRecipe>& recipe) const {
  const auto wrong = [&](const auto&... parts) { return absl::InvalidArgumentError(absl::StrCat(path(), ": found ", parts...)); };
  const bool tiles = encoding == WeightEncoding::kTiles;
  if (recipe.has_value() && recipe->has_tiles() && !tiles) {
    return wrong("the recipe ", recipe->name(), " for a path without tiles, expected the npu path");
  }
  if (packed_ == nullptr) return recipe.value_or(tiles ? WeightRecipe::Default() : WeightRecipe());
  if (recipe_.has_tiles() && !tiles) {
    return wrong("weights in tiles (recipe ", recipe_.name(), "), which only the npu path computes, expected panels; ",
                 PackAgain(""));
  }
  if (encoding == WeightEncoding::kFloat32) return wrong("packed weights, expected a GGUF file for the reference path");
  if (tiles && !recipe_.has_tiles()) {  // To be re-tiled.
    const WeightRecipe wanted = recipe.value_or(WeightRecipe::Default());
    if (recipe_.keeps_all() || wanted == recipe_) return wanted;
    return wrong("weights in panels of the recipe ", recipe_.name(), ", expected those of the GGUF model, to be put in tiles; ",
                 PackAgain(wanted.name()));
  }
  if (!recipe.has_value() || *recipe == recipe_) return recipe_;
  return wrong("weights of the recipe ", recipe_.name(), ", expected ", recipe->name(), "; ",
               PackAgain(recipe->keeps_all() ? "" : recipe->name()));
}

absl::StatusOr<WeightLayout> ModelFile::PlanWeights(const ModelConfig& config, WeightEncoding encoding,
                                                    const std::optional<WeightRecipe>& recipe) const {
  ASSIGN_OR_RETURN(const WeightRecipe chosen, ChooseRecipe(encoding, recipe));
  ASSIGN_OR_RETURN(WeightLayout layout, WeightLayout::Plan(*gguf_, config, encoding, chosen));
  if (packed_ == nullptr) return layout;
  if (HasFormOf(layout) && config.left_out == 0) {
    RETURN_IF_ERROR(CheckPackedUnits(*packed_, layout));
    return layout;
  }
  ASSIGN_OR_RETURN(const WeightLayout of_file, LayoutOfFile(layout));
  RETURN_IF_ERROR(CheckPackedUnits(*packed_, of_file));
  return layout;
}

absl::StatusOr<WeightLayout> ModelFile::LayoutOfFile(const WeightLayout& layout) const {
  ASSIGN_OR_RETURN(const ModelConfig config, ReadModelConfig(*gguf_));
  if (!HasFormOf(layout)) return WeightLayout::Plan(*gguf_, config, WeightEncoding::kPacked);
  return WeightLayout::Plan(*gguf_, config, layout.encoding(), layout.recipe());
}

absl::Status ModelFile::CheckStreams(const WeightLayout& layout) const {
  if (packed_ == nullptr || HoldsUnitsOf(layout)) return absl::OkStatus();
  if (HasFormOf(layout)) {
    return absl::InvalidArgumentError(absl::StrCat(path(), ": found the first layers alone under a memory budget, expected all of them, or "
                                                   "no budget: a part of a model stays in memory"));
  }
  return absl::InvalidArgumentError(absl::StrCat(path(), ": found weights in panels under a memory budget, expected them in tiles (recipe ",
                                                 layout.recipe().name(), "), as the npu path streams them; ",
                                                 PackAgain(layout.recipe().name())));
}

absl::StatusOr<std::unique_ptr<WeightSource>> ModelFile::LoadWeights(const WeightLayout& layout, ThreadPool& pool,
                                                                     const std::atomic<bool>* cancel, const FillOptions& options) {
  if (packed_ == nullptr) return LoadResident(*gguf_, layout, pool, options);
  CHECK(options.importance == nullptr) << path();
  if (!HoldsUnitsOf(layout)) {
    loading_.reset();  // Or loading_'s copy of the units would stay in memory next to the new units.
    ASSIGN_OR_RETURN(const WeightLayout of_file, LayoutOfFile(layout));
    if (HasFormOf(layout)) return LoadSomeUnits(*packed_, of_file, layout, pool, cancel);
    return LoadRetiled(*packed_, of_file, layout, pool, cancel);
  }
  if (loading_ != nullptr) return std::move(loading_);
  return StartLoading(*packed_, cancel);
}

}  // namespace tessera

#include "tessera/model/forecasts.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tessera/base/quoted.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/files/marked_model.h"
#include "tessera/model/internal/file_matrix.h"

namespace tessera {
namespace {

constexpr char kKeys[] = "prefix.keys", kValues[] = "prefix.values", kEmbeddings[] = "forecasts";
constexpr char kMark[] = "tessera.model.vectors";

// Returns a length of a tensor's shape that may be any number. dimensions: of the tensor.
absl::StatusOr<int> LengthOf(const SafetensorsFile& file, absl::string_view name, size_t dimensions, size_t which, int most) {
  const SafetensorsTensor* const tensor = file.FindTensor(name);
  if (tensor == nullptr) return file.WrongTensor(name, "", absl::StrCat("found nothing, expected ", dimensions, " dimensions"));
  if (tensor->shape.size() != dimensions) {
    return file.WrongTensor(name, "shape", absl::StrCat("found ", tensor->shape.size(), " dimensions, expected ", dimensions));
  }
  const int64_t found = tensor->shape[which];
  if (found >= 1 && found <= most) return static_cast<int>(found);
  return file.WrongTensor(name, "shape", absl::StrCat("dimension ", which, ": found ", found, ", expected 1 to ", most));
}

absl::Status CheckText(const SafetensorsFile& file, absl::string_view key, const std::string& expected, absl::string_view what) {
  const std::string* const found = file.FindMetadata(key);
  if (found == nullptr || *found == expected) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(file.path(), ": __metadata__ ", key, ": found ", Quoted(*found), ", expected ", Quoted(expected), what));
}

absl::Status CheckMark(const SafetensorsFile& file, const ModelFile& model) {
  if (file.FindMetadata(kMark) == nullptr) return absl::OkStatus();
  const MarkedModel marked(model);
  ASSIGN_OR_RETURN(const uint32_t mark, marked.Vectors());
  return CheckText(file, kMark, absl::StrCat(mark), absl::StrCat(", the mark of ", model.path()));
}

absl::Status CheckAttendsToAll(const SafetensorsFile& file, const ModelConfig& config) {
  for (size_t layer = 0; layer < config.layers.size(); ++layer) {
    const int window = config.layers[layer].window;
    if (window == 0) continue;
    return absl::InvalidArgumentError(absl::StrCat(file.path(), ": layer ", layer, " of the model: found a window of ", window,
                                                   " positions, expected one that attends to all, and so to prefix slots, too"));
  }
  return absl::OkStatus();
}

absl::Status CheckAlone(const SafetensorsFile& file) {
  constexpr absl::string_view kKnown[] = {kKeys, kValues, kEmbeddings};
  for (const SafetensorsTensor& tensor : file.tensors()) {
    if (std::find(std::begin(kKnown), std::end(kKnown), tensor.name) != std::end(kKnown)) continue;
    return file.WrongTensor(tensor.name, "", absl::StrCat("found it, expected ", kKeys, ", ", kValues, " and ", kEmbeddings, " alone"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<float>> ReadShaped(const SafetensorsFile& file, absl::string_view name, absl::Span<const int64_t> shape) {
  ASSIGN_OR_RETURN(const SafetensorsTensor* const tensor, FindShaped(file, name, shape));
  return file.ReadFloats(*tensor);
}

}  // namespace

Forecasts::Forecasts(const ForecastSizes& sizes, const ModelConfig& config)
    : sizes_(sizes), layers_(static_cast<int>(config.layers.size())), columns_(config.kv_heads * config.head_size), width_(config.width) {}

absl::StatusOr<ForecastSizes> Forecasts::SizesIn(const std::string& path) {
  ASSIGN_OR_RETURN(const std::unique_ptr<SafetensorsFile> file, SafetensorsFile::Open(path));
  return SizesIn(*file);
}

absl::StatusOr<ForecastSizes> Forecasts::SizesIn(const SafetensorsFile& file) {
  ForecastSizes sizes;
  ASSIGN_OR_RETURN(sizes.slots, LengthOf(file, kKeys, /*dimensions=*/4, /*which=*/1, kMostSlots));
  ASSIGN_OR_RETURN(sizes.forecasts, LengthOf(file, kEmbeddings, /*dimensions=*/2, /*which=*/0, kMostForecasts));
  RETURN_IF_ERROR(CheckText(file, "slots", absl::StrCat(sizes.slots), ", as the prefix has"));
  RETURN_IF_ERROR(CheckText(file, "forecasts", absl::StrCat(sizes.forecasts), ", as there are"));
  return sizes;
}

absl::StatusOr<std::shared_ptr<const Forecasts>> Forecasts::Open(const std::string& path, const ModelFile& model,
                                                                 const ModelConfig& config) {
  ASSIGN_OR_RETURN(const std::unique_ptr<SafetensorsFile> file, SafetensorsFile::Open(path));
  RETURN_IF_ERROR(CheckMark(*file, model));
  ASSIGN_OR_RETURN(std::shared_ptr<const Forecasts> forecasts, Read(*file, config));
  RETURN_IF_ERROR(file->CheckUnchanged());
  return forecasts;
}

absl::StatusOr<std::shared_ptr<const Forecasts>> Forecasts::Read(const SafetensorsFile& file, const ModelConfig& config) {
  RETURN_IF_ERROR(CheckAttendsToAll(file, config));
  RETURN_IF_ERROR(CheckAlone(file));
  ASSIGN_OR_RETURN(const ForecastSizes sizes, SizesIn(file));
  auto forecasts = std::shared_ptr<Forecasts>(new Forecasts(sizes, config));
  const int64_t prefix[] = {forecasts->layers_, sizes.slots, config.kv_heads, config.head_size};
  ASSIGN_OR_RETURN(forecasts->keys_, ReadShaped(file, kKeys, prefix));
  ASSIGN_OR_RETURN(forecasts->values_, ReadShaped(file, kValues, prefix));
  ASSIGN_OR_RETURN(forecasts->embeddings_, ReadShaped(file, kEmbeddings, {sizes.forecasts, config.width}));
  return std::shared_ptr<const Forecasts>(std::move(forecasts));
}

}  // namespace tessera

#include "tessera/model/exit_map.h"

#include <utility>

#include "tessera/base/status_macros.h"
#include "tessera/model/internal/exit_file.h"

namespace tessera {

absl::StatusOr<std::unique_ptr<ExitMap>> ExitMap::Open(const std::string& path, const ModelConfig& config) {
  ASSIGN_OR_RETURN(const std::unique_ptr<SafetensorsFile> file, SafetensorsFile::Open(path));
  ASSIGN_OR_RETURN(std::unique_ptr<ExitMap> map, Read(*file, config));
  RETURN_IF_ERROR(file->CheckUnchanged());
  return map;
}

absl::StatusOr<std::unique_ptr<ExitMap>> ExitMap::Read(const SafetensorsFile& file, const ModelConfig& config) {
  const int layers = static_cast<int>(config.layers.size());
  if (file.FindMetadata("kind") != nullptr) RETURN_IF_ERROR(ExitText(file, "kind", {kExitWidth}).status());
  if (file.FindMetadata("layer") != nullptr) RETURN_IF_ERROR(ExitNumber(file, "layer", layers, layers).status());
  ASSIGN_OR_RETURN(FileMatrix matrix, ReadExitMap(file, config.width));
  return std::unique_ptr<ExitMap>(new ExitMap(std::move(matrix.buffer), *matrix.matrix));
}

absl::Status ExitMap::Apply(TensorView<const float> states, TensorView<float> mapped, ThreadPool& pool) const {
  return MatMul(matrix_, states, mapped, pool, scratch_);
}

}  // namespace tessera

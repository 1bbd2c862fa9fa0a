#include "tessera/model/exit_map.h"

#include <cstddef>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tessera/base/quoted.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/internal/file_matrix.h"

namespace tessera {
namespace {

constexpr char kMap[] = "predictor.map";

// A text of the file that says something else than what is wanted.
absl::Status CheckText(const SafetensorsFile& file, absl::string_view key, const std::string& expected) {
  const std::string* const found = file.FindMetadata(key);
  if (found == nullptr || *found == expected) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(file.path(), ": __metadata__ ", key, ": found ", Quoted(*found), ", expected ",
                                                 Quoted(expected)));
}

}  // namespace

absl::StatusOr<std::unique_ptr<ExitMap>> ExitMap::Open(const std::string& path, const ModelConfig& config) {
  ASSIGN_OR_RETURN(const std::unique_ptr<SafetensorsFile> file, SafetensorsFile::Open(path));
  ASSIGN_OR_RETURN(std::unique_ptr<ExitMap> map, Read(*file, config));
  RETURN_IF_ERROR(file->CheckUnchanged());
  return map;
}

absl::StatusOr<std::unique_ptr<ExitMap>> ExitMap::Read(const SafetensorsFile& file, const ModelConfig& config) {
  RETURN_IF_ERROR(CheckText(file, "kind", "width"));
  RETURN_IF_ERROR(CheckText(file, "layer", absl::StrCat(config.layers.size())));
  for (const SafetensorsTensor& tensor : file.tensors()) {
    if (tensor.name != kMap) return file.WrongTensor(tensor.name, "", absl::StrCat("found it, expected ", kMap, " alone"));
  }
  ASSIGN_OR_RETURN(FileMatrix matrix, ReadFileMatrix(file, kMap, config.width, config.width));
  return std::unique_ptr<ExitMap>(new ExitMap(std::move(matrix.buffer), *matrix.matrix));
}

absl::Status ExitMap::Apply(TensorView<const float> states, TensorView<float> mapped, ThreadPool& pool) const {
  return MatMul(matrix_, states, mapped, pool, scratch_);
}

}  // namespace tessera

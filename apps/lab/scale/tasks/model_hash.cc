#include "tessera/apps/lab/scale/tasks/model_hash.h"

#include <memory>

#include "absl/strings/str_cat.h"
#include "tessera/base/sha256.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"
#include "tessera/model/files/model_file.h"

namespace tessera {

// A packed model is one file, even if made from several.
absl::StatusOr<ModelHash> HashOfModel(absl::string_view flag, const std::string& path) {
  const absl::StatusOr<std::unique_ptr<ModelFile>> file = ModelFile::Open(path);
  RETURN_IF_ERROR(ForFile(flag, file.status()));
  const int parts = (*file)->packed() == nullptr ? (*file)->gguf().parts() : 1;
  if (parts != 1) {
    return WrongUsage(flag, absl::StrCat(path, ", one of ", parts, " parts"), "a model in one file, whose hash says which it is");
  }
  ModelHash hash = {.name = path.substr(path.rfind('/') + 1)};
  ASSIGN_OR_RETURN(const Sha256Sum sum, Sha256OfFile(path));
  hash.sha256 = sum.Hex();
  return hash;
}

}  // namespace tessera

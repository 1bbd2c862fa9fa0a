#include "tessera/apps/lab/scale/grid/run_settings.h"

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tessera/apps/cli/flags/scorer_flags.h"
#include "tessera/apps/lab/scale/grid/grid_methods.h"
#include "tessera/base/crc32c.h"
#include "tessera/base/file.h"
#include "tessera/base/sha256.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"
#include "tessera/model/files/model_file.h"

namespace tessera {
namespace {

std::string WithoutFolders(const std::string& path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

absl::StatusOr<ModelHash> HashOfParts(absl::string_view flag, const std::string& path) {
  const absl::StatusOr<std::unique_ptr<ModelFile>> file = ModelFile::Open(path);
  RETURN_IF_ERROR(ForFile(flag, file.status()));
  if ((*file)->packed() != nullptr || (*file)->gguf().parts() == 1) return HashOfModel(flag, path);
  std::string hashes;
  for (int part = 0; part < (*file)->gguf().parts(); ++part) {
    ASSIGN_OR_RETURN(const Sha256Sum hash, Sha256OfFile((*file)->gguf().PathOfPart(part)));
    hashes += hash.Hex();
  }
  return ModelHash{.name = WithoutFolders(path), .sha256 = Sha256Of(hashes).Hex()};
}

std::string ModelSettings(const ModelHash& model) { return absl::StrCat(model.name, ", sha256 ", model.sha256); }

absl::StatusOr<std::string> ScorerSettings(absl::string_view spec) {
  constexpr int64_t kLargest = int64_t{1} << 30;
  ASSIGN_OR_RETURN(const ScorerSpec parsed, ParseScorer(spec));
  const std::string figure = FigureOfScorer(spec);
  if (parsed.file.empty()) return figure;
  const absl::StatusOr<std::string> content = ReadFileToString(parsed.file, kLargest);
  RETURN_IF_ERROR(ForFile("scorer", content.status()));
  const uint32_t crc = Crc32c({reinterpret_cast<const std::byte*>(content->data()), content->size()});
  return absl::StrFormat("%s %s, crc32c %08x", figure, WithoutFolders(parsed.file), crc);
}

std::string ScoreSettings(const ScoreRunSettings& settings) {
  return absl::StrCat("score, ", settings.task, ", problems sha256 ", settings.problems_sha256, ", ", settings.file, ", ", settings.model,
                      ", ", settings.form, ", ", settings.scorer, settings.steps.empty() ? "" : absl::StrCat(", steps ", settings.steps));
}

}  // namespace tessera

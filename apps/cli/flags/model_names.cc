#include "tessera/apps/cli/flags/model_names.h"

#include <sys/stat.h>

#include <cerrno>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tessera/base/cache_folder.h"
#include "tessera/base/quoted.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"

namespace tessera {
namespace {

constexpr char kScript[] = "scripts/fetch_model.sh";

enum class Found { kNothing, kFolder, kFile };

// Looks at a path. A path that cannot be looked at counts as a file: opening the file reports the reason.
Found FoundAt(const std::string& path) {
  struct stat status;
  if (stat(path.c_str(), &status) != 0) return errno == ENOENT || errno == ENOTDIR ? Found::kNothing : Found::kFile;
  return S_ISDIR(status.st_mode) ? Found::kFolder : Found::kFile;
}

bool IsPath(absl::string_view text) {
  return absl::StrContains(text, '/') || absl::EndsWith(text, ".gguf") || absl::EndsWith(text, ".tsr") ||
         absl::EndsWith(text, ".safetensors");
}

std::string PathIn(const std::string& cache, const NamedModel& model) { return absl::StrCat(cache, "/", model.file); }

absl::Status UnknownModel(absl::string_view flag, const std::string& text, const std::string& cache) {
  std::vector<std::string> there, others;
  for (const NamedModel& model : NamedModels()) (FoundAt(PathIn(cache, model)) == Found::kFile ? there : others).push_back(model.name);
  const std::string fetched = there.empty() ? "none is fetched" : absl::StrJoin(there, ", ");
  const std::string fetches = others.empty() ? "" : absl::StrCat("; ", kScript, " NAME fetches others: ", absl::StrJoin(others, ", "));
  return WrongUsage(flag, absl::StrCat(Quoted(text), ", no file and no fetched model"),
                    absl::StrCat("a file, or the name of a model in ", cache, " (", fetched, ")", fetches));
}

}  // namespace

const std::vector<NamedModel>& NamedModels() {
  static const std::vector<NamedModel> models = {
      {"smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf"},
      {"gemma3", "gemma-3-270m-q4_k_m.gguf"},
      {"qwen2.5-coder-0.5b", "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf"},
      {"qwen2.5-coder-1.5b", "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf"},
  };
  return models;
}

absl::StatusOr<std::string> PathOfModel(absl::string_view flag, const std::string& text) {
  const Found found = text.empty() ? Found::kNothing : FoundAt(text);
  if (found == Found::kFile || IsPath(text)) return text;
  const absl::StatusOr<std::string> cache = CacheFolder();
  RETURN_IF_ERROR(ForField(flag, cache.status()));
  for (const NamedModel& model : NamedModels()) {
    if (!text.empty() && text != model.name) continue;
    const std::string path = PathIn(*cache, model);
    if (FoundAt(path) == Found::kFile) return path;
    if (text.empty()) {
      return WrongUsage(flag, absl::StrCat("none, and no default model at ", path),
                        absl::StrCat("--", flag, "=FILE, or a run of ", kScript));
    }
  }
  if (found == Found::kFolder) return text;   // Opening the path reports the folder.
  return UnknownModel(flag, text, *cache);
}

}  // namespace tessera

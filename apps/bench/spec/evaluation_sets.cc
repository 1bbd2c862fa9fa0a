#include "tessera/apps/bench/spec/evaluation_sets.h"

#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "tessera/base/file.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"

namespace tessera {
namespace {

constexpr int64_t kLargestFile = int64_t{256} << 20;

struct BuiltIn { const char* name; const char* text; };   // The file's name without its ending.
constexpr BuiltIn kBuiltIn[] = {
#include "tessera/apps/bench/spec/evaluation_sets.inc"
};

}  // namespace

absl::StatusOr<EvaluationFile> ReadEvaluationFile(const std::string& folder, absl::string_view name) {
  if (folder.empty()) {
    for (const BuiltIn& one : kBuiltIn) {
      if (absl::StripSuffix(name, ".jsonl") == one.name) return EvaluationFile{absl::StrCat("the built-in ", name), one.text};
    }
    return WrongUsage("data", "none", absl::StrCat("a folder with ", name));
  }
  const std::string path = absl::StrCat(folder, "/", name);
  ASSIGN_OR_RETURN(std::string text, ReadFileToString(path, kLargestFile));
  return EvaluationFile{path, std::move(text)};
}

}  // namespace tessera

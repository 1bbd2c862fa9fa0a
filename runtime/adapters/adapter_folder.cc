#include "tessera/runtime/adapters/adapter_folder.h"

#include <sys/stat.h>

#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "tessera/base/nearest_name.h"
#include "tessera/base/quoted.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"
#include "tessera/model/adapter_set.h"
#include "tessera/model/load_adapter.h"

namespace tessera {
namespace {

constexpr size_t kMostNameBytes = 255;
constexpr size_t kMostNearBytes = 64, kMostLookedAt = 1000;   // A name for which a message looks for the nearest, and among how many.

bool IsName(const std::string& name) {
  return !name.empty() && name.size() <= kMostNameBytes && name.front() != '.' && name.find('/') == std::string::npos &&
         IsPrintableUtf8(name);
}

// Which file it is, and when it was written; empty: there is none.
std::string VersionOfFile(const std::string& path) {
  struct stat found;
  if (::stat(path.c_str(), &found) != 0) return "";
  return absl::StrCat(found.st_dev, " ", found.st_ino, " ", found.st_size, " ", found.st_mtim.tv_sec, ".", found.st_mtim.tv_nsec, " ",
                      found.st_ctim.tv_sec, ".", found.st_ctim.tv_nsec);
}

// A file's, or of a folder those of the files that an adapter has.
std::string VersionOf(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) return VersionOfFile(path);
  std::string version = "folder";
  for (const char* const file : {"adapter_config.json", "adapter_model.safetensors", "adapters.safetensors"}) {
    absl::StrAppend(&version, ", ", VersionOfFile(absl::StrCat(path, "/", file)));
  }
  return version;
}

std::vector<std::string> NamesIn(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator it(folder, error), end; !error && it != end && names.size() < kMostLookedAt;
       it.increment(error)) {
    std::string name = it->path().filename().string();
    if (IsName(name)) names.push_back(std::move(name));
  }
  return names;
}

}  // namespace

absl::StatusOr<std::unique_ptr<AdapterFolder>> AdapterFolder::Open(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) {
    return WrongUsage("adapter_folder", Quoted(path), absl::StrCat("a folder", error ? absl::StrCat(": ", error.message()) : ""));
  }
  return std::unique_ptr<AdapterFolder>(new AdapterFolder(std::string(absl::StripSuffix(path, "/"))));
}

std::string AdapterFolder::WhyNot(const std::string& name) const {
  const std::string expected = absl::StrCat("the name of a file or folder in ", Quoted(path_));
  if (!IsName(name)) return absl::StrCat(expected, ": printable text without a slash, and no dot at its beginning");
  struct stat found;
  if (::stat(PathOf(name).c_str(), &found) == 0 && (S_ISREG(found.st_mode) || S_ISDIR(found.st_mode))) return "";
  const bool looks = name.size() <= kMostNearBytes && name.find('@') == std::string::npos;   // What stands before an "@" is asked for, too.
  const std::string near = looks ? NearestName(name, NamesIn(path_)) : "";
  return near.empty() || near == name ? expected : absl::StrCat(expected, ", such as ", Quoted(near));
}

absl::StatusOr<int> AdapterFolder::NumberOf(const std::string& name) {
  if (!WhyNot(name).empty()) return absl::NotFoundError(absl::StrCat("adapter: found ", Quoted(name), ", expected ", WhyNot(name)));
  const std::string path = PathOf(name), version = VersionOf(path);
  const auto known = known_.find(name);
  if (known != known_.end() && known->second.version == version) return known->second.number;
  ASSIGN_OR_RETURN(const std::unique_ptr<AdapterReader> reader, base_->OpenFile(path));
  const LoraPlan plan = PlanLoraAdapter(reader->shapes(), base_->config());
  const auto read = [path, version, base = base_]() -> absl::StatusOr<LoraAdapter> {
    ASSIGN_OR_RETURN(LoraAdapter adapter, base->Read(path, /*scale=*/1));
    if (VersionOf(path) == version) return adapter;
    return absl::FailedPreconditionError(absl::StrCat(path, ": found a file that was written while it was read, expected one at rest"));
  };
  const int number =
      cache_->Add({.name = name, .bytes = plan.BytesPaddedTo(plan.ranks, LoraShapesOf(base_->config())), .read = read});
  known_[name] = {.version = version, .number = number};
  return number;
}

}  // namespace tessera

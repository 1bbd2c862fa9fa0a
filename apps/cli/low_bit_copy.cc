#include "tessera/apps/cli/low_bit_copy.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <iterator>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "glog/logging.h"
#include "tessera/apps/cli/output.h"
#include "tessera/apps/cli/warnings.h"
#include "tessera/base/cache_folder.h"
#include "tessera/base/progress.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"
#include "tessera/model/files/config.h"
#include "tessera/model/files/pack.h"

namespace tessera {
namespace {

constexpr char kFlag[] = "draft_model";
constexpr double kMostHeadBits = 5;   // Per weight: a head in more is much of what a small draft reads.

struct Kind {
  const char *name, *format;
};
constexpr Kind kKinds[] = {{"q2", "T2"}, {"q3", "T3"}, {"q4", "Q4_0"}};

const Kind& KindOf(absl::string_view name) {
  const auto* const found = std::find_if(std::begin(kKinds), std::end(kKinds), [&](const Kind& kind) { return kind.name == name; });
  CHECK(found != std::end(kKinds)) << name;
  return *found;
}

bool IsLarge(const GgufFile& file, absl::string_view tensor) {
  const GgufTensor* const found = file.FindTensor(tensor);
  if (found == nullptr) return false;
  return 8.0 * found->format->bytes_per_block / found->format->values_per_block > kMostHeadBits;
}

absl::StatusOr<WeightRecipe> RecipeFor(const GgufFile& file, const ModelConfig& config, const Kind& kind) {
  std::string rules = kind.format;
  if (IsLarge(file, config.tied_head ? "token_embd.weight" : "output.weight")) absl::StrAppend(&rules, ",head=Q4_0");
  if (!config.tied_head && IsLarge(file, "token_embd.weight")) absl::StrAppend(&rules, ",embedding=Q4_0");
  return WeightRecipe::Parse(rules);
}

// "model.q3-91727584-1869fa1c": size and latest time of writing, of all parts.
absl::StatusOr<std::string> NameFor(const GgufFile& file, const Kind& kind) {
  int64_t newest = 0;
  for (int part = 0; part < file.parts(); ++part) {
    struct stat found;
    const std::string& path = file.PathOfPart(part);
    if (stat(path.c_str(), &found) != 0) return absl::ErrnoToStatus(errno, absl::StrCat(path, ": cannot examine"));
    newest = std::max<int64_t>(newest, int64_t{found.st_mtim.tv_sec} * 1'000'000'000 + found.st_mtim.tv_nsec);
  }
  const std::string name = file.path().substr(file.path().rfind('/') + 1);
  return absl::StrCat(absl::StripSuffix(name, ".gguf"), ".", kind.name, "-", file.size(), "-", absl::Hex(newest));
}

// A line for each stage, in MiB.
class CopyProgress {
 public:
  void Update(PackStage stage, int64_t done, int64_t total) {
    if (shown_ == nullptr || stage != stage_) {
      shown_.reset();
      shown_ = std::make_unique<Progress>(stage == PackStage::kPacking ? "quantizing" : "verifying", total >> 20);
      stage_ = stage;
    }
    shown_->Update(done >> 20);
  }

 private:
  PackStage stage_ = PackStage::kPacking;
  std::unique_ptr<Progress> shown_;
};

}  // namespace

const std::vector<std::string>& LowBitCopy::Names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const Kind& kind : kKinds) all.emplace_back(kind.name);
    return all;
  }();
  return names;
}

absl::StatusOr<LowBitCopy> LowBitCopy::Of(const std::string& model, absl::string_view name) {
  const Kind& kind = KindOf(name);
  LowBitCopy copy;
  ASSIGN_OR_RETURN(copy.file_, ModelFile::Open(model));
  if (copy.file_->packed() != nullptr) {
    return WrongUsage(kFlag, absl::StrCat("self:", name, " of ", model, ", which is packed"),
                      absl::StrCat("the GGUF file that it was packed from: self:", name, ":FILE"));
  }
  const GgufFile& file = copy.file_->gguf();
  ASSIGN_OR_RETURN(const ModelConfig config, ReadModelConfig(file));
  ASSIGN_OR_RETURN(copy.recipe_, RecipeFor(file, config, kind));
  const absl::StatusOr<std::string> cache = CacheFolder();
  RETURN_IF_ERROR(ForField(kFlag, cache.status()));
  ASSIGN_OR_RETURN(const std::string named, NameFor(file, kind));
  copy.path_ = absl::StrCat(*cache, "/drafts/", named, ".tsr");
  return copy;
}

absl::Status LowBitCopy::Check() const {
  const absl::StatusOr<std::unique_ptr<ModelFile>> found = ModelFile::Open(path_);
  RETURN_IF_ERROR(found.status());
  if ((*found)->packed() != nullptr && (*found)->recipe() == recipe_) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(path_, ": found another file than a copy in ", recipe_.text(), ", expected that"));
}

absl::Status LowBitCopy::Make(ThreadPool& pool) const {
  ASSIGN_OR_RETURN(const PackPlan plan, PackPlan::Make(file_->gguf(), recipe_));
  std::error_code error;   // Without a folder, writing says so.
  std::filesystem::create_directories(std::filesystem::path(path_).parent_path(), error);
  WriteError(absl::StrCat("Making a copy of ", model(), " to draft with (", recipe_.text(), "), once: ", path_, "\n"));
  CopyProgress progress;
  return PackModel(file_->gguf(), plan, path_, pool,
                   [&progress](PackStage stage, int64_t done, int64_t total) { progress.Update(stage, done, total); })
      .status();
}

absl::Status LowBitCopy::Prepare(ThreadPool& pool) const {
  const absl::Status found = Check();
  if (found.ok()) return found;
  if (!absl::IsNotFound(found)) WarnOnce(absl::StrCat("this copy is made again: ", found.message()));
  return Make(pool);
}

absl::StatusOr<int64_t> LowBitCopy::WeightBytes() const {
  ASSIGN_OR_RETURN(const ModelConfig config, ReadModelConfig(file_->gguf()));
  ASSIGN_OR_RETURN(const WeightLayout layout, WeightLayout::Plan(file_->gguf(), config, WeightEncoding::kPacked, recipe_));
  return layout.TotalBytes();
}

}  // namespace tessera

#include "tessera/runtime/draft/low_bit_copy.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "glog/logging.h"
#include "tessera/base/known_sum.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"
#include "tessera/model/files/config.h"

namespace tessera {
namespace {

constexpr char kField[] = "draft_model", kFolder[] = "cache_folder";
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

// "model.q3-"
std::string NameBefore(const GgufFile& file, const Kind& kind) {
  const std::string name = file.path().substr(file.path().rfind('/') + 1);
  return absl::StrCat(absl::StripSuffix(name, ".gguf"), ".", kind.name, "-");
}

// Returns the SHA-256 of the file. A file of several parts has the SHA-256 of its parts' sums.
absl::StatusOr<Sha256Sum> SumOf(const GgufFile& file, const std::string& cache) {
  Sha256 hash;
  for (int part = 0; part < file.parts(); ++part) {
    ASSIGN_OR_RETURN(const Sha256Sum sum, KnownSha256OfFile(file.PathOfPart(part), cache + "/sums"));
    if (file.parts() == 1) return sum;
    hash.Add(sum);
  }
  return hash.Take();
}

// Copies of a model of this name that earlier versions made: "model.q3-91727584-1869fa1c.tsr", by size and time of writing.
std::vector<std::string> OlderCopies(const std::string& copy, absl::string_view before) {
  const auto is_older = [&](absl::string_view name) {
    if (!absl::ConsumePrefix(&name, before) || !absl::ConsumeSuffix(&name, ".tsr")) return false;
    const size_t size = name.find_first_not_of("0123456789");
    return size != absl::string_view::npos && size > 0 && name[size] == '-' &&
           name.find_first_not_of("0123456789abcdef", size + 1) == absl::string_view::npos;
  };
  std::vector<std::string> older;
  std::error_code none;
  for (const auto& file : std::filesystem::directory_iterator(std::filesystem::path(copy).parent_path(), none)) {
    if (is_older(file.path().filename().string())) older.push_back(file.path().string());
  }
  return older;
}

}  // namespace

const std::vector<std::string>& LowBitCopy::Names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const Kind& kind : kKinds) all.emplace_back(kind.name);
    return all;
  }();
  return names;
}

absl::StatusOr<LowBitCopy> LowBitCopy::Of(const std::string& model, absl::string_view name, const std::string& cache_folder) {
  const Kind& kind = KindOf(name);
  LowBitCopy copy;
  ASSIGN_OR_RETURN(copy.file_, ModelFile::Open(model));
  if (copy.file_->packed() != nullptr) {
    return WrongUsage(kField, absl::StrCat("self:", name, " of ", model, ", which is packed"),
                      absl::StrCat("the GGUF file that it was packed from: self:", name, ":FILE"));
  }
  const GgufFile& file = copy.file_->gguf();
  ASSIGN_OR_RETURN(const ModelConfig config, ReadModelConfig(file));
  ASSIGN_OR_RETURN(copy.recipe_, RecipeFor(file, config, kind));
  if (cache_folder.empty()) return WrongUsage(kFolder, "none", absl::StrCat("a folder for a copy of ", model));
  ASSIGN_OR_RETURN(const Sha256Sum sum, SumOf(file, cache_folder));
  copy.name_before_sum_ = NameBefore(file, kind);
  copy.path_ = absl::StrCat(cache_folder, "/drafts/", copy.name_before_sum_, sum.Hex(), ".tsr");
  return copy;
}

absl::Status LowBitCopy::Check() const {
  const absl::StatusOr<std::unique_ptr<ModelFile>> found = ModelFile::Open(path_);
  RETURN_IF_ERROR(found.status());
  if ((*found)->packed() != nullptr && (*found)->recipe() == recipe_) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(path_, ": found another file than a copy in ", recipe_.text(), ", expected that"));
}

absl::Status LowBitCopy::Make(ThreadPool& pool, const DraftMessages& messages) const {
  ASSIGN_OR_RETURN(const PackPlan plan, PackPlan::Make(file_->gguf(), recipe_));
  std::error_code error;   // Without a folder, writing says so.
  std::filesystem::create_directories(std::filesystem::path(path_).parent_path(), error);
  messages.Note(absl::StrCat("Making a copy of ", model(), " to draft with (", recipe_.text(), "), once: ", path_));
  std::function<void(PackStage, int64_t, int64_t)> progress = [](PackStage, int64_t, int64_t) {};
  if (messages.new_progress != nullptr) progress = messages.new_progress();
  return PackModel(file_->gguf(), plan, path_, pool, progress).status();
}

absl::Status LowBitCopy::Prepare(ThreadPool& pool, const DraftMessages& messages) const {
  const absl::Status found = Check();
  if (found.ok()) return found;
  if (!absl::IsNotFound(found)) messages.Warn(absl::StrCat("this copy is made again: ", found.message()));
  for (const std::string& older : OlderCopies(path_, name_before_sum_)) {
    messages.Warn(absl::StrCat("this copy is not used and may be removed: ", older, ": name: found size and time of the model's file, ",
                               "expected its SHA-256"));
  }
  return Make(pool, messages);
}

absl::StatusOr<int64_t> LowBitCopy::WeightBytes() const {
  ASSIGN_OR_RETURN(const ModelConfig config, ReadModelConfig(file_->gguf()));
  ASSIGN_OR_RETURN(const WeightLayout layout, WeightLayout::Plan(file_->gguf(), config, WeightEncoding::kPacked, recipe_));
  return layout.TotalBytes();
}

}  // namespace tessera

#include "tessera/apps/cli/draft/draft_flags.h"

#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tessera/apps/cli/flags/flags.h"
#include "tessera/apps/cli/flags/model_names.h"
#include "tessera/apps/cli/flags/seed_flag.h"
#include "tessera/apps/cli/text/output.h"
#include "tessera/apps/cli/warnings.h"
#include "tessera/base/cache_folder.h"
#include "tessera/base/progress.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"

namespace tessera {
namespace {

constexpr char kFlag[] = "draft_model";

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

// The folder in which copies are kept.
absl::StatusOr<std::string> FolderOfCopies() {
  absl::StatusOr<std::string> folder = CacheFolder();
  RETURN_IF_ERROR(ForField(kFlag, folder.status()));
  return folder;
}

absl::StatusOr<DraftModelOptions> DraftModelOptionsOfFlags(absl::string_view speculate, bool chooses) {
  DraftModelOptions options = {.speculate = std::string(speculate),
                               .tree = FLAGS_tree,
                               .prune = FLAGS_prune,
                               .accept = FLAGS_accept,
                               .device = !FLAGS_device.empty(),
                               .may_be_left_out = chooses,
                               .messages = ShownDraftMessages(),
                               .on_opened = WarnOfShortages};
  ASSIGN_OR_RETURN(options.draft_model, ParseDraftModel(FLAGS_draft_model));
  if (IsGiven("prune_threshold")) options.prune_threshold = FLAGS_prune_threshold;
  if (IsGiven("temperature")) options.temperature = FLAGS_temperature;
  if (options.accept == "rejection") {
    ASSIGN_OR_RETURN(options.seed, SeedOfFlag());
  }
  if (!options.draft_model.copy.empty()) {
    ASSIGN_OR_RETURN(options.cache_folder, FolderOfCopies());
  }
  return options;
}

}  // namespace

absl::StatusOr<std::shared_ptr<DraftModel>> DraftModelOfFlags(absl::string_view speculate, bool chooses) {
  ASSIGN_OR_RETURN(const DraftModelOptions options, DraftModelOptionsOfFlags(speculate, chooses));
  return DraftModel::Create(options);
}

absl::StatusOr<DraftSource> ParseDraftModel(absl::string_view text) {
  ASSIGN_OR_RETURN(DraftSource source, DraftSource::Parse(text));
  if (source.file.empty()) return source;
  ASSIGN_OR_RETURN(source.file, PathOfModel(kFlag, source.file));
  return source;
}

std::string TreeOfFlag() {
  return DraftTree({.draft_model = ParseDraftModel(FLAGS_draft_model).value_or(DraftSource()), .tree = FLAGS_tree});
}

absl::StatusOr<LowBitCopy> LowBitCopyOf(const std::string& model, absl::string_view name) {
  ASSIGN_OR_RETURN(const std::string folder, FolderOfCopies());
  return LowBitCopy::Of(model, name, folder);
}

DraftMessages ShownDraftMessages() {
  const auto note = [](const std::string& text) {
    if (IsSaidFirst(text)) WriteMessage(absl::StrCat(text, "\n"));
  };
  const auto new_progress = [] {
    const auto progress = std::make_shared<CopyProgress>();
    return [progress](PackStage stage, int64_t done, int64_t total) { progress->Update(stage, done, total); };
  };
  return {.on_warning = WarnOnce, .on_note = note, .new_progress = new_progress};
}

}  // namespace tessera

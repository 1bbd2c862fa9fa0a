#include "tessera/apps/cli/warnings.h"

#include <atomic>
#include <functional>
#include <optional>
#include <set>
#include <string>

#include <glog/logging.h>
#include <sys/mman.h>

#include "absl/strings/str_cat.h"
#include "tessera/base/cpu_quota.h"
#include "tessera/model/files/forms_instead.h"
#include "tessera/runtime/draft/draft_options.h"
#include "tessera/runtime/engine/core.h"

namespace tessera {
namespace {

// The warnings of forked processes: hashes of texts, 0 for an empty place. Null: nothing is shared.
constexpr int kMostShared = 512;
std::atomic<uint64_t>* shared = nullptr;

bool IsSaidFirstByAny(const std::string& text) {
  const uint64_t hash = std::hash<std::string>()(text) | 1;
  for (int i = 0; i < kMostShared; ++i) {
    uint64_t found = 0;
    if (shared[i].compare_exchange_strong(found, hash)) return true;
    if (found == hash) return false;
  }
  return true;  // Said twice rather than not at all.
}

// Warns of a recipe of this run alone: the forms of a packed file were reported when the file was written.
void WarnOfForms(const Engine& engine) {
  if (engine.options().compute.recipe.empty()) return;
  const WeightRecipe& recipe = engine.model().layout().recipe();
  const std::string instead = FormsInsteadText(FormsInstead(engine.model().gguf(), engine.config().tied_head, recipe));
  if (!instead.empty()) WarnOnce(absl::StrCat("recipe: takes ", instead));
}

}  // namespace

bool IsSaidFirst(const std::string& text) {
  static std::set<std::string> said;
  return said.insert(text).second && (shared == nullptr || IsSaidFirstByAny(text));
}

void WarnOnce(const std::string& warning) { LOG_IF(WARNING, !warning.empty() && IsSaidFirst(warning)) << warning; }

void ShareWhatIsSaid() {
  static_assert(std::atomic<uint64_t>::is_always_lock_free);
  void* const memory = mmap(nullptr, kMostShared * sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == nullptr && memory != MAP_FAILED) shared = static_cast<std::atomic<uint64_t>*>(memory);  // Zeros. Else each says all.
}

std::string ThreadsWarning(int asked, int taken, std::optional<double> quota) {
  if (asked == 0) return "";
  const bool waits = quota.has_value() && taken > ThreadsForQuota(*quota);
  const std::string granted = waits ? absl::StrCat("a quota grants the time of ", *quota, " CPUs, for which threads then wait") : "";
  if (asked > taken) {
    return absl::StrCat("threads: found ", asked, ", takes ", taken, ", one for each CPU that may be used", waits ? "; " : "", granted);
  }
  return waits ? absl::StrCat("threads: found ", asked, "; ", granted) : "";
}

void WarnOfThreads(int asked, int taken) {
  static const std::optional<double> quota = asked > 0 ? CpuQuota() : std::nullopt;
  WarnOnce(ThreadsWarning(asked, taken, quota));
}

void WarnOfVocabulary(const Tokenizer& tokenizer) { WarnOnce(tokenizer.warning()); }

void WarnOfLostBytes(const Tokenizer& tokenizer) {
  const int64_t lost = tokenizer.lost_bytes();
  if (lost > 0) WarnOnce(absl::StrCat("text: found ", lost, " bytes for which the vocabulary has no token; they are left out"));
}

void WarnOfShortages(const Engine& engine) {
  WarnOfVocabulary(engine.tokenizer());
  WarnOfLostBytes(engine.tokenizer());
  WarnOfThreads(engine.options().compute.threads, engine.threads());
  if (const int trained = engine.config().context_length; engine.context() > trained) {
    WarnOnce(absl::StrCat("context: found ", engine.context(), " tokens, the model was trained for ", trained,
                          "; what it writes beyond those may make no sense"));
  }
  if (engine.context() < engine.wanted_context()) {
    WarnOnce(absl::StrCat("context: takes ", engine.context(), " tokens, the most that the memory budget has room for, not the usual ",
                          engine.wanted_context(), "; --context=N sets it"));
  }
  WarnOfForms(engine);
  WarnOnce(CoreOf(engine).pool().shortage());
  if (const Loading* const loading = engine.model().loading(); loading != nullptr) {
    for (const std::string& shortage : loading->Shortages()) WarnOnce(shortage);
  }
  const TsrReader* const packed = engine.model().file().packed();
  if (packed != nullptr && !packed->manifest_damage().ok()) {
    WarnOnce(absl::StrCat(packed->manifest_damage().message(), "; its copy is used"));
  }
  if (const ReadingDevice* const reading = CoreOf(engine).reading(); reading != nullptr) {
    const PartLoader& loader = reading->loader();
    if (loader.device_io() != IoKind::kBuffered || loader.device_io() == engine.options().streaming.io) return;
    return WarnOnce(absl::StrCat(packed->path(), ": read with ", loader.device_reason()));
  }
  const LayerStreamer* const streamer = engine.model().streamer();
  if (streamer == nullptr || streamer->device_io() == engine.options().streaming.io) return;
  if (streamer->device_io() == IoKind::kBuffered) WarnOnce(absl::StrCat(packed->path(), ": read with ", streamer->device_reason()));
}

void WarnOfHistory(const Speculation* speculation) {
  const HistoryStore* const history = speculation == nullptr ? nullptr : speculation->history();
  if (history == nullptr) return;
  if (!history->ignored().ok()) WarnOnce(absl::StrCat("this history is ignored: ", history->ignored().message()));
  if (const absl::Status lost = history->replaced(); !lost.ok()) WarnOnce(absl::StrCat("this history is replaced: ", lost.message()));
}

void WarnOfUnreadHistory(const SpeculationOptions& options) {
  if (options.history.empty() || options.speculate == "none" || ReadsHistory(options.speculate)) return;
  WarnOnce(absl::StrCat("history: answers are kept, but nothing is drafted from them with --speculate=", options.speculate,
                        "; suffix would do so"));
}

}  // namespace tessera

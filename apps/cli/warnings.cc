#include "tessera/apps/cli/warnings.h"

#include <set>
#include <string>

#include <glog/logging.h>

#include "absl/strings/str_cat.h"
#include "tessera/runtime/core.h"

namespace tessera {
namespace {

void WarnOnce(const std::string& warning) {
  static std::set<std::string> said;
  LOG_IF(WARNING, !warning.empty() && said.insert(warning).second) << warning;
}

}  // namespace

void WarnOfThreads(int asked, int taken) {
  if (asked > taken) WarnOnce(absl::StrCat("threads: found ", asked, ", takes ", taken, ", one for each CPU that may be used"));
}

void WarnOfVocabulary(const Tokenizer& tokenizer) { WarnOnce(tokenizer.warning()); }

void WarnOfShortages(const Engine& engine) {
  WarnOfVocabulary(engine.tokenizer());
  WarnOfThreads(engine.options().compute.threads, engine.threads());
  if (const int trained = engine.config().context_length; engine.context() > trained) {
    WarnOnce(absl::StrCat("context: found ", engine.context(), " tokens, the model was trained for ", trained,
                          "; what it writes beyond those may make no sense"));
  }
  WarnOnce(CoreOf(engine).pool().shortage());
  if (const Loading* const loading = engine.model().loading(); loading != nullptr) {
    for (const std::string& shortage : loading->Shortages()) WarnOnce(shortage);
  }
  const TsrReader* const packed = engine.model().file().packed();
  if (packed != nullptr && !packed->manifest_damage().ok()) {
    WarnOnce(absl::StrCat(packed->manifest_damage().message(), "; its copy is used"));
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
  if (options.history.empty() || options.speculate == "none" || DrafterRegistry::BuiltIn().ReadsHistory(options.speculate)) return;
  WarnOnce(absl::StrCat("history: answers are kept, but nothing is drafted from them with --speculate=", options.speculate,
                        "; suffix would do so"));
}

}  // namespace tessera

#include "tessera/runtime/engine/switching/prepare_switching.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"
#include "tessera/runtime/engine/core.h"
#include "tessera/runtime/engine/switching/measure_switching.h"
#include "tessera/runtime/engine/switching/switch_profile.h"

namespace tessera {
namespace {

absl::Status Prefixed(absl::string_view prefix, const absl::Status& status) {
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat(prefix, status.message()));
}

std::vector<int> RowsOf(const SwitchQuestion& question) {
  std::vector<int> rows = question.prefill_rows;
  rows.insert(rows.end(), question.decode_rows.begin(), question.decode_rows.end());
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  return rows;
}

// While an object lives, passes are recorded neither by the engine nor by a device with a timeline of its own.
class Unrecorded {
 public:
  explicit Unrecorded(EngineCore& core) : core_(core), timeline_(core.timeline()) {
    core_.SetTimeline(nullptr);
    core_.device().SetRecording(false);
  }
  ~Unrecorded() {
    core_.device().SetRecording(true);
    core_.SetTimeline(timeline_);
  }
  Unrecorded(const Unrecorded&) = delete;
  Unrecorded& operator=(const Unrecorded&) = delete;

 private:
  EngineCore& core_;
  Timeline* const timeline_;
};

absl::StatusOr<SwitchProfile::Key> KeyOf(EngineCore& core, const SwitchWarmUp& warm_up) {
  ASSIGN_OR_RETURN(const EngineCore::Hold hold, core.TryHold());
  ASSIGN_OR_RETURN(const Sha256Sum identity, core.ModelIdentity());
  return SwitchProfile::Key{.device = warm_up.device, .model = identity, .layers = core.runner().model().layers()};
}

// Returns the profile of the file, if the profile is for these graphs.
absl::StatusOr<SwitchProfile> KeptProfile(const SwitchWarmUp& warm_up, const SwitchProfile::Key& key, absl::Span<const int> rows) {
  if (warm_up.path.empty()) return absl::NotFoundError("no file");
  ASSIGN_OR_RETURN(SwitchProfile profile, SwitchProfile::Load(warm_up.path));
  RETURN_IF_ERROR(Prefixed(absl::StrCat(warm_up.path, ": "), profile.Check(key, rows)));
  return profile;
}

absl::StatusOr<std::vector<GraphTimes>> GraphTimesFor(Engine& engine, const SwitchWarmUp& warm_up, SwitchReady& ready) {
  const std::vector<int> rows = RowsOf(warm_up.question);
  ASSIGN_OR_RETURN(const SwitchProfile::Key key, KeyOf(CoreOf(engine), warm_up));
  absl::StatusOr<SwitchProfile> kept = KeptProfile(warm_up, key, rows);
  if (kept.ok()) return std::move(kept->graphs);
  if (!absl::IsNotFound(kept.status())) ready.profile = Prefixed("measured again: ", kept.status());
  ready.measured = true;
  SwitchProfile measured = {.device = key.device, .model = key.model};
  ASSIGN_OR_RETURN(measured.graphs, MeasureGraphTimes(engine, rows));
  if (!warm_up.path.empty()) ready.profile.Update(Prefixed("not kept: ", measured.Save(warm_up.path)));
  return std::move(measured.graphs);
}

}  // namespace

absl::Status PrepareSwitching(Engine& engine) {
  EngineCore& core = CoreOf(engine);
  if (!core.options().compute.warm_up.has_value()) return absl::OkStatus();
  const SwitchWarmUp& warm_up = *core.options().compute.warm_up;
  if (core.motion() == nullptr) return absl::FailedPreconditionError("warm-up: found an engine whose graphs are not switched");
  const int most = std::min(core.runner().model().layers(), kMostSwitchBlocks);
  if (warm_up.question.blocks < 0 || warm_up.question.blocks > most) {
    return WrongUsage("blocks", warm_up.question.blocks, absl::StrCat("0 (chosen) to ", most));
  }
  const Unrecorded unrecorded(core);
  SwitchReady ready;
  ASSIGN_OR_RETURN(const std::vector<GraphTimes> graphs, GraphTimesFor(engine, warm_up, ready));
  ASSIGN_OR_RETURN(ready.choice, ChooseSwitch(graphs, warm_up.question));
  const SwitchingOptions options = {.rule = warm_up.question.rule,
                                    .blocks = static_cast<int>(ready.choice.ends.size()),
                                    .prefill_rows = ready.choice.prefill_rows,
                                    .decode_rows = ready.choice.decode_rows,
                                    .ends = ready.choice.ends};
  RETURN_IF_ERROR(core.SetSwitching(options, ready.choice.times));
  RETURN_IF_ERROR(AwaitGraphs(engine));
  if (warm_up.on_ready != nullptr) warm_up.on_ready(ready);
  return absl::OkStatus();
}

}  // namespace tessera

#include "tessera/apps/lab/papers/sdnpu/sdnpu_report.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "glog/logging.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"
#include "tessera/runtime/plan/phone_report.h"

namespace tessera {

namespace {

// The papers' phones: K60 Pro, K70 Pro, OnePlus 13.
constexpr const char* kAblationPhone = "8gen2";
constexpr const char* kSweepPhone = "8gen3";
constexpr const char* kBreakdownPhone = "8elite";
constexpr int kSweepPrompt = 1024;   // Tokens, half of which are in the cache on average; drafts are checked at the end.
constexpr int kDecodeRows = 32;
constexpr int kLongestDraft = 64;
constexpr int kDrawnEvents = 1 << 12;   // The first events of a request: pictures end soon after its graphs are loaded.

template <typename Items, typename Name>
const auto& Named(const Items& items, absl::string_view name, Name name_of) {
  const auto found = std::find_if(items.begin(), items.end(), [&](const auto& item) { return name_of(item) == name; });
  CHECK(found != items.end()) << name;
  return *found;
}

absl::StatusOr<DeviceProfile> ProfileOf(const SdnpuQuestion& question, const char* otherwise) {
  if (question.device.empty()) return LoadDeviceProfile(otherwise);
  absl::StatusOr<Phone> phone = PhoneOf(question.device);
  if (!phone.ok()) return ForField("device", phone.status());
  if (absl::StrContains(question.device, ':') && absl::string_view(phone->style.name) != "unshared") {
    return WrongUsage("device", question.device, "a phone, or PHONE:unshared:MODE: the papers' graphs share no weights");
  }
  return std::move(phone->profile);
}

// The costs and runs of a report on one phone.
class PhoneShapes {
 public:
  static absl::StatusOr<PhoneShapes> Open(const DeviceProfile& profile) {
    PhoneShapes shapes;
    shapes.name_ = profile.name;
    for (const char* shape : kSdnpuShapes) {
      ASSIGN_OR_RETURN(std::unique_ptr<PhoneCosts> costs, PhoneCosts::Open(profile, shape));
      shapes.costs_.push_back(std::move(costs));
    }
    return shapes;
  }

  const std::string& name() const { return name_; }
  const PhoneCosts& Main() const {
    const auto found = std::find(std::begin(kSdnpuShapes), std::end(kSdnpuShapes), absl::string_view(kMainShape));
    return *costs_[static_cast<size_t>(found - std::begin(kSdnpuShapes))];
  }

  absl::StatusOr<SdnpuPhone> RunAll(const SdnpuRecordings& recordings) const {
    SdnpuPhone phone = {.name = name_};
    for (size_t i = 0; i < costs_.size(); ++i) {
      SdnpuShape shape = {.name = kSdnpuShapes[i]};
      const RequestCosts costs = costs_[i]->costs();
      for (const SdnpuSystem& system : SdnpuSystems()) shape.memory.push_back(MemoryOf(*costs_[i], system));
      for (const char* task : kSdnpuTasks) {
        std::vector<SystemOnTask>& systems = shape.tasks.emplace_back();
        for (const SdnpuSystem& system : SdnpuSystems()) {
          ASSIGN_OR_RETURN(const SystemOnTask on, RunSystem(costs, system, recordings, task));
          systems.push_back(on);
        }
      }
      phone.shapes.push_back(std::move(shape));
    }
    return phone;
  }

 private:
  std::string name_;
  std::vector<std::unique_ptr<PhoneCosts>> costs_;   // By kSdnpuShapes.
};

// Returns the seconds of a whole pass: layers of a graph of `rows` rows, one call, the head on `logits` rows.
absl::StatusOr<double> PassSeconds(const RequestCosts& costs, int rows, int64_t positions, int logits) {
  ASSIGN_OR_RETURN(const RunCost layers, costs.layer_run(rows, positions));
  ASSIGN_OR_RETURN(const RunCost head, costs.head_run(logits));
  return layers.seconds + costs.call_seconds + head.seconds;
}

absl::Status Sweep(const RequestCosts& costs, SdnpuReport& report) {
  for (const int rows : {32, 64, 128, 256, 512}) {
    ASSIGN_OR_RETURN(const RunCost layers, costs.layer_run(rows, kSweepPrompt / 2));
    ASSIGN_OR_RETURN(const double pass, PassSeconds(costs, rows, kSweepPrompt, kDecodeRows));
    report.chunks.push_back({rows, (layers.seconds + costs.call_seconds) / rows * 1e3, pass / report.sweep_tokens_per_pass * 1e3});
  }
  for (int rows = 1; rows <= kLongestDraft; rows *= 2) {
    const int graphs = (rows + kDecodeRows - 1) / kDecodeRows;
    ASSIGN_OR_RETURN(const double own, PassSeconds(costs, rows, kSweepPrompt, rows));
    ASSIGN_OR_RETURN(const RunCost layers, costs.layer_run(kDecodeRows, kSweepPrompt));
    ASSIGN_OR_RETURN(const RunCost head, costs.head_run(rows));
    const double shared = graphs * (layers.seconds + costs.call_seconds) + head.seconds;
    report.lengths.push_back({rows, own / rows * 1e3, shared / rows * 1e3});
  }
  ASSIGN_OR_RETURN(const RunCost cpu, costs.cpu_pass(1, kSweepPrompt));
  report.cpu_milliseconds = cpu.seconds * 1e3;
  return absl::OkStatus();
}

const RecordedText& FirstSummary(const Recording& recording) {
  return Named(recording.texts, "summary", [](const RecordedText& text) { return absl::string_view(text.task); });
}

absl::Status CompareRules(const RequestCosts& costs, const SdnpuRecordings& recordings, SdnpuReport& report) {
  const SdnpuSystem& full = SdnpuSystems()[SystemIndex("full")];
  const RecordedText& text = FirstSummary(recordings.Of(full.drafter));
  const RequestWork work = {.prompt_tokens = text.prompt_tokens, .tokens = text.tokens, .passes = text.passes};
  for (const SwitchRule rule : kSwitchRules) {
    RequestSetup setup = full.setup;
    setup.rule = rule;
    Timeline timeline({.capacity = kDrawnEvents});
    ASSIGN_OR_RETURN(const RequestResult result, SimulateRequest(costs, setup, work, &timeline));
    report.rules.push_back({rule, result.seconds, timeline.Events()});
  }
  return absl::OkStatus();
}

DraftUsage UseOf(const Recording& recording, absl::string_view task) {
  DraftUsage use = {.drafter = recording.drafter, .task = std::string(task), .tokens_per_pass = recording.MeanTokens(task)};
  double passes = 0;
  for (const RecordedText& text : recording.texts) {
    if (!task.empty() && text.task != task) continue;
    use.missing += text.missing, use.synonym += text.synonym, use.redundant += text.redundant;
    use.rejected += text.missing + text.synonym + text.redundant;
    for (const RecordedPass& pass : text.passes) {
      ++passes;
      use.below_8 += pass.drafted < 8 ? 1 : 0;
      use.below_32 += pass.drafted < 32 ? 1 : 0;
      use.valid += pass.accepted + 1;
      use.wasted += pass.drafted - pass.accepted;
      use.underutilized += std::max(0, recording.most_rows - 1 - pass.drafted);
    }
  }
  const double rows = use.valid + use.wasted + use.underutilized;
  if (passes > 0) use.below_8 /= passes, use.below_32 /= passes;
  if (rows > 0) use.valid /= rows, use.wasted /= rows, use.underutilized /= rows;
  if (use.rejected > 0) use.missing /= use.rejected, use.synonym /= use.rejected, use.redundant /= use.rejected;
  return use;
}

std::string WhatWasRecorded(const Recording& recording) {
  return absl::StrFormat("%s: %d texts by %s (sha256 %s), %s", recording.drafter, static_cast<int>(recording.texts.size()),
                         recording.model, recording.model_sha256.substr(0, 12), recording.command);
}

void DescribeRecordings(const SdnpuRecordings& recordings, SdnpuReport& report) {
  for (const Recording& recording : recordings.recordings) {
    report.recordings.push_back(WhatWasRecorded(recording));
    report.drafts.push_back(UseOf(recording, ""));
    for (const char* task : kSdnpuTasks) report.drafts.push_back(UseOf(recording, task));
  }
  report.sweep_tokens_per_pass = std::max(1.0, recordings.Of("sam+ours").MeanTokens("summary"));
}

}  // namespace

const SystemOnTask& SdnpuShape::On(absl::string_view task, absl::string_view system) const {
  const auto found = std::find(std::begin(kSdnpuTasks), std::end(kSdnpuTasks), task);
  CHECK(found != std::end(kSdnpuTasks)) << task;
  return tasks[static_cast<size_t>(found - std::begin(kSdnpuTasks))][SystemIndex(system)];
}

const SdnpuShape& SdnpuPhone::Shape(absl::string_view shape) const {
  return Named(shapes, shape, [](const SdnpuShape& item) { return absl::string_view(item.name); });
}

const SdnpuPhone& SdnpuReport::Phone(absl::string_view name) const {
  return Named(phones, name, [](const SdnpuPhone& item) { return absl::string_view(item.name); });
}

absl::StatusOr<SdnpuReport> MakeSdnpuReport(const SdnpuQuestion& question, const SdnpuRecordings& recordings) {
  RETURN_IF_ERROR(CheckSdnpuRecordings(recordings));
  SdnpuReport report;
  DescribeRecordings(recordings, report);
  for (const char* name : {kAblationPhone, kSweepPhone, kBreakdownPhone}) {
    ASSIGN_OR_RETURN(const DeviceProfile profile, ProfileOf(question, name));
    const bool first = report.phones.empty();
    const bool one = !question.device.empty();   // The question names the only phone.
    if (one && !first) break;
    ASSIGN_OR_RETURN(const PhoneShapes shapes, PhoneShapes::Open(profile));
    ASSIGN_OR_RETURN(SdnpuPhone phone, shapes.RunAll(recordings));
    report.phones.push_back(std::move(phone));
    if (one || absl::string_view(name) == kSweepPhone) {
      report.sweep_phone = shapes.name();
      RETURN_IF_ERROR(Sweep(shapes.Main().costs(), report));
    }
    if (one || absl::string_view(name) == kAblationPhone) {
      report.ablation_phone = shapes.name();
      RETURN_IF_ERROR(CompareRules(shapes.Main().costs(), recordings, report));
    }
    if (one || absl::string_view(name) == kBreakdownPhone) report.breakdown_phone = shapes.name();
  }
  report.orders = SdnpuOrders(report);
  return report;
}

absl::Status RecordSdnpuRequest(const SdnpuQuestion& question, const SdnpuRecordings& recordings, Timeline& timeline) {
  RETURN_IF_ERROR(CheckSdnpuRecordings(recordings));
  ASSIGN_OR_RETURN(const DeviceProfile profile, ProfileOf(question, kAblationPhone));
  ASSIGN_OR_RETURN(const std::unique_ptr<PhoneCosts> costs, PhoneCosts::Open(profile, kMainShape));
  const SdnpuSystem& full = SdnpuSystems()[SystemIndex("full")];
  const RecordedText& text = FirstSummary(recordings.Of(full.drafter));
  const RequestWork work = {.prompt_tokens = text.prompt_tokens, .tokens = text.tokens, .passes = text.passes};
  return SimulateRequest(costs->costs(), full.setup, work, &timeline).status();
}

}  // namespace tessera

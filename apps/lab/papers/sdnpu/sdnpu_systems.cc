#include "tessera/apps/lab/papers/sdnpu/sdnpu_systems.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "tessera/base/status_macros.h"

namespace tessera {

namespace {

// Both versions of sd.npu, section 4.2 and figure 8, show six blocks.
constexpr int kBlocks = 6;
// sd.npu's longer version, section 4.1: tokens per pass with EAGLE-2, "a fixed maximum".
constexpr double kEagleTokens = 5.5;

constexpr SwitchRule kSynchronous = SwitchRule::kSynchronous, kPublished = SwitchRule::kPublished;

constexpr const char* kDrafters[] = {"sam", "sam+ours", "lookup", "lookup+ours"};

absl::Status Differs(const Recording& recording, size_t text, absl::string_view what, const absl::AlphaNum& found,
                     const absl::AlphaNum& expected) {
  return absl::FailedPreconditionError(
      absl::StrCat("recording ", recording.drafter, ", text ", text, ": ", what, ": found ", found, ", expected ", expected));
}

absl::Status CheckSameTexts(const Recording& first, const Recording& other) {
  if (other.texts.size() != first.texts.size()) return Differs(other, 0, "number of texts", other.texts.size(), first.texts.size());
  for (size_t i = 0; i < first.texts.size(); ++i) {
    const RecordedText& a = first.texts[i];
    const RecordedText& b = other.texts[i];
    if (a.task != b.task) return Differs(other, i, "task", b.task, a.task);
    if (a.id != b.id) return Differs(other, i, "id", b.id, a.id);
    if (a.prompt_tokens != b.prompt_tokens) return Differs(other, i, "prompt_tokens", b.prompt_tokens, a.prompt_tokens);
    if (a.tokens != b.tokens) return Differs(other, i, "tokens", b.tokens, a.tokens);
  }
  return absl::OkStatus();
}

}  // namespace

absl::Span<const SdnpuSystem> SdnpuSystems() {
  static const std::vector<SdnpuSystem> systems = {
      {"npu", "NPU vanilla", "", {.rule = kSynchronous}, "a pass for each token; the decode graph is loaded after the prompt"},
      {"npu_g", "+G", "", {.rule = kPublished, .blocks = kBlocks}, "graphs are switched by the papers' rule while the prompt is read",
       /*chooses_blocks=*/true},
      {"npu_sd", "+SD (NPU-SAM)", "sam", {.rule = kSynchronous, .drafting = Drafting::kRecorded}, "drafts by a suffix automaton"},
      {"npu_g_sd", "+G+SD", "sam", {.rule = kPublished, .blocks = kBlocks, .drafting = Drafting::kRecorded}, "both",
       /*chooses_blocks=*/true},
      {"full", "full (sd.npu)", "sam+ours",
       {.rule = kPublished, .blocks = kBlocks, .drafting = Drafting::kRecorded, .calibrates = true},
       "drafts also from the prompt's logits and from drafts that did not come true", /*chooses_blocks=*/true},
      {"full_planned", "full, our plan", "sam+ours",
       {.rule = SwitchRule::kPlanned, .blocks = kBlocks, .drafting = Drafting::kRecorded, .calibrates = true},
       "the same, but loads begin when a search says", /*chooses_blocks=*/true},
      {"cpu", "CPU vanilla", "", {.decode = ComputePlace::kCpu}, "reads prompts on the NPU, decodes on the CPU"},
      {"cpu_sam", "CPU-SAM", "sam", {.decode = ComputePlace::kCpu, .drafting = Drafting::kRecorded}, "the same with drafts"},
      {"npu_eagle", "NPU-EAGLE", "", {.rule = kSynchronous, .drafting = Drafting::kModel, .model_tokens = kEagleTokens},
       "drafts by a layer and a head, simulated with 5.5 tokens per pass"},
      {"cpu_eagle", "CPU-EAGLE", "", {.decode = ComputePlace::kCpu, .drafting = Drafting::kModel, .model_tokens = kEagleTokens},
       "the same on the CPU"},
      {"npu_lookup", "NPU-lookup", "lookup", {.rule = kSynchronous, .drafting = Drafting::kRecorded}, "drafts by prompt lookup"},
      {"npu_padded", "NPU, padded", "", {.rule = SwitchRule::kPadded}, "decodes with the prefill graph, and switches nothing"},
      {"npu_one_row", "NPU, one row", "", {.rule = kSynchronous, .decode_rows = 1}, "the decode graph has one row instead of 32"}};
  return systems;
}

size_t SystemIndex(absl::string_view key) {
  const absl::Span<const SdnpuSystem> systems = SdnpuSystems();
  const auto found = std::find_if(systems.begin(), systems.end(), [&](const SdnpuSystem& system) { return key == system.key; });
  CHECK(found != systems.end()) << key;
  return static_cast<size_t>(found - systems.begin());
}

const Recording& SdnpuRecordings::Of(absl::string_view drafter) const {
  const auto found = std::find_if(recordings.begin(), recordings.end(),
                                  [&](const Recording& recording) { return drafter.empty() || recording.drafter == drafter; });
  CHECK(found != recordings.end()) << drafter;
  return *found;
}

absl::Status CheckSdnpuRecordings(const SdnpuRecordings& recordings) {
  for (const char* drafter : kDrafters) {
    const auto count = std::count_if(recordings.recordings.begin(), recordings.recordings.end(),
                                     [&](const Recording& recording) { return recording.drafter == drafter; });
    if (count != 1) {
      return absl::FailedPreconditionError(absl::StrCat("recordings: found ", count, " of ", drafter, ", expected one"));
    }
  }
  const Recording& first = recordings.recordings.front();
  for (const Recording& other : recordings.recordings) RETURN_IF_ERROR(CheckSameTexts(first, other));
  for (const char* task : kSdnpuTasks) {
    if (std::none_of(first.texts.begin(), first.texts.end(), [&](const RecordedText& text) { return text.task == task; })) {
      return absl::FailedPreconditionError(absl::StrCat("recordings: found no text of ", task, ", expected some"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<SdnpuRecordings> BuiltInSdnpuRecordings() {
  SdnpuRecordings recordings;
  for (const char* drafter : kDrafters) {
    ASSIGN_OR_RETURN(Recording recording, BuiltInRecording(drafter));
    recordings.recordings.push_back(std::move(recording));
  }
  RETURN_IF_ERROR(CheckSdnpuRecordings(recordings));
  return recordings;
}

namespace {

// Chooses one partition for all requests of a model on a phone.
absl::StatusOr<RequestSetup> SetupOf(const RequestCosts& costs, const SdnpuSystem& system, const Recording& recording) {
  RequestSetup setup = system.setup;
  if (!system.chooses_blocks || recording.texts.empty()) return setup;
  int64_t prompt_tokens = 0, tokens = 0;
  for (const RecordedText& text : recording.texts) {
    prompt_tokens += text.prompt_tokens;
    tokens += text.tokens;
  }
  const auto texts = static_cast<int64_t>(recording.texts.size());
  const RequestWork mean = {.prompt_tokens = static_cast<int>(prompt_tokens / texts), .tokens = static_cast<int>(tokens / texts)};
  ASSIGN_OR_RETURN(setup.blocks, ChooseBlocks(costs, setup, mean));
  return setup;
}

}  // namespace

absl::StatusOr<SystemOnTask> RunSystem(const RequestCosts& costs, const SdnpuSystem& system, const SdnpuRecordings& recordings,
                                       absl::string_view task) {
  SystemOnTask sum;
  ASSIGN_OR_RETURN(const RequestSetup setup, SetupOf(costs, system, recordings.Of(system.drafter)));
  sum.blocks = setup.blocks;
  for (const RecordedText& text : recordings.Of(system.drafter).texts) {
    if (text.task != task) continue;
    const RequestWork work = {.prompt_tokens = text.prompt_tokens, .tokens = text.tokens, .passes = text.passes};
    const absl::StatusOr<RequestResult> result = SimulateRequest(costs, setup, work);
    if (!result.ok()) {
      return absl::Status(result.status().code(), absl::StrCat(system.name, ", ", task, ", ", text.id, ": ", result.status().message()));
    }
    ++sum.requests;
    sum.prompt_tokens += text.prompt_tokens;
    sum.tokens += text.tokens;
    sum.passes += result->passes;
    sum.seconds += result->seconds;
    sum.joules += result->joules;
    sum.valid_rows += result->valid_rows;
    sum.wasted_rows += result->wasted_rows;
    sum.empty_rows += result->empty_rows;
  }
  return sum;
}

SystemMemory MemoryOf(const PhoneCosts& phone, const SdnpuSystem& system) {
  const PhoneMemory& memory = phone.memory();
  return {.npu_weights = memory.weights,
          .cpu_weights = memory.cpu_weights,
          .cpu_copy = system.setup.decode == ComputePlace::kCpu ? phone.cpu_copy_bytes() : 0,
          .draft_model = system.setup.drafting == Drafting::kModel ? phone.draft_model_bytes() : 0,
          .keys_and_values = memory.keys_and_values,
          .activations = memory.activations};
}

}  // namespace tessera

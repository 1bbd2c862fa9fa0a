#include "tessera/apps/plan/dry_run.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tessera/apps/cli/flags/flags.h"
#include "tessera/apps/cli/text/input.h"
#include "tessera/apps/cli/text/output.h"
#include "tessera/apps/cli/warnings.h"
#include "tessera/apps/plan/budget_report.h"
#include "tessera/apps/plan/draft_or_pins.h"
#include "tessera/base/byte_size.h"
#include "tessera/base/cpu_features.h"
#include "tessera/base/json_writer.h"
#include "tessera/base/peak_memory.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/table.h"
#include "tessera/runtime/chat/request_limits.h"

namespace tessera {
namespace {

struct LoadPlan {
  const Engine& engine;
  std::string path = {};           // "fast", "reference" or "npu".
  std::string kernels = {};        // "none" on the reference path.
  EngineMemory memory = {};
  std::optional<int64_t> prompt_tokens = {};  // nullopt: no flag gives a prompt.
  const DraftModel* draft = nullptr;
  std::optional<DraftUse> draft_use = std::nullopt;   // Where there is a draft.
  int64_t logits = 0, drafting = 0, requests = 0, adapters = 0;  // Drafting without the draft model.
  int64_t reserve = 0;             // Under a budget: the reserve for memory that is not counted.
  // Code, libraries, stacks, but no adapters; under a budget without code that is shared with other processes. nullopt: not known, here and
  // in the next member.
  std::optional<int64_t> program_bytes = {};
  std::optional<int64_t> tokenizer_bytes = {};  // Includes metadata.
  bool Drafts() const { return draft_use.has_value() && draft_use->drafts; }
  int64_t DraftBytes() const { return draft == nullptr ? 0 : draft->bytes(); }
  int64_t TreeBytes() const { return draft == nullptr ? 0 : draft->tree_bytes(); }   // A part of drafting.
  std::optional<int64_t> Total() const {
    if (!program_bytes.has_value() || !tokenizer_bytes.has_value()) return std::nullopt;
    return memory.Total() + logits + drafting + DraftBytes() + requests + adapters + reserve + *program_bytes + *tokenizer_bytes;
  }
};

using PartList = std::vector<std::pair<const char*, int64_t>>;   // A part's name and bytes.

struct FormatUse {
  std::set<std::string> tensors;
  int64_t file_bytes = 0;          // In the GGUF file; a tensor that is loaded twice counts once.
  int64_t bytes = 0;               // Bytes as loaded.
};

// Returns "Q4_1", or "Q4_1 as int4-tile" where a recipe gives the file's format another form.
std::string FormatOf(const GgufTensor& tensor, const GraphWeight& weight) {
  const BlockFormatInfo& format = *tensor.format;
  if (weight.tile.has_value()) return absl::StrCat(format.name, " as ", TileSchemeName(*weight.tile));
  if (weight.vector || weight.spec.format == format.format) return format.name;
  return absl::StrCat(format.name, " as ", InfoOf(weight.spec.format).name);
}

std::map<std::string, FormatUse> UseOfFormats(const Engine& engine) {
  std::map<std::string, FormatUse> uses;
  for (int unit = 0; unit < engine.model().layout().units(); ++unit) {
    for (const WeightLayout::Placed& placed : engine.model().layout().PartsOfUnit(unit)) {
      const GgufTensor& tensor = *engine.model().gguf().FindTensor(*placed.tensor);
      FormatUse& use = uses[FormatOf(tensor, placed.part->weight)];
      if (use.tensors.insert(std::string(tensor.name)).second) use.file_bytes += tensor.size;
      use.bytes += placed.part->bytes;
    }
  }
  return uses;
}

int64_t LargestUnit(const WeightLayout& layout) {
  int64_t largest = 0;
  for (int unit = 0; unit < layout.units(); ++unit) largest = std::max(largest, layout.UnitBytes(unit));
  return largest;
}

// Returns the parts that the draft has.
PartList PartsOfDraft(const LoadPlan& plan) {
  if (!plan.Drafts()) return plan.DraftBytes() == 0 ? PartList() : PartList{{"draft model, closed again", plan.DraftBytes()}};
  const tessera::DraftBytes& parts = plan.draft->parts();
  PartList all = {{"draft: weights", parts.weights}, {"draft: keys and values", parts.cache}, {"draft: scratch", parts.scratch},
                  {"draft: head", parts.head}, {"draft: map", parts.exit_map}, {"draft: tokenizer", parts.vocabulary},
                  {"draft: predictor", parts.predictor}, {"draft: trees", plan.TreeBytes()}};
  std::erase_if(all, [](const auto& part) { return part.second == 0; });
  return all;
}

std::string ContextText(const Engine& engine) {
  const std::string cut = engine.context() < engine.wanted_context() ? "the most within the budget, " : "";
  return absl::StrCat(engine.context(), " tokens (", cut, "trained for ", engine.config().context_length, "), keys and values ",
                      KvFormatName(engine.planner().inputs().cache.format));
}

std::string PlanText(const LoadPlan& plan) {
  const Engine& engine = plan.engine;
  Table what({{"what"}, {"value"}});
  what.AddRow({"model", engine.model().gguf().path()});
  what.AddRow({"architecture", absl::StrCat(engine.config().architecture, ", ", engine.config().layers.size(), " layers")});
  what.AddRow({"context", ContextText(engine)});
  if (engine.options().workload.sessions > 1) {
    what.AddRow({"texts at once", absl::StrCat(engine.options().workload.sessions, ", of ", engine.cache_tokens(), " tokens together")});
  }
  if (plan.prompt_tokens.has_value()) what.AddRow({"prompt", absl::StrCat(*plan.prompt_tokens, " tokens")});
  if (plan.draft != nullptr) what.AddRow({"draft model", plan.Drafts() ? plan.draft->Describe() : "left out"});
  what.AddRow({"path", absl::StrCat(plan.path, ", kernels ", plan.kernels, ", threads ", engine.threads())});
  const WeightLayout& layout = engine.model().layout();
  if (!layout.recipe().keeps_all()) what.AddRow({"recipe", layout.recipe().name()});
  what.AddRow({"units", absl::StrCat(layout.units(), ", the largest ", FormatByteSize(LargestUnit(layout)))});
  Table formats({{"format"}, {"tensors", Table::Align::kRight}, {"in the file", Table::Align::kRight},
                 {"as loaded", Table::Align::kRight}});
  for (const auto& [format, use] : UseOfFormats(engine)) {
    formats.AddRow({format, absl::StrCat(use.tensors.size()), FormatByteSize(use.file_bytes), FormatByteSize(use.bytes)});
  }
  Table memory({{"memory"}, {"most", Table::Align::kRight}});
  const auto add = [&](const char* part, std::optional<int64_t> bytes) { memory.AddRow({part, FormatKnownByteSize(bytes)}); };
  add("weights", plan.memory.weights);
  add("keys and values", plan.memory.cache);
  add("scratch of graphs", plan.memory.graphs);
  add("hidden states", plan.memory.hidden_states);
  add("logits", plan.logits);
  add("drafting", plan.drafting - plan.TreeBytes());
  for (const auto& [part, bytes] : PartsOfDraft(plan)) add(part, bytes);
  if (plan.requests > 0) add("requests", plan.requests);
  const int64_t padding = engine.options().workload.adapter_padding;
  if (plan.adapters > 0) add("adapters", plan.adapters - padding);
  if (padding > 0) add("adapters: padding", padding);
  add("tokenizer, metadata", plan.tokenizer_bytes);
  add("program", plan.program_bytes);
  if (plan.reserve > 0) add("reserve", plan.reserve);
  add("total", plan.Total());
  return absl::StrCat(what.ToString(), "\n", formats.ToString(), "\n", memory.ToString());
}

void WriteFormats(JsonWriter& json, const Engine& engine) {
  json.BeginArray();
  for (const auto& [format, use] : UseOfFormats(engine)) {
    json.BeginObject().Key("format").String(format);
    json.Key("tensors").Int(static_cast<int64_t>(use.tensors.size())).Key("file_bytes").Int(use.file_bytes).Key("bytes").Int(use.bytes);
    json.EndObject();
  }
  json.EndArray();
}

void WriteMemory(JsonWriter& json, const LoadPlan& plan) {
  json.BeginObject();
  json.Key("weights").Int(plan.memory.weights);
  json.Key("cache").Int(plan.memory.cache);
  json.Key("graphs").Int(plan.memory.graphs);
  json.Key("hidden_states").Int(plan.memory.hidden_states);
  json.Key("logits").Int(plan.logits);
  json.Key("drafting").Int(plan.drafting);
  if (plan.draft != nullptr) json.Key("draft_model").Int(plan.DraftBytes());
  json.Key("requests").Int(plan.requests);
  json.Key("adapters").Int(plan.adapters);
  const auto put = [&](const char* key, std::optional<int64_t> bytes) {
    json.Key(key);
    if (bytes.has_value()) json.Int(*bytes); else json.Null();
  };
  put("tokenizer", plan.tokenizer_bytes);
  put("program", plan.program_bytes);
  put("reserve", plan.reserve);
  put("total", plan.Total());
  json.EndObject();
}

// Writes the parts of "draft_model", and the trees, which are a part of "drafting".
void WriteDraftParts(JsonWriter& json, const LoadPlan& plan) {
  const tessera::DraftBytes parts = plan.Drafts() ? plan.draft->parts() : tessera::DraftBytes();
  json.BeginObject().Key("weights").Int(parts.weights).Key("cache").Int(parts.cache).Key("scratch").Int(parts.scratch);
  json.Key("head").Int(parts.head).Key("exit_map").Int(parts.exit_map).Key("tokenizer").Int(parts.vocabulary);
  json.Key("predictor").Int(parts.predictor).Key("trees").Int(plan.TreeBytes()).EndObject();
}

std::string PlanJson(const LoadPlan& plan, const std::optional<BudgetReport>& budget) {
  const Engine& engine = plan.engine;
  JsonWriter json(2);
  json.BeginObject();
  json.Key("model").String(engine.model().gguf().path());
  json.Key("architecture").String(engine.config().architecture);
  json.Key("layers").Int(static_cast<int64_t>(engine.config().layers.size()));
  json.Key("context").Int(engine.context());
  json.Key("wanted_context").Int(engine.wanted_context());
  json.Key("trained_context").Int(engine.config().context_length);
  json.Key("texts").Int(engine.options().workload.sessions);
  json.Key("cache_tokens").Int(engine.cache_tokens());
  if (plan.prompt_tokens.has_value()) json.Key("prompt_tokens").Int(*plan.prompt_tokens);
  json.Key("kv_format").String(KvFormatName(engine.planner().inputs().cache.format));
  json.Key("path").String(plan.path);
  json.Key("kernels").String(plan.kernels);
  json.Key("threads").Int(engine.threads());
  json.Key("recipe").String(engine.model().layout().recipe().text());
  json.Key("units").Int(engine.model().layout().units());
  json.Key("largest_unit_bytes").Int(LargestUnit(engine.model().layout()));
  WriteFormats(json.Key("formats"), engine);
  WriteMemory(json.Key("memory_bytes"), plan);
  json.Key("adapter_padding_bytes").Int(engine.options().workload.adapter_padding);   // A part of "adapters".
  if (plan.draft_use.has_value()) {
    WriteDraftParts(json.Key("draft_model_bytes"), plan);
    plan.draft_use->Write(json.Key("speculation"));
  }
  if (budget) budget->Write(json.Key("memory_budget"));
  json.EndObject();
  return std::move(json).Take() + "\n";
}

// Tells the files that a run with the given flags would have written.
void TellWhatIsNotWritten() {
  std::vector<std::string> flags;
  if (!FLAGS_trace.empty()) flags.push_back("--trace");
  if (!FLAGS_plot.empty()) flags.push_back("--plot");
  if (!FLAGS_history.empty()) flags.push_back("--history");
  if (!FLAGS_session.empty()) flags.push_back("--session");
  if (!FLAGS_into.empty()) flags.push_back("--into");
  if (!FLAGS_cost_profile.empty() && access(FLAGS_cost_profile.c_str(), F_OK) != 0) flags.push_back("--cost_profile");
  if (!flags.empty()) WriteError(absl::StrCat("A dry run writes nothing, not the file of ", absl::StrJoin(flags, " or "), " either.\n"));
}

absl::Status PlanUnderBudget(int64_t memory_budget, std::optional<int64_t> own_before, LoadPlan& plan) {
  const absl::StatusOr<BudgetPlan> budget = plan.engine.planner().PlanBudget(memory_budget);
  RETURN_IF_ERROR(ExplainedBy(plan.draft, budget.status()));
  plan.memory = budget->memory;
  plan.logits = budget->logits;
  plan.requests = budget->requests;
  plan.reserve = budget->reserve;
  plan.program_bytes = own_before;
  plan.tokenizer_bytes = budget->process - own_before.value_or(0);  // A budget is refused where this is not known.
  return absl::OkStatus();
}

// Returns the prompt that flags give. nullopt: no prompt is given, or the prompt is on standard input, which a dry run leaves to others.
absl::StatusOr<std::optional<std::string>> PromptOfFlags() {
  if (FLAGS_jsonl) {
    WriteError("A dry run reads no requests.\n");
    return std::nullopt;
  }
  if (PromptGiven() && (IsGiven("prompt") || !IsStandardInput(FLAGS_prompt_file))) return ReadPrompt();
  if (PromptGiven()) WriteError("A dry run does not read standard input.\n");
  else TellUnreadInput();
  return std::nullopt;
}

// Shows the plan of the options; the prompt, if there is one, is counted.
absl::Status ShowPlan(const EngineOptions& options, const std::optional<std::string>& prompt, const PromptCounter& count_prompt,
                      DraftModel* draft) {
  const std::optional<int64_t> peak_before = PeakMemoryBytes(), own_before = OwnMemoryBytes();
  ASSIGN_OR_RETURN(const std::unique_ptr<Engine> engine, Engine::Open(options));
  const std::optional<int64_t> peak = PeakMemoryBytes();
  const MemoryPlanner& planner = engine->planner();
  WarnOfShortages(*engine);
  LoadPlan plan = {.engine = *engine, .draft = draft, .logits = planner.logits(), .program_bytes = peak_before};
  if (peak.has_value() && peak_before.has_value()) plan.tokenizer_bytes = *peak - *peak_before;
  if (draft != nullptr) {
    ASSIGN_OR_RETURN(plan.draft_use, DraftUse::Settle(*engine, *draft, draft->Plan(*engine, plan.tokenizer_bytes.value_or(0))));
  }
  plan.drafting = planner.drafting() - plan.DraftBytes();
  if (prompt.has_value()) {
    ASSIGN_OR_RETURN(plan.prompt_tokens, count_prompt(*engine, *prompt));
  }
  ASSIGN_OR_RETURN(plan.memory, engine->planner().Plan());
  if (options.streaming.memory_budget > 0) RETURN_IF_ERROR(PlanUnderBudget(options.streaming.memory_budget, own_before, plan));
  // Adapters that were read are in memory already, so the program's part includes their bytes.
  const int64_t read = options.workload.adapter_bytes;
  plan.adapters = read + options.workload.adapter_room;
  if (plan.program_bytes.has_value()) *plan.program_bytes = std::max<int64_t>(*plan.program_bytes - read, 0);
  ASSIGN_OR_RETURN(const KernelPath kernels, KernelPathFromName(options.compute.kernels));
  plan.path = std::string(ComputePathName(options.compute.path));
  plan.kernels = options.compute.path == ComputePath::kReference ? "none" : std::string(KernelPathName(kernels));
  std::optional<BudgetReport> budget;
  if (options.streaming.memory_budget > 0) {
    ASSIGN_OR_RETURN(budget, BudgetReport::Make(*engine, plan.draft_use.has_value() ? plan.draft_use->speeds : std::nullopt));
  }
  if (FLAGS_json) return WriteOutput(PlanJson(plan, budget));
  const std::string use = plan.draft_use.has_value() ? plan.draft_use->Table() : "";
  return WriteOutput(absl::StrCat(PlanText(plan), budget ? "\n" + budget->Table() : "", use.empty() ? "" : "\n", use));
}

// Shows the plan. plan_prompt: makes the plan include a prompt of `bytes` bytes.
absl::Status ShowLoadPlanWith(void (*plan_prompt)(int64_t bytes, EngineOptions& options), const EngineOptions& options,
                              const PromptCounter& count_prompt, DraftModel* draft) {
  TellWhatIsNotWritten();
  std::optional<std::string> prompt;
  if (count_prompt != nullptr) {
    ASSIGN_OR_RETURN(prompt, PromptOfFlags());
  }
  if (prompt.has_value() && options.workload.request_bytes == nullptr) {
    EngineOptions with_prompt = options;
    plan_prompt(static_cast<int64_t>(prompt->size()), with_prompt);
    return ShowPlan(with_prompt, prompt, count_prompt, draft);
  }
  return ShowPlan(options, prompt, count_prompt, draft);
}

}  // namespace

absl::Status ShowLoadPlan(const EngineOptions& options, const PromptCounter& count_prompt, DraftModel* draft) {
  return ShowLoadPlanWith(PlanPrompt, options, count_prompt, draft);
}

absl::Status ShowLoadPlanOfCutText(const EngineOptions& options, const PromptCounter& count_prompt) {
  return ShowLoadPlanWith(PlanCutText, options, count_prompt, /*draft=*/nullptr);
}

}  // namespace tessera

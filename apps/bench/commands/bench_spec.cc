// tessera_bench spec: times speculative decoding and plain decoding, prompt by prompt, on public evaluation sets.
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tessera/apps/bench/commands/bench_commands.h"
#include "tessera/apps/bench/spec/spec_bench_drafters.h"
#include "tessera/apps/bench/spec/spec_bench_prompts.h"
#include "tessera/apps/bench/spec/spec_bench_report.h"
#include "tessera/apps/bench/spec/spec_bench_run.h"
#include "tessera/apps/cli/adapters/adapter_flags.h"
#include "tessera/apps/cli/draft/draft_flags.h"
#include "tessera/apps/cli/flags/chat_flags.h"
#include "tessera/apps/cli/flags/engine_flags.h"
#include "tessera/apps/cli/text/output.h"
#include "tessera/apps/cli/warnings.h"
#include "tessera/apps/phone/phone_run.h"
#include "tessera/apps/plan/dry_run.h"
#include "tessera/apps/show/answer_report.h"
#include "tessera/base/joined_status.h"
#include "tessera/base/json_writer.h"
#include "tessera/base/progress.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/text_file.h"
#include "tessera/base/usage_error.h"
#include "tessera/runtime/chat/request.h"
#include "tessera/runtime/draft/speculation.h"
#include "tessera/runtime/draft/vocabulary_of.h"
#include "tessera/runtime/engine/core.h"
#include "tessera/runtime/plan/machine_probe.h"
#include "tessera/runtime/session/measure_costs.h"
#include "tessera/spec/drafters/history/history_store.h"
#include "tessera/spec/speculation/drafter_registry.h"

namespace tessera {
namespace {

constexpr char kOracle[] = "oracle", kChooser[] = "chooser", kWrong[] = "wrong";

bool SpeculatesBy(const char* name) { return FLAGS_speculate == name; }

// Checks --writings: a drafter that learns would know a sequence that is generated again.
absl::Status CheckWritings() {
  RETURN_IF_ERROR(CheckFlagRange("writings", FLAGS_writings, 1, 1000));
  if (FLAGS_writings == 1 || SpeculatesBy("none") || SpeculatesBy(kOracle) || SpeculatesBy(kWrong)) return absl::OkStatus();
  return WrongUsage("writings", absl::StrCat(FLAGS_writings, " with --speculate=", FLAGS_speculate),
                    "1, or none, oracle or wrong, which learn nothing");
}

// Checks --remember: drafters that learn nothing from earlier answers would ignore the answers.
absl::Status CheckRemember() {
  if (!FLAGS_remember || SpeculatesBy(kChooser) || ReadsHistory(FLAGS_speculate)) return absl::OkStatus();
  DrafterRegistry registry = DrafterRegistry::BuiltIn();
  RETURN_IF_ERROR(registry.Add(NamedDraft()));
  const bool known = SpeculatesBy(kOracle) || SpeculatesBy(kWrong) || registry.Parse(FLAGS_speculate).ok();
  if (!known) return absl::OkStatus();  // The unknown name is the error to report.
  return WrongUsage("remember", absl::StrCat("with --speculate=", FLAGS_speculate), "auto or suffix, which drafts from earlier answers");
}

absl::Status CheckFlags() {
  RETURN_IF_ERROR(CheckRemember());
  RETURN_IF_ERROR(CheckWritings());
  RETURN_IF_ERROR(CheckFlagRange("texts", FLAGS_texts, 1, 1 << 20));
  RETURN_IF_ERROR(CheckFlagRange("generate_tokens", FLAGS_generate_tokens, 2, 1 << 20));
  RETURN_IF_ERROR(CheckFlagRange("most_barrier_nanos", FLAGS_most_barrier_nanos, 0, 1 << 30));
  if (FLAGS_plot.empty()) return absl::OkStatus();
  return ForFile("plot", CheckTextFileWritable(FLAGS_plot));
}

// One prompt, continued with and without drafts.
struct Pair {
  std::string category;
  std::vector<TokenId> prompt;
  TimedText plain = {}, drafted = {};
  double barrier_nanos = 0;  // The longer of two probes, before and after.
};

// Returns the built-in drafters and the drafter of --draft_model.
absl::StatusOr<DrafterRegistry> RegistryWith(const std::shared_ptr<DraftModel>& draft, std::shared_ptr<const HistoryStore> history) {
  DrafterRegistry registry = DrafterRegistry::BuiltIn(std::move(history));
  if (draft != nullptr) RETURN_IF_ERROR(registry.Add(draft->AsDrafter()));
  return registry;
}

// The parts that all speculators of a run share.
class DraftingTools {
 public:
  // Measures costs, unless the file of --cost_profile has them.
  static absl::StatusOr<DraftingTools> FromFlags(Engine& engine, const std::shared_ptr<DraftModel>& draft, const LoraAdapter* adapter) {
    DraftingTools tools(engine, draft);
    if (!FLAGS_cost_profile.empty()) {
      absl::StatusOr<CostProfile> costs = CostProfile::Load(FLAGS_cost_profile);
      if (costs.ok())
        tools.costs_ = *std::move(costs);
      else if (!absl::IsNotFound(costs.status()))
        return ForFile("cost_profile", costs.status());
    }
    ASSIGN_OR_RETURN(const std::unique_ptr<Session> session, engine.NewSession({.adapter = adapter}));
    RETURN_IF_ERROR(MeasureCosts(*session, {}, tools.costs_));
    return tools;
  }

  Speculator::Options SpeculatorOptions() {
    return {.costs = &costs_, .clock = &engine_->ClockOr(nullptr), .drafted = SpendDraftStep(engine_->options())};
  }
  // Writes the costs once everything is measured. Costs that were read from a file stay as they were.
  absl::Status Save() const {
    if (FLAGS_cost_profile.empty() || costs_.frozen()) return absl::OkStatus();
    return costs_.Save(FLAGS_cost_profile);
  }

  // Returns a history; null without --remember. The history is neither read from a file (no file's name has this process's number) nor
  // written.
  absl::StatusOr<std::shared_ptr<HistoryStore>> NewHistory() const {
    if (!FLAGS_remember) return nullptr;
    return HistoryStore::Open("", absl::StrCat("spec_bench-", getpid()), VocabularyOf(engine_->tokenizer()), {});
  }

  // Returns drafters by name, or a drafter for benchmarks only. Sets `oracle` if the drafter knows the sequence.
  absl::StatusOr<std::vector<std::unique_ptr<Drafter>>> NewDrafters(std::shared_ptr<const HistoryStore> history,
                                                                    OracleDrafter*& oracle) const {
    std::vector<std::unique_ptr<Drafter>> drafters;
    if (SpeculatesBy(kWrong)) {
      drafters.push_back(std::make_unique<WrongDrafter>(engine_->config().vocabulary));
      return drafters;
    }
    const bool chooses = SpeculatesBy(kChooser);
    if (!SpeculatesBy(kOracle)) {
      const DraftingSize size = {.context = engine_->context(), .vocabulary = engine_->config().vocabulary, .costs = &costs_};
      ASSIGN_OR_RETURN(const DrafterRegistry registry, RegistryWith(draft_, std::move(history)));
      ASSIGN_OR_RETURN(drafters, registry.Make(chooses ? "auto" : FLAGS_speculate, size));
      if (!chooses) return drafters;
    }
    auto knowing = std::make_unique<OracleDrafter>(chooses ? std::make_unique<CompositeDrafter>(std::move(drafters)) : nullptr);
    oracle = knowing.get();
    drafters.clear();
    drafters.push_back(std::move(knowing));
    return drafters;
  }

 private:
  DraftingTools(const Engine& engine, const std::shared_ptr<DraftModel>& draft) : engine_(&engine), draft_(draft) {}

  const Engine* engine_;
  std::shared_ptr<DraftModel> draft_;   // Null: none.
  CostProfile costs_;
};

// Generates all sequences of a category. All share one speculator, so knowledge from one sequence helps the next.
class CategoryBench {
 public:
  static absl::StatusOr<CategoryBench> Create(const std::string& name, DraftingTools& tools) {
    CategoryBench bench(name);
    ASSIGN_OR_RETURN(bench.history_, tools.NewHistory());
    ASSIGN_OR_RETURN(std::vector<std::unique_ptr<Drafter>> drafters, tools.NewDrafters(bench.history_, bench.oracle_));
    bench.speculator_ = std::make_unique<Speculator>(std::move(drafters), tools.SpeculatorOptions());
    return bench;
  }

  absl::StatusOr<Pair> Add(PairRunner& runner, const MachineProbe& probe, std::vector<TokenId> prompt) {
    Pair pair = {.category = result_.name, .prompt = std::move(prompt), .barrier_nanos = probe.BarrierNanos()};
    RETURN_IF_ERROR(Write(runner, pair));
    pair.barrier_nanos = std::max(pair.barrier_nanos, probe.BarrierNanos());
    if (history_ != nullptr) history_->Add(pair.prompt, pair.drafted.tokens);
    if (FLAGS_most_barrier_nanos > 0 && pair.barrier_nanos > FLAGS_most_barrier_nanos) {
      ++result_.left_out;
    } else {
      RETURN_IF_ERROR(result_.AddPair(pair.prompt, pair.plain, pair.drafted, pair.barrier_nanos));
    }
    return pair;
  }

  absl::StatusOr<CategoryResult> Finish(PairRunner& runner) {
    result_.speculation = speculator_->report();
    ASSIGN_OR_RETURN(result_.row_times, runner.TimeRows());
    return result_;
  }

 private:
  explicit CategoryBench(const std::string& name) : result_(name) {}

  // Generates a sequence with and without drafts. The first mode alternates from run to run and from prompt to prompt, but an oracle needs
  // the plain sequence first.
  absl::Status Write(PairRunner& runner, Pair& pair) {
    std::vector<TimedText> plain_texts, drafted_texts;
    for (int i = 0; i < FLAGS_writings; ++i) {
      const bool plain_first = oracle_ != nullptr || (result_.texts + result_.left_out + i) % 2 == 0;
      for (const bool plain : {plain_first, !plain_first}) {
        if (!plain && oracle_ != nullptr) oracle_->Know(plain_texts[0].tokens);
        ASSIGN_OR_RETURN(TimedText text, runner.Write(pair.prompt, plain ? nullptr : speculator_.get()));
        (plain ? plain_texts : drafted_texts).push_back(std::move(text));
      }
    }
    const std::vector<TokenId> tokens = plain_texts[0].tokens;
    pair.plain = MedianText(std::move(plain_texts), tokens);
    pair.drafted = MedianText(std::move(drafted_texts), tokens);
    return absl::OkStatus();
  }

  CategoryResult result_;
  std::shared_ptr<HistoryStore> history_;  // Null: none.
  OracleDrafter* oracle_ = nullptr;        // The speculator's oracle, if there is one.
  std::unique_ptr<Speculator> speculator_;
};

struct Findings {
  std::vector<CategoryResult> categories;
  std::vector<Pair> pairs;
  PruneReport pruned = {};
};

absl::StatusOr<Findings> Measure(Engine& engine, const std::shared_ptr<DraftModel>& draft, const LoraAdapter* adapter,
                                 const std::vector<PromptCategory>& categories) {
  ASSIGN_OR_RETURN(Conversation conversation, ConversationOfFlags(engine.model().gguf()));
  ASSIGN_OR_RETURN(PairRunner runner, PairRunner::Create(engine, FLAGS_generate_tokens, adapter));
  if (draft != nullptr) runner.Prune(draft->pruning());
  const auto tokens_of = [&](const std::string& prompt) {
    conversation.Reset();
    conversation.AddUser(prompt);
    return conversation.Tokens(engine.tokenizer());
  };
  int64_t texts = 0;
  for (const PromptCategory& category : categories) texts += category.prompts.size();
  ASSIGN_OR_RETURN(const std::vector<TokenId> first, tokens_of(categories.front().prompts.front()));
  RETURN_IF_ERROR(runner.Write(first, nullptr).status());  // Warms caches; not counted.
  ASSIGN_OR_RETURN(DraftingTools tools, DraftingTools::FromFlags(engine, draft, adapter));
  ASSIGN_OR_RETURN(const KernelPath kernels, KernelPathFromName(engine.options().compute.kernels));
  ASSIGN_OR_RETURN(const MachineProbe probe, MachineProbe::Create(CoreOf(engine).pool(), kernels, PeakLoops::kReadStep));
  Findings findings;
  Progress progress("texts", texts);
  for (const PromptCategory& category : categories) {
    ASSIGN_OR_RETURN(CategoryBench bench, CategoryBench::Create(category.name, tools));
    for (const std::string& prompt : category.prompts) {
      ASSIGN_OR_RETURN(const std::vector<TokenId> tokens, tokens_of(prompt));
      ASSIGN_OR_RETURN(findings.pairs.emplace_back(), bench.Add(runner, probe, tokens));
      progress.Update(findings.pairs.size());
    }
    ASSIGN_OR_RETURN(CategoryResult result, bench.Finish(runner));
    findings.categories.push_back(std::move(result));
  }
  RETURN_IF_ERROR(tools.Save());
  findings.pruned = runner.pruned();
  return findings;
}

// " with a draft of self:q3, tree eagle2".
std::string DraftText() {
  if (FLAGS_draft_model.empty()) return "";
  return absl::StrCat(" with a draft of ", FLAGS_draft_model, ", tree ", TreeOfFlag());
}

// " with the adapter pirate".
std::string AdapterText(const Adapters& adapters) {
  if (adapters.chosen() == Adapters::kNone) return "";
  return absl::StrCat(" with the adapter ", adapters.chosen_name());
}

std::string Heading(const Engine& engine, const Adapters& adapters) {
  const std::string& model = engine.options().model_path;
  return absl::StrFormat("%s%s, %d threads, --speculate=%s%s, at most %d tokens per text", model.substr(model.rfind('/') + 1),
                         AdapterText(adapters), engine.threads(), FLAGS_speculate, DraftText(), FLAGS_generate_tokens) +
         (FLAGS_device.empty() ? "" : absl::StrCat(", times of ", FLAGS_device));
}

std::string FindingsJson(const Engine& engine, const Adapters& adapters, const Findings& findings) {
  JsonWriter json;
  json.BeginObject().Key("model").String(engine.options().model_path).Key("threads").Int(engine.threads());
  if (!FLAGS_device.empty()) json.Key("device").String(FLAGS_device);
  if (adapters.chosen() != Adapters::kNone) {
    json.Key("adapter").String(adapters.chosen_name()).Key("lora_mode").String(FLAGS_lora_mode);
  }
  json.Key("speculate").String(FLAGS_speculate).Key("generate_tokens").Int(FLAGS_generate_tokens);
  if (!FLAGS_draft_model.empty()) json.Key("draft_model").String(FLAGS_draft_model).Key("tree").String(TreeOfFlag());
  WriteSpecBench(json, findings.categories);
  json.Key("texts").BeginArray();
  for (const Pair& pair : findings.pairs) {
    json.BeginObject().Key("category").String(pair.category);
    WriteTokens(json.Key("prompt_tokens"), pair.prompt);
    WriteTokens(json.Key("output_tokens"), pair.plain.tokens);
    WriteTokens(json.Key("drafted_tokens"), pair.drafted.tokens);
    json.Key("plain_seconds").Double(pair.plain.decode_seconds, 6).Key("drafted_seconds").Double(pair.drafted.decode_seconds, 6);
    json.Key("passes").Int(pair.drafted.passes).Key("rows").Int(pair.drafted.rows);
    json.Key("barrier_nanos").Double(pair.barrier_nanos, 6).EndObject();
  }
  json.EndArray().EndObject();
  return std::move(json).Take() + "\n";
}

// Returns an error that names the first sequence that drafts changed, and the place.
absl::Status CheckSame(const std::vector<Pair>& pairs) {
  for (size_t i = 0; i < pairs.size(); ++i) {
    const std::vector<TokenId>&plain = pairs[i].plain.tokens, &drafted = pairs[i].drafted.tokens;
    if (plain == drafted) continue;
    const size_t place = std::mismatch(plain.begin(), plain.end(), drafted.begin(), drafted.end()).first - plain.begin();
    const auto token_at = [&](const std::vector<TokenId>& text) {
      return place < text.size() ? absl::StrCat("token ", text[place]) : "the end";
    };
    return absl::InternalError(absl::StrCat("text ", i + 1, " (", pairs[i].category, "): found ", token_at(drafted), " at ",
                                            place, " with drafts, expected ", token_at(plain), " as without"));
  }
  return absl::OkStatus();
}

// Plans memory. The program's own drafters count like registered drafters with as many rows.
absl::Status PlanMemory(const std::shared_ptr<DraftModel>& draft, EngineOptions& options) {
  if (SpeculatesBy(kOracle) || SpeculatesBy(kWrong)) {
    PlanDrafting("lookup", 0, options);
  } else if (SpeculatesBy(kChooser)) {
    ASSIGN_OR_RETURN(const DrafterRegistry registry, RegistryWith(draft, nullptr));
    PlanDrafting("auto", 0, options, registry);
  } else {
    RETURN_IF_ERROR(PlanSpeculation(SpeculationOfFlags(draft), options));
  }
  if (draft != nullptr) draft->CountIn(options);
  if (!FLAGS_remember) return absl::OkStatus();
  const auto drafting = options.workload.drafting_bytes;
  options.workload.drafting_bytes = [drafting](int context, int vocabulary) {
    return HistoryStore::Options().max_bytes + (drafting == nullptr ? 0 : drafting(context, vocabulary));
  };
  return absl::OkStatus();
}

absl::Status Run() {
  RETURN_IF_ERROR(CheckFlags());
  Trace trace;
  ASSIGN_OR_RETURN(EngineOptions options, EngineOptionsOfFlags(trace.timeline()));
  ASSIGN_OR_RETURN(const std::unique_ptr<PhoneRun> phone, PhoneRun::OfFlags(options, &trace));
  ASSIGN_OR_RETURN(const std::shared_ptr<DraftModel> draft, DraftModelOfFlags(SpeculatesBy(kChooser) ? "auto" : FLAGS_speculate));
  RETURN_IF_ERROR(PlanMemory(draft, options));
  ASSIGN_OR_RETURN(Adapters adapters, AdaptersOfFlags(options));
  if (phone != nullptr) RETURN_IF_ERROR(phone->TakeAdapters(adapters));
  if (FLAGS_dry_run) return ShowLoadPlan(options, nullptr, draft.get());
  ASSIGN_OR_RETURN(const std::unique_ptr<Engine> engine, Engine::Open(options));
  absl::StatusOr<std::vector<PromptCategory>> all = ReadPromptSets(FLAGS_data, FLAGS_texts);
  RETURN_IF_ERROR(ForFile("data", all.status()));
  ASSIGN_OR_RETURN(const std::vector<PromptCategory> categories, ChooseCategories(*std::move(all), FLAGS_categories));
  if (draft != nullptr) RETURN_IF_ERROR(draft->Open(*engine));
  RETURN_IF_ERROR(ExplainedBy(draft.get(), engine->LoadWeights()));
  RETURN_IF_ERROR(engine->AwaitWeights());
  WarnOfShortages(*engine);
  if (draft != nullptr) RETURN_IF_ERROR(draft->LoadPredictor());
  ASSIGN_OR_RETURN(const AdapterLease adapter, adapters.Lease(adapters.chosen()));
  const absl::StatusOr<Findings> findings = Measure(*engine, draft, adapter.get(), categories);
  absl::Status saved = trace.Finish(findings.status());
  if (!findings.ok()) return saved;
  if (phone != nullptr) WriteMessage(phone->Summary(*engine));
  if (draft != nullptr) WriteMessage(absl::StrCat(PruningLine(findings->pruned), draft->StatsLine()));
  const std::string heading = Heading(*engine, adapters);
  if (!FLAGS_plot.empty()) saved = Joined(saved, WriteTextFile(FLAGS_plot, SpecBenchSvg(findings->categories, heading)));
  const std::string shown =
      FLAGS_json ? FindingsJson(*engine, adapters, *findings) : absl::StrCat(heading, "\n\n", SpecBenchText(findings->categories));
  RETURN_IF_ERROR(EndOf(WriteOutput(shown), saved));
  return CheckSame(findings->pairs);
}

}  // namespace

Command BenchSpec() {
  return {{.subcommand = "spec",
          .summary = "Times texts with and without drafts, by category of prompt. Both ways take turns. Shown are how much faster drafts "
                      "make each category, tokens and rows per pass, and which drafts were right. Fails if drafts change a text. "
                      "--speculate takes three more names: oracle, which knows the text; chooser, which picks the right tokens among those "
                      "that the drafters propose; and wrong, whose tokens hardly ever come.",
          .examples = {"tessera_bench spec --threads 2",
                       "tessera_bench spec --data evaluation_sets --categories code,ui --plot gains.svg",
                       "tessera_bench spec --speculate wrong --writings 5",
                       "tessera_bench spec --draft_model self:q3 --speculate draft --tree eagle2",
                       "tessera_bench spec --model model.tsr --memory_budget 100MiB --pin none"},
          .groups = {{"Measurement", {"data", "categories", "texts", "generate_tokens", "writings", "most_barrier_nanos"},
                      {"data", "categories", "texts", "generate_tokens"}},
                     {"Speculation", {"speculate", "draft_model", "tree", "prune", "prune_threshold", "cost_profile", "remember"},
                      {"speculate", "draft_model", "tree"}},
                     {"Adapters", {"adapter", "use_adapter", "lora_mode"}, AdapterFlags().common},
                     ModelAndPhoneFlags(),
                     StreamingFlags(),
                     {"Output", {"plot", "json"}}}},
          Run};
}

}  // namespace tessera

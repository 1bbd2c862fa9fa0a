#include "tessera/apps/lab/papers/record/record_texts.h"

#include <algorithm>
#include <iterator>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "absl/types/span.h"
#include "tessera/apps/bench/spec/published_baselines.h"
#include "tessera/apps/lab/papers/sdnpu/rejection_cases.h"
#include "tessera/base/quoted.h"
#include "tessera/base/sha256.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"
#include "tessera/runtime/draft/speculation.h"
#include "tessera/runtime/scheduler/decode_loop.h"
#include "tessera/spec/drafters/calibrated_tree.h"
#include "tessera/spec/drafters/draft_reuse.h"
#include "tessera/spec/trees/top_tokens.h"

namespace tessera {
namespace {

constexpr char kLookup[] = "lookup", kSam[] = "sam", kOurs[] = "+ours";

struct TaskSet {
  const char *task, *category;
};
constexpr TaskSet kTasks[] = {{"summary", "summarization"}, {"rag", "rag"}, {"ui", "ui_steps"}, {"reply", "chat"}};

// SAM decoding with the answers before this text as its corpus.
class SamDrafter : public Drafter {
 public:
  explicit SamDrafter(const std::vector<std::vector<TokenId>>& earlier) : earlier_(earlier) { NewSam(); }

  absl::string_view name() const override { return kSam; }
  void Begin(absl::Span<const TokenId> text) override {
    NewSam();
    sam_->Begin(text);
  }
  absl::Status Propose(const DraftBudget& budget, TokenTree& tree) override { return sam_->Propose(budget, tree); }
  void Commit(const TokenTree& tree, const Verdict& verdict) override { sam_->Commit(tree, verdict); }
  int64_t bytes() const override { return sam_->bytes(); }

 private:
  void NewSam() {
    const PublishedSuffixAutomaton::Options options = {.threshold = 0, .length_by_match = true};
    sam_ = std::make_unique<PublishedSuffixAutomaton>(options, earlier_);
  }

  const std::vector<std::vector<TokenId>>& earlier_;
  std::unique_ptr<PublishedSuffixAutomaton> sam_;
};

struct NotedPass {
  RecordedPass counts = {};
  std::vector<TokenId> draft = {};   // The main path of the draft.
};

// Drafts nothing, and records each pass.
class PassNotes : public Drafter {
 public:
  explicit PassNotes(std::vector<NotedPass>& passes) : passes_(passes) {}

  absl::string_view name() const override { return "notes"; }
  void Begin(absl::Span<const TokenId> /*text*/) override {}
  absl::Status Propose(const DraftBudget& /*budget*/, TokenTree& /*tree*/) override { return absl::OkStatus(); }
  void Commit(const TokenTree& tree, const Verdict& verdict) override {
    const RecordedPass counts = {.drafted = tree.size() - 1, .accepted = static_cast<int>(verdict.path.size()) - 1};
    passes_.push_back({counts, MainPath(tree)});
  }
  int64_t bytes() const override { return 0; }

 private:
  std::vector<NotedPass>& passes_;
};

void CountCase(RejectionCase found, RecordedText& text) {
  text.missing += found == RejectionCase::kMissing ? 1 : 0;
  text.synonym += found == RejectionCase::kSynonym ? 1 : 0;
  text.redundant += found == RejectionCase::kRedundant ? 1 : 0;
}

// Adds the recorded passes, and classifies rejected drafts by the complete text.
void AddPasses(const std::vector<NotedPass>& passes, WrittenAnswer& answer) {
  const absl::Span<const TokenId> tokens = answer.tokens;
  size_t next = 1;   // The first token is from the prompt's own pass.
  for (const NotedPass& pass : passes) {
    answer.text.passes.push_back(pass.counts);
    CountCase(CaseOf(pass.draft, tokens.subspan(std::min(next, tokens.size()))), answer.text);
    next += static_cast<size_t>(pass.counts.accepted) + 1;
  }
}

// Appends a prompt. Unlike AppendPrompt, which bounds its time, this lets the speculator learn from every token, as sd.npu does.
absl::Status AppendWhole(Session& session, Speculator& speculator, const std::vector<TokenId>& prompt) {
  session.Truncate(0);
  const int wanted = speculator.needs().top_of_prompt;
  if (wanted == 0) return session.Append(prompt);
  std::vector<TopTokens> top(prompt.size());
  RETURN_IF_ERROR(session.AppendEach(prompt, [&](int index, absl::Span<const float> logits) {
    top[static_cast<size_t>(index)] = TopTokensOf(logits, wanted);
    return absl::OkStatus();
  }));
  speculator.LearnPrompt(0, std::move(top));
  return absl::OkStatus();
}

}  // namespace

std::vector<std::string> RecordedDrafters() {
  return {kLookup, kSam, absl::StrCat(kLookup, kOurs), absl::StrCat(kSam, kOurs)};
}

absl::StatusOr<std::vector<std::unique_ptr<Drafter>>> DraftersToRecord(const std::string& name,
                                                                       const std::vector<std::vector<TokenId>>& earlier) {
  const std::vector<std::string> names = RecordedDrafters();
  if (std::find(names.begin(), names.end(), name) == names.end()) {
    return WrongUsage("speculate", Quoted(name), absl::StrCat("one of ", absl::StrJoin(names, ", ")));
  }
  absl::string_view base = name;
  const bool ours = absl::ConsumeSuffix(&base, kOurs);
  std::vector<std::unique_ptr<Drafter>> drafters;
  if (base == kSam) {
    drafters.push_back(std::make_unique<SamDrafter>(earlier));
  } else {
    drafters.push_back(std::make_unique<PublishedPromptLookup>(PublishedPromptLookup::Options()));
  }
  if (!ours) return drafters;
  drafters.push_back(std::make_unique<CalibratedTree>());
  drafters.push_back(std::make_unique<DraftReuse>(DraftReuse::Options()));
  return drafters;
}

absl::StatusOr<std::vector<PromptCategory>> ReadTasks(const std::string& folder, const std::string& list) {
  ASSIGN_OR_RETURN(std::vector<PromptCategory> categories, ReadPromptSets(folder, std::numeric_limits<int>::max()));
  std::vector<PromptCategory> tasks;
  for (const TaskSet& set : kTasks) {
    const auto found = std::find_if(categories.begin(), categories.end(),
                                    [&](const PromptCategory& category) { return category.name == set.category; });
    if (found == categories.end()) continue;
    tasks.push_back(std::move(*found));
    tasks.back().name = set.task;
  }
  return ChooseCategories(std::move(tasks), list);
}

void PlanRecording(EngineOptions& options) {
  PlanDrafting("auto", /*history_bytes=*/0, options);
  options.workload.logits_of_each = true;
}

absl::StatusOr<TextRecorder> TextRecorder::Create(Engine& engine, const std::string& drafter, const RecordLimits& limits) {
  RETURN_IF_ERROR(DraftersToRecord(drafter, {}).status());
  ASSIGN_OR_RETURN(const Sampler sampler, Sampler::Create({.temperature = 0}));
  // No date: a template that writes one would write another text tomorrow.
  ASSIGN_OR_RETURN(Conversation conversation, Conversation::Create(engine.model().gguf(), {}));
  ASSIGN_OR_RETURN(std::unique_ptr<Session> session, engine.NewSession());
  return TextRecorder(engine, drafter, limits, sampler, std::move(conversation), std::move(session));
}

int TextRecorder::MostPromptTokens() const {
  return std::min(limits_.most_prompt_tokens, engine_->context() - limits_.most_tokens);
}

absl::StatusOr<WrittenAnswer> TextRecorder::Ask(const std::string& prompt) {
  conversation_.Reset();
  conversation_.AddUser(prompt);
  WrittenAnswer answer;
  ASSIGN_OR_RETURN(answer.prompt, conversation_.Tokens(engine_->tokenizer()));
  ASSIGN_OR_RETURN(const std::string text, conversation_.Text(engine_->tokenizer()));
  answer.text.prompt_sha256 = Sha256Of(text).Hex();
  answer.text.prompt_tokens = static_cast<int>(answer.prompt.size());
  return answer;
}

absl::Status TextRecorder::Answer(Speculator& speculator, WrittenAnswer& answer) {
  RETURN_IF_ERROR(AppendWhole(*session_, speculator, answer.prompt));
  ASSIGN_OR_RETURN(Generation result, Generate(*session_, sampler_, {.max_tokens = limits_.most_tokens, .speculator = &speculator}));
  if (result.reason == FinishReason::kCancelled) return absl::CancelledError("stopped");
  answer.tokens = std::move(result.tokens);
  answer.text.tokens = static_cast<int>(answer.tokens.size());
  return absl::OkStatus();
}

absl::StatusOr<std::vector<WrittenAnswer>> TextRecorder::Record(const PromptCategory& task, absl::FunctionRef<void()> written) {
  std::vector<std::vector<TokenId>> earlier;
  std::vector<NotedPass> passes;
  ASSIGN_OR_RETURN(std::vector<std::unique_ptr<Drafter>> drafters, DraftersToRecord(drafter_, earlier));
  drafters.push_back(std::make_unique<PassNotes>(passes));
  Speculator speculator(std::move(drafters), {.max_rows = RecordLimits::kRows, .weigh_costs = false});
  std::vector<WrittenAnswer> answers;
  for (size_t i = 0; i < task.prompts.size() && static_cast<int>(answers.size()) < limits_.texts; ++i) {
    ASSIGN_OR_RETURN(WrittenAnswer answer, Ask(task.prompts[i]));
    if (answer.text.prompt_tokens > MostPromptTokens()) continue;
    passes.clear();
    RETURN_IF_ERROR(Answer(speculator, answer));
    answer.text.task = task.name;
    answer.text.id = task.ids[i];
    AddPasses(passes, answer);
    earlier.push_back(answer.tokens);
    answers.push_back(std::move(answer));
    written();
  }
  if (!answers.empty()) return answers;
  return absl::FailedPreconditionError(
      absl::StrCat(task.name, ": found no prompt of at most ", MostPromptTokens(), " tokens among ", task.prompts.size()));
}

}  // namespace tessera

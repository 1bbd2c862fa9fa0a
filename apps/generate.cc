// Continues a prompt, answers it, or holds a dialogue.
#include <algorithm>

#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "tessera/apps/answers/beam_answers.h"
#include "tessera/apps/answers/best_of.h"
#include "tessera/apps/answers/dialogue.h"
#include "tessera/apps/answers/requests/answer_file.h"
#include "tessera/apps/answers/requests/answer_requests.h"
#include "tessera/apps/answers/requests/answers_to_prompt.h"
#include "tessera/apps/answers/streamed_answer.h"
#include "tessera/apps/answers/written_result.h"
#include "tessera/apps/cli/adapters/adapter_flags.h"
#include "tessera/apps/cli/app_main.h"
#include "tessera/apps/cli/draft/draft_flags.h"
#include "tessera/apps/cli/flags/beam_flags.h"
#include "tessera/apps/cli/flags/chat_flags.h"
#include "tessera/apps/cli/flags/engine_flags.h"
#include "tessera/apps/cli/flags/parallel_flags.h"
#include "tessera/apps/cli/flags/sampling_flags.h"
#include "tessera/apps/cli/flags/seed_flag.h"
#include "tessera/apps/cli/flags/session_flag.h"
#include "tessera/apps/cli/interrupt.h"
#include "tessera/apps/cli/screen/answer_progress.h"
#include "tessera/apps/cli/text/input.h"
#include "tessera/apps/cli/text/output.h"
#include "tessera/apps/phone/phone_run.h"
#include "tessera/apps/plan/budget_report.h"
#include "tessera/apps/plan/dry_run.h"
#include "tessera/apps/show/answer_report.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"
#include "tessera/runtime/chat/prompt_size.h"

namespace tessera {
namespace {

// Other programs may read a history; this one writes it. Its texts may be sampled, and need not have the bits of plain decoding.
FlagGroup KeptSpeculation() {
  FlagGroup group = SpeculationFlags();
  group.flags.insert(std::find(group.flags.begin(), group.flags.end(), "history"), {"prune", "prune_threshold", "accept"});
  group.flags.insert(std::find(group.flags.begin(), group.flags.end(), "cost_profile"), "history_prompts");
  return group;
}

AppInfo Info() {
  FlagGroup sampling = SamplingFlags();
  sampling.flags.push_back("stop");
  return {.name = "tessera_generate",
          .summary = "Writes text with a language model, all else to standard error. Ctrl-C ends it.",
          .examples = {"tessera_generate --prompt \"Why is the sky blue?\"",
                       "git diff | tessera_generate --system \"Write a commit message.\" --temperature 0",
                       "tessera_generate --jsonl --parallel=8 < requests   # {\"id\": \"a\", \"text\": \"Hello\", \"n\": 20}"},
          .groups = {{"Text", {"prompt", "prompt_file", "system", "chat", "raw", "chat_template", "template_args", "n_predict",
                               "session", "answers", "distinct_first_tokens", "best_of", "beam", "step_delimiter", "most_steps", "scorer",
                               "select", "jsonl", "into", "parallel", "unordered", "cache_tokens", "json", "stats", "adapter",
                               "use_adapter", "lora_mode", "adapter_memory", "adapter_folder"},
                      {"prompt", "prompt_file", "system", "chat", "raw", "n_predict", "session", "answers", "jsonl", "into", "parallel",
                       "json", "stats"}},
                     sampling,
                     KeptSpeculation(), ModelAndPhoneFlags(), StreamingFlags()}};
}

absl::Status CheckFlags() {
  RETURN_IF_ERROR(CheckFlagRange("n_predict", FLAGS_n_predict, 0, 1 << 30));
  RETURN_IF_ERROR(CheckNotBoth("json", FLAGS_json && !FLAGS_dry_run, "jsonl", FLAGS_jsonl));   // A plan may be JSON.
  RETURN_IF_ERROR(CheckNotBoth("json", FLAGS_json, "chat", FLAGS_chat));
  RETURN_IF_ERROR(CheckNotBoth("jsonl", FLAGS_jsonl, "chat", FLAGS_chat));
  RETURN_IF_ERROR(CheckNotBoth("jsonl", FLAGS_jsonl, "prompt", PromptGiven()));
  RETURN_IF_ERROR(CheckNotBoth("jsonl", FLAGS_jsonl, "stats", FLAGS_stats));
  RETURN_IF_ERROR(CheckNotBoth("jsonl", FLAGS_jsonl, "system", IsGiven("system")));
  RETURN_IF_ERROR(CheckNotBoth("jsonl", FLAGS_jsonl, "raw", FLAGS_raw));
  RETURN_IF_ERROR(CheckNotBoth("jsonl", FLAGS_jsonl, "session", !FLAGS_session.empty()));
  RETURN_IF_ERROR(CheckNotBoth("answers", FLAGS_answers > 1, "session", !FLAGS_session.empty()));
  if (!FLAGS_into.empty() && !FLAGS_jsonl) return WrongUsage("into", "without --jsonl", "both: answers to requests are added to the file");
  RETURN_IF_ERROR(CheckSessionFlag());
  RETURN_IF_ERROR(CheckConversationFlags());
  if (FLAGS_chat && isatty(STDIN_FILENO) == 1 && !FLAGS_dry_run) DrawSeedUnlessGiven();   // Piped dialogues are repeated.
  RETURN_IF_ERROR(CheckSamplingFlags());
  RETURN_IF_ERROR(CheckParallelFlags());
  RETURN_IF_ERROR(CheckBestOfFlags());
  RETURN_IF_ERROR(CheckBeamFlags());
  return StopStringsOfFlag().status();
}

absl::Status WriteJsonResult(const Generation& result, const OpenedEngine& opened, const Timings& timings) {
  JsonWriter json;
  WriteText(result, json.BeginObject());
  return EndJsonResult(std::move(json), opened, timings);
}

absl::Status WriteJsonResults(const std::vector<TimedAnswer>& answers, const OpenedEngine& opened, const Timings& timings) {
  JsonWriter json;
  json.BeginObject().Key("answers").BeginArray();
  for (const TimedAnswer& answer : answers) {
    json.BeginObject();
    if (answer.first.has_value()) WriteFirstToken(json.Key("first_token"), *answer.first);
    WriteText(answer.text, json);
    json.EndObject();
  }
  json.EndArray();
  return EndJsonResult(std::move(json), opened, timings);
}

absl::Status WriteAnswer(const OpenedEngine& opened, const Conversation& conversation, const std::vector<TokenId>& tokens,
                         Answerer& answerer, KeptSession& kept) {
  Engine& engine = *opened.engine;
  StreamedAnswer written(StreamedAnswer::Form::kPlain);
  AnswerOptions options = {.max_tokens = FLAGS_n_predict, .starts_text = !conversation.raw()};
  if (!FLAGS_json) options.on_text = written.on_text();
  CatchSignals(CtrlC::kEndsProgram);
  AnswerProgress progress(engine, answerer, opened.flash_bytes_per_second);
  ASSIGN_OR_RETURN(const Generation result, answerer.Run(tokens, progress.Of(std::move(options))));
  kept.Wrote(tokens, result);
  RETURN_IF_ERROR(written.Finish());
  RETURN_IF_ERROR(FLAGS_json ? WriteJsonResult(result, opened, answerer.timings()) : WriteOutput("\n"));
  TellIfContextIsFull(engine, result);
  if (PromptGiven()) TellUnreadInput();
  TellSummary(opened, answerer.timings());
  return TerminationRequested() ? absl::CancelledError("terminated") : absl::OkStatus();
}

absl::StatusOr<std::vector<TokenId>> TokensOfPrompt(const Engine& engine, Conversation& conversation, const std::string& prompt) {
  conversation.AddUser(prompt);
  ASSIGN_OR_RETURN(std::vector<TokenId> tokens, conversation.Tokens(engine.tokenizer()));
  // Behind what a session holds a prompt may be empty; the answerer counts both.
  if (FLAGS_session.empty()) RETURN_IF_ERROR(CheckTokensFit(tokens.size(), engine.context()));
  return tokens;
}

absl::Status AnswerOnce(const OpenedEngine& opened, Conversation& conversation, const std::string& prompt, const LoraAdapter* adapter) {
  Engine& engine = *opened.engine;
  ASSIGN_OR_RETURN(const std::vector<TokenId> tokens, TokensOfPrompt(engine, conversation, prompt));
  RETURN_IF_ERROR(engine.LoadWeights());
  ASSIGN_OR_RETURN(Answerer answerer, AnswererOfFlags(engine, opened.flash_bytes_per_second, opened.draft));
  RETURN_IF_ERROR(answerer.UseAdapter(adapter));
  ASSIGN_OR_RETURN(KeptSession kept, KeptSession::Open(engine, conversation, answerer));
  ASSIGN_OR_RETURN(const std::vector<TokenId> continued, kept.Prompt(prompt, tokens));
  const absl::Status written = kept.Save(WriteAnswer(opened, conversation, continued, answerer, kept));
  return EndOf(written, FinishAnswers(engine, answerer.speculation()));
}

// On standard output they come one after another, or as a table of how they begin.
absl::Status WriteAnswers(const OpenedEngine& opened, const NewAnswer& asked, ParallelAnswers& answers) {
  AnswersToPrompt written(asked, FLAGS_answers, FLAGS_distinct_first_tokens, answers);
  ASSIGN_OR_RETURN(const std::vector<TimedAnswer> results, written.Run(/*shows=*/!FLAGS_json));
  if (FLAGS_json) RETURN_IF_ERROR(WriteJsonResults(results, opened, answers.timings()));
  else if (FLAGS_distinct_first_tokens) RETURN_IF_ERROR(WriteOutput(BeginningsTable(results)));
  const auto is_full = [](const TimedAnswer& answer) { return answer.text.reason == FinishReason::kContextFull; };
  const auto full = std::find_if(results.begin(), results.end(), is_full);
  if (full != results.end()) TellIfContextIsFull(*opened.engine, full->text);
  if (PromptGiven()) TellUnreadInput();
  TellSummary(opened, answers.timings());
  TellOfWaits(answers);
  return TerminationRequested() ? absl::CancelledError("terminated") : absl::OkStatus();
}

// As answers, or as samples of which one is chosen.
absl::Status AnswerSeveralTimes(const OpenedEngine& opened, Conversation& conversation, const std::string& prompt,
                                const LoraAdapter* adapter) {
  Engine& engine = *opened.engine;
  NewAnswer asked = {.max_tokens = FLAGS_n_predict, .starts_text = !conversation.raw(), .adapter = adapter};
  ASSIGN_OR_RETURN(asked.prompt, TokensOfPrompt(engine, conversation, prompt));
  ASSIGN_OR_RETURN(asked.sampling, SamplingFor(engine.model().gguf()));
  ASSIGN_OR_RETURN(asked.stop, StopStringsOfFlag());
  RETURN_IF_ERROR(CheckAnswersOfFlagsDiffer(asked.sampling));
  RETURN_IF_ERROR(engine.LoadWeights());
  CatchSignals(CtrlC::kEndsProgram);
  ASSIGN_OR_RETURN(const std::unique_ptr<ParallelAnswers> answers,
                   ParallelAnswersOfFlags(engine, opened.flash_bytes_per_second, opened.draft));
  const absl::Status written = FLAGS_best_of > 1 ? WriteBestOf(opened, asked, prompt, *answers) : WriteAnswers(opened, asked, *answers);
  return EndOf(written, FinishAnswers(engine, answers->speculation()));
}

absl::StatusOr<int64_t> CountPrompt(const Engine& engine, const std::string& prompt) {
  RETURN_IF_ERROR(RequestLimits::Of(engine).CheckText(static_cast<int64_t>(prompt.size())));
  ASSIGN_OR_RETURN(Conversation conversation, ConversationOfFlags(engine.model().gguf(), RequestLimits::Of(engine).chat()));
  ASSIGN_OR_RETURN(const std::vector<TokenId> tokens, TokensOfPrompt(engine, conversation, prompt));
  ASSIGN_OR_RETURN(const SamplingOptions sampling, SamplingFor(engine.model().gguf()));
  RETURN_IF_ERROR(CheckAnswersOfFlagsDiffer(sampling));
  return static_cast<int64_t>(tokens.size());
}

absl::Status RunWith(const OpenedEngine& opened, const std::string& prompt, LineReader& lines, const Adapters& adapters,
                     AnswerFile* into) {
  Engine& engine = *opened.engine;
  if (FLAGS_jsonl && !FLAGS_beam.empty()) return AnswerRequestsByBeams(opened, lines, adapters, into);
  if (FLAGS_jsonl) {
    const auto chooser = [](Engine& of) { return SampleSetOptionsOfFlags(of); };
    return AnswerRequests(engine, opened.flash_bytes_per_second, lines, adapters, opened.draft, chooser, into);
  }
  RETURN_IF_ERROR(RequestLimits::Of(engine).CheckText(static_cast<int64_t>(prompt.size())));
  ASSIGN_OR_RETURN(Conversation conversation, ConversationOfFlags(engine.model().gguf(), RequestLimits::Of(engine).chat()));
  ASSIGN_OR_RETURN(const AdapterLease adapter, adapters.Lease(adapters.chosen()));
  if (FLAGS_chat) return HoldDialogue(opened, conversation, prompt, lines, adapter.get());
  if (!FLAGS_beam.empty()) return AnswerByBeams(opened, conversation, prompt, adapter.get());
  if (TextsOfFlags() > 1) return AnswerSeveralTimes(opened, conversation, prompt, adapter.get());
  return AnswerOnce(opened, conversation, prompt, adapter.get());
}

absl::Status Run() {
  RETURN_IF_ERROR(CheckFlags());
  Trace trace;
  ASSIGN_OR_RETURN(EngineOptions options, EngineOptionsOfFlags(trace.timeline()));
  ASSIGN_OR_RETURN(const std::unique_ptr<PhoneRun> phone, PhoneRun::OfFlags(options, &trace));
  ASSIGN_OR_RETURN(const std::shared_ptr<DraftModel> draft, DraftModelOfFlags(FLAGS_speculate, /*chooses=*/true));
  RETURN_IF_ERROR(PlanTextsOfFlags(options, draft));
  RETURN_IF_ERROR(PlanBestOf(options));
  if (FLAGS_jsonl || FLAGS_chat) PlanRequests({.texts = FLAGS_jsonl ? FLAGS_parallel : 1}, options);
  ASSIGN_OR_RETURN(Adapters adapters, AdaptersOfFlags(options));
  if (phone != nullptr) RETURN_IF_ERROR(phone->TakeAdapters(adapters));
  if (FLAGS_dry_run) return ShowLoadPlan(options, CountPrompt, draft.get());
  ASSIGN_OR_RETURN(const std::unique_ptr<AnswerFile> into, AnswerFile::OfFlag());   // Refused before the model is opened.
  if (into != nullptr) WriteMessage(into->note());
  std::string prompt;
  if (PromptGiven() || (!FLAGS_jsonl && !FLAGS_chat)) {
    ASSIGN_OR_RETURN(prompt, ReadPrompt());
  }
  if (!FLAGS_jsonl && !FLAGS_chat) PlanPrompt(static_cast<int64_t>(prompt.size()), options);
  LineReader lines;
  if (FLAGS_chat || FLAGS_jsonl) RETURN_IF_ERROR(lines.EditLines(FLAGS_chat ? DialoguePrompt() : ""));
  ASSIGN_OR_RETURN(const OpenedEngine opened, OpenEngine(options, draft));
  const absl::Status status = RunWith(opened, prompt, lines, adapters, into.get());
  if (FLAGS_stats) WriteMessage(absl::StrCat(phone == nullptr ? "" : phone->Summary(*opened.engine), adapters.StatsLine()));
  return trace.Finish(status);
}

}  // namespace
}  // namespace tessera

int main(int argc, char** argv) { return tessera::AppMain(argc, argv, tessera::Info(), tessera::Run); }

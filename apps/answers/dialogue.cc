#include "tessera/apps/answers/dialogue.h"

#include <unistd.h>

#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "tessera/apps/answers/chat_commands.h"
#include "tessera/apps/answers/streamed_answer.h"
#include "tessera/apps/answers/written_result.h"
#include "tessera/apps/cli/flags/chat_flags.h"
#include "tessera/apps/cli/flags/engine_flags.h"
#include "tessera/apps/cli/flags/flags.h"
#include "tessera/apps/cli/flags/sampling_flags.h"
#include "tessera/apps/cli/flags/session_flag.h"
#include "tessera/apps/cli/interrupt.h"
#include "tessera/apps/cli/screen/answer_progress.h"
#include "tessera/apps/cli/screen/terminal.h"
#include "tessera/apps/cli/text/output.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"
#include "tessera/runtime/chat/message_lines.h"

namespace tessera {
namespace {

constexpr char kSign[] = "> ", kSignWithin[] = ". ";   // Within a message of several lines.
constexpr char kUnended[] = "found no \"\"\" at the end of the message, expected it; the message is dropped";

class Dialogue {
 public:
  Dialogue(ChatState& state, KeptSession& kept, LineReader& lines)
      : engine_(*state.opened.engine),
        state_(state),
        kept_(kept),
        progress_(engine_, state.answerer, state.opened.flash_bytes_per_second),
        terminal_(isatty(STDIN_FILENO) == 1),
        form_(terminal_ && isatty(STDOUT_FILENO) == 1 ? StreamedAnswer::Form::kTerminal : StreamedAnswer::Form::kPlain),
        lines_(lines) {}

  absl::Status Run(const std::string& first) {
    if (terminal_) ShowHeading();
    if (!first.empty()) RETURN_IF_ERROR(Reply(first));
    while (true) {
      if (TerminationRequested()) return absl::CancelledError("terminated");
      ASSIGN_OR_RETURN(const std::optional<std::string> line, ReadLine());
      if (!line.has_value() && message_.open()) {
        DropUnended();
        continue;
      }
      if (!line.has_value()) break;
      ended_within_ = false;
      ASSIGN_OR_RETURN(const bool more, terminal_ ? TakeTyped(*line) : TakePiped(*line));
      if (!more) break;
    }
    if (ended_within_) {
      RETURN_IF_ERROR(kept_.Save(absl::OkStatus()));   // The answers before are not lost by the error.
      return absl::InvalidArgumentError(kUnended);
    }
    if (refused_ == 0 || terminal_) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat("found ", refused_, " messages that could not be taken, expected none"));
  }

 private:
  void ShowHeading() const {
    const std::string path = engine_.model().gguf().path(), file = path.substr(path.rfind('/') + 1);   // npos + 1 is 0.
    WriteNote(absl::StrCat("model ", file, " | context ", engine_.context(), " tokens | seed ", state_.sampling.seed,
                           "\n/help lists the commands, Ctrl-C stops an answer, Ctrl-D ends the dialogue."));
  }

  // Returns the next line; none at the end of the dialogue.
  absl::StatusOr<std::optional<std::string>> ReadLine() {
    std::string line;
    absl::StatusOr<bool> more = lines_.Next(&line);
    if (absl::IsCancelled(more.status()) && !TerminationRequested()) {
      RETURN_IF_ERROR(kept_.Save(absl::OkStatus()));  // The second signal would leave no time to save.
      WriteError("\nCtrl-C again or /exit ends the program.\n");  // This signal is not forgotten, so the next one is the second.
      DropMessage();
      more = lines_.Next(&line);
    }
    while (absl::IsResourceExhausted(more.status())) {   // A line that is too long: the next one is read.
      WriteProblem(more.status().message());
      DropMessage();
      ++refused_;
      more = lines_.Next(&line);
    }
    RETURN_IF_ERROR(more.status());
    if (*more) return line;
    if (terminal_) WriteError("\n");
    return std::nullopt;
  }

  // Drops a message without an end. Ctrl-D may be a slip, so the person is asked again. If the input has ended for good, the next line
  // shows this.
  void DropUnended() {
    WriteProblem(kUnended);
    DropMessage();
    ended_within_ = true;
  }

  void DropMessage() {
    message_.Drop();
    lines_.SetPrompt(DialoguePrompt());
  }

  // Takes a line of a pipe. Returns whether the dialogue goes on.
  absl::StatusOr<bool> TakePiped(const std::string& line) {
    const absl::string_view text = absl::StripAsciiWhitespace(line);
    if (text == "/exit") return false;
    if (text == "/reset") ForgetDialogue(state_);
    else if (!text.empty()) RETURN_IF_ERROR(Reply(line));
    return true;
  }

  // Takes a line of a terminal. Returns whether the dialogue goes on.
  absl::StatusOr<bool> TakeTyped(const std::string& line) {
    if (!message_.open() && IsChatCommand(line)) return TakeCommand(line);
    std::string message;
    const bool whole = message_.Add(line, &message);
    lines_.SetPrompt(whole ? DialoguePrompt() : kSignWithin);
    if (whole && !absl::StripAsciiWhitespace(message).empty()) RETURN_IF_ERROR(Reply(message));
    return true;
  }

  absl::StatusOr<bool> TakeCommand(const std::string& line) {
    ForgetInterrupt();
    const absl::StatusOr<ChatStep> step = RunChatCommand(line, state_);
    if (absl::IsCancelled(step.status())) return step.status();
    if (!step.ok()) WriteProblem(step.status().message());
    else if (*step == ChatStep::kAnswer) RETURN_IF_ERROR(Answer());
    return !step.ok() || *step != ChatStep::kEnd;
  }

  absl::Status Reply(const std::string& message) {
    state_.conversation.AddUser(message);
    state_.attempt = 0;
    return Answer();
  }

  // Undoes the last message, or /retry: the dialogue goes on as before.
  void TakeBack() {
    if (!state_.replaced.has_value()) return state_.conversation.DropLast();
    state_.conversation.Add(*std::exchange(state_.replaced, std::nullopt));
    --state_.attempt;
  }

  // Adds the answer to the dialogue. A /retry that was stopped before the first token leaves the answer that was there.
  void Keep(const Generation& answer) {
    const bool has_none = answer.reason == FinishReason::kCancelled && answer.tokens.empty();
    if (has_none && state_.replaced.has_value()) return TakeBack();
    state_.conversation.AddAnswer(answer.text);
    state_.replaced.reset();
  }

  // Answers the last message. A message that cannot be answered is taken back, and so is a /retry that gives no answer.
  absl::Status Answer() {
    ForgetInterrupt();
    const absl::StatusOr<std::vector<TokenId>> tokens = state_.conversation.Tokens(engine_.tokenizer());
    if (!tokens.ok() && !IsWrongUsage(tokens.status())) {
      WriteProblem(tokens.status().message());
      TakeBack();
      ++refused_;
      return absl::OkStatus();
    }
    RETURN_IF_ERROR(tokens.status());
    StreamedAnswer written(form_);
    ASSIGN_OR_RETURN(const Sampler sampler, Sampler::Create(state_.sampling));
    AnswerOptions options = {.max_tokens = state_.max_tokens, .stream = state_.attempt, .sampler = sampler, .on_text = written.on_text()};
    const absl::StatusOr<Generation> result = state_.answerer.Run(*tokens, progress_.Of(std::move(options)));
    if (result.ok()) Keep(*result);
    RETURN_IF_ERROR(written.Finish());
    if (absl::IsResourceExhausted(result.status()) && terminal_) {
      WriteProblem(absl::StrCat(result.status().message(), "; /reset begins a new dialogue"));
      TakeBack();
      return absl::OkStatus();
    }
    RETURN_IF_ERROR(result.status());
    RETURN_IF_ERROR(WriteOutput("\n"));
    // The history then has this answer for any end of the program. The last Save reports an error.
    SaveAnswers(state_.answerer.speculation()).IgnoreError();
    TellEnd(result->reason);
    ForgetInterrupt();
    return absl::OkStatus();
  }

  // Tells why an answer ended before the model's own end; in a pipe only that the context is full.
  void TellEnd(FinishReason reason) const {
    const std::string full = absl::StrCat("context of ", engine_.context(), " tokens is full; /reset begins a new dialogue");
    if (!terminal_ && reason == FinishReason::kContextFull) WriteNote(absl::StrCat("The ", full, "."));
    if (!terminal_) return;
    if (reason == FinishReason::kCancelled) WriteNote("[stopped]");
    if (reason == FinishReason::kLength) WriteNote(absl::StrCat("[stopped at ", state_.max_tokens, " tokens]"));
    if (reason == FinishReason::kContextFull) WriteNote(absl::StrCat("[stopped: the ", full, "]"));
  }

  Engine& engine_;
  ChatState& state_;
  KeptSession& kept_;
  AnswerProgress progress_;
  const bool terminal_;
  const StreamedAnswer::Form form_;
  LineReader& lines_;
  MessageLines message_;
  int refused_ = 0;  // Messages that the template refused, or that were too long.
  bool ended_within_ = false;   // The input ended within a message, and no line has come since.
};

}  // namespace

std::string DialoguePrompt() { return Colours(STDERR_FILENO).PromptSign(kSign); }

absl::Status HoldDialogue(const OpenedEngine& opened, Conversation& conversation, const std::string& first, LineReader& lines,
                          const LoraAdapter* adapter) {
  Engine& engine = *opened.engine;
  RETURN_IF_ERROR(engine.LoadWeights());
  ASSIGN_OR_RETURN(Answerer answerer, AnswererOfFlags(engine, opened.flash_bytes_per_second, opened.draft));
  RETURN_IF_ERROR(answerer.UseAdapter(adapter));
  ASSIGN_OR_RETURN(KeptSession kept, KeptSession::Open(engine, conversation, answerer));
  ASSIGN_OR_RETURN(const SamplingOptions sampling, SamplingFor(engine.model().gguf()));
  ChatState state = {
      .opened = opened, .conversation = conversation, .answerer = answerer, .sampling = sampling, .max_tokens = FLAGS_n_predict};
  lines.LimitBytes(RequestLimits::Of(engine).text);
  CatchSignals(CtrlC::kEndsAnswer);
  const absl::Status status = kept.Save(Dialogue(state, kept, lines).Run(first));
  if (status.ok() || TerminationRequested()) TellSummary(opened, answerer.timings(), &state.sampling);
  return EndOf(status, FinishAnswers(engine, answerer.speculation()));
}

}  // namespace tessera

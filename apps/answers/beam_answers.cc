#include "tessera/apps/answers/beam_answers.h"

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "tessera/apps/answers/requests/request_run.h"
#include "tessera/apps/answers/written_result.h"
#include "tessera/apps/cli/adapters/adapter_flags.h"
#include "tessera/apps/cli/flags/beam_flags.h"
#include "tessera/apps/cli/flags/chat_flags.h"
#include "tessera/apps/cli/flags/flags.h"
#include "tessera/apps/cli/flags/sampling_flags.h"
#include "tessera/apps/cli/interrupt.h"
#include "tessera/apps/cli/text/jsonl.h"
#include "tessera/apps/cli/text/output.h"
#include "tessera/apps/cli/warnings.h"
#include "tessera/apps/show/beam_report.h"
#include "tessera/base/clock.h"
#include "tessera/base/progress.h"
#include "tessera/base/status_macros.h"
#include "tessera/runtime/chat/prompt_size.h"
#include "tessera/runtime/chat/request.h"
#include "tessera/runtime/chat/streaming_figures.h"

namespace tessera {
namespace {

absl::StatusOr<BeamTexts> Write(const OpenedEngine& opened, absl::Span<const TokenId> prompt, Scorer& scorer,
                                const BeamRunOptions& options) {
  Engine& engine = *opened.engine;
  std::optional<StreamingFigures> before;
  if (engine.model().streamer() != nullptr) before = StreamingFigures::Of(engine, opened.flash_bytes_per_second);
  absl::StatusOr<BeamTexts> written = RunBeams(engine, prompt, scorer, options);
  if (written.ok() && before.has_value()) {
    written->timings.streaming = StreamingFigures::Of(engine, opened.flash_bytes_per_second).Since(*before);
  }
  return written;
}

Generation TextOf(const BeamText& text) { return {.tokens = text.tokens, .text = text.text, .reason = text.reason}; }

absl::Status Show(const OpenedEngine& opened, const BeamRunOptions& options, const Scorer& scorer, const BeamTexts& written) {
  if (!FLAGS_json) return WriteOutput(absl::StrCat(written.best().text, "\n"));
  JsonWriter json;
  WriteText(TextOf(written.best()), json.BeginObject());
  WriteBeams(json, options.beams, scorer.name(), written);
  return EndJsonResult(std::move(json), opened, written.timings);
}

class BeamRequests {
 public:
  BeamRequests(const OpenedEngine& opened, const Adapters& adapters, AnswerFile* into)
      : opened_(opened), engine_(*opened.engine), adapters_(adapters), into_(into) {}

  absl::Status Run(LineReader& lines) {
    ASSIGN_OR_RETURN(chat_, ConversationOptionsOfFlags());
    ASSIGN_OR_RETURN(const SamplingOptions sampling, SamplingFor(engine_.model().gguf()));
    ASSIGN_OR_RETURN(usual_, BeamRunOfFlags(sampling));
    ASSIGN_OR_RETURN(usual_.stop, StopStringsOfFlag());
    usual_.starts_text = false;
    RETURN_IF_ERROR(engine_.LoadWeights());
    WarnOfShortages(engine_);
    ASSIGN_OR_RETURN(scorer_, BeamScorerOfFlags(engine_, usual_, /*raw=*/false));
    CatchSignals(CtrlC::kEndsProgram);
    RequestRun run(into_, {.engine = &engine_, .flash_bytes_per_second = opened_.flash_bytes_per_second});
    return run.End(ForEachRequest(lines, RequestLimits::Of(engine_), [&](const Request& request) { return Answer(request, run); }, run));
  }

 private:
  absl::StatusOr<std::string> Answer(const Request& request, RequestRun& run) {
    const int64_t begin = RealClock().NowNanos();
    ASSIGN_OR_RETURN(const TextRequest asked, ReadTextRequest(request, engine_, chat_, usual_.sampling, adapters_.known()));
    if (asked.answers.has_value() || asked.best_of.has_value()) {
      return request.body().Error(asked.answers.has_value() ? "answers beside --beam" : "best_of beside --beam", "one of them");
    }
    ASSIGN_OR_RETURN(const bool wanted, run.Wants(request, asked.prompt));
    if (!wanted) return "";
    BeamRunOptions options = usual_;
    options.sampling = asked.sampling;
    options.max_tokens = asked.max_tokens.value_or(FLAGS_n_predict);
    options.stop = asked.stop.value_or(usual_.stop);
    ASSIGN_OR_RETURN(const int number, adapters_.Named(asked.adapter));
    ASSIGN_OR_RETURN(const AdapterLease adapter, adapters_.Lease(number));
    options.adapter = adapter.get();
    ASSIGN_OR_RETURN(const BeamTexts written, Write(opened_, asked.prompt, *scorer_, options));
    run.progress().Wrote(written.timings.output_tokens);
    const TimedAnswer answer = {.text = TextOf(written.best()),
                                .seconds = static_cast<double>(RealClock().NowNanos() - begin) * 1e-9,
                                .shared_tokens = written.shared_tokens};
    return TextAnswer(request, asked.prompt, answer,
                      [&](JsonWriter& json) { WriteBeams(json, options.beams, scorer_->name(), written); });
  }

  const OpenedEngine& opened_;
  Engine& engine_;
  const Adapters& adapters_;
  AnswerFile* const into_;
  ConversationOptions chat_;
  BeamRunOptions usual_;   // The values for requests that set none.
  std::unique_ptr<Scorer> scorer_;
};

}  // namespace

absl::Status AnswerByBeams(const OpenedEngine& opened, Conversation& conversation, const std::string& prompt, const LoraAdapter* adapter) {
  Engine& engine = *opened.engine;
  ASSIGN_OR_RETURN(const SamplingOptions sampling, SamplingFor(engine.model().gguf()));
  ASSIGN_OR_RETURN(BeamRunOptions options, BeamRunOfFlags(sampling));
  ASSIGN_OR_RETURN(options.stop, StopStringsOfFlag());
  options.starts_text = !conversation.raw();
  options.problem = prompt;
  options.adapter = adapter;
  conversation.AddUser(prompt);
  ASSIGN_OR_RETURN(const std::vector<TokenId> tokens, conversation.Tokens(engine.tokenizer()));
  RETURN_IF_ERROR(CheckTokensFit(tokens.size(), engine.context()));
  RETURN_IF_ERROR(engine.LoadWeights());
  WarnOfShortages(engine);
  CatchSignals(CtrlC::kEndsProgram);
  ASSIGN_OR_RETURN(const std::unique_ptr<Scorer> scorer, BeamScorerOfFlags(engine, options, conversation.raw()));
  Progress progress("steps of beams", /*total=*/0);
  options.on_step = [&](int step) { progress.Update(step); };
  absl::StatusOr<BeamTexts> searched = Write(opened, tokens, *scorer, options);
  progress.Erase();
  ASSIGN_OR_RETURN(const BeamTexts written, std::move(searched));
  RETURN_IF_ERROR(Show(opened, options, *scorer, written));
  TellIfContextIsFull(engine, TextOf(written.best()));
  if (PromptGiven()) TellUnreadInput();
  TellSummary(opened, written.timings);
  if (FLAGS_stats) WriteError(BeamTable(written, scorer->name()));
  WarnOfShortages(engine);
  return absl::OkStatus();
}

absl::Status AnswerRequestsByBeams(const OpenedEngine& opened, LineReader& lines, const Adapters& adapters, AnswerFile* into) {
  const absl::Status status = BeamRequests(opened, adapters, into).Run(lines);
  WarnOfShortages(*opened.engine);
  WriteMessage(ReadsLine(adapters));
  return status;
}

}  // namespace tessera

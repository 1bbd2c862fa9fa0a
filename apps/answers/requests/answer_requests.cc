#include "tessera/apps/answers/requests/answer_requests.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "tessera/apps/answers/requests/output_queue.h"
#include "tessera/apps/answers/requests/request_run.h"
#include "tessera/apps/answers/requests/requests_in_turn.h"
#include "tessera/apps/cli/adapters/adapter_flags.h"
#include "tessera/apps/cli/flag_error.h"
#include "tessera/apps/cli/flags/chat_flags.h"
#include "tessera/apps/cli/flags/engine_flags.h"
#include "tessera/apps/cli/flags/flags.h"
#include "tessera/apps/cli/flags/parallel_flags.h"
#include "tessera/apps/cli/interrupt.h"
#include "tessera/apps/cli/text/jsonl.h"
#include "tessera/apps/cli/text/output.h"
#include "tessera/base/clock.h"
#include "tessera/base/joined_status.h"
#include "tessera/base/status_macros.h"
#include "tessera/runtime/scheduler/first_tokens.h"

namespace tessera {
namespace {

constexpr char kEnded[] = "ended by a signal, before the answer was whole";
constexpr double kSaveSeconds = 1;

class ParallelRequests {
 public:
  ParallelRequests(const Engine& engine, LineReader& lines, ParallelAnswers& answers, OutputQueue& output, const Adapters& adapters,
                   RequestDefaults defaults, const SampleSetOptions& choice, RequestRun& run)
      : engine_(engine), lines_(lines), answers_(answers), output_(output), adapters_(adapters), defaults_(std::move(defaults)),
        choice_(choice), limits_(RequestLimits::Of(engine)), run_(run) {}

  absl::Status Run() {
    lines_.LimitBytes(limits_.line);
    while (true) {
      RETURN_IF_ERROR(ReadRequests());
      RETURN_IF_ERROR(written_status_);
      if (answers_.unended() == 0) break;
      RETURN_IF_ERROR(answers_.Step().status());
      AdvanceSamples();
      if (is_cancelled_ || CancelRequested()) return absl::CancelledError("terminated");
      run_.progress().SetUnderWay(static_cast<int64_t>(asked_.size()));
      RETURN_IF_ERROR(written_status_);
      RETURN_IF_ERROR(output_.status());
    }
    RETURN_IF_ERROR(output_.Flush());
    return input_.ok() ? failed_.status() : Joined(input_, failed_.status());
  }

  // Gives an error line for each request without a whole answer, after a signal. Whole answers are written, too, so that each request that
  // was read has a line.
  void GiveUnended() {
    for (const auto& [turn, asked] : asked_) Fail(turn, asked->request, absl::CancelledError(kEnded));
    if (waiting_.has_value()) Fail(waiting_->turn, waiting_->request, absl::CancelledError(kEnded));
    run_.progress().SetUnderWay(0);
  }

 private:
  // A request with texts that are being written.
  struct Asked {
    int64_t turn, begin_nanos;
    Request request;
    TextRequest text;
    std::vector<TimedAnswer> answers = {};
    int unended = 0;
    AdapterLease adapter = nullptr;   // Held until all texts have ended.
    std::shared_ptr<SharedHistory> siblings = nullptr;   // The shared source of drafts of several answers.
    absl::Status error = absl::OkStatus();
    std::unique_ptr<SampleSet> samples = nullptr;   // With "best_of", in place of `answers`.
  };

  // A request that was read, and has no adapter yet.
  struct Taken {
    int64_t turn, begin_nanos;
    Request request;
    TextRequest text;
  };

  // Reads requests until there are enough texts, or nothing to read. Waits for input only while no text is written. After a few lines
  // without texts, the present texts go on.
  absl::Status ReadRequests() {
    if (waiting_.has_value() && answers_.unended() != waiting_beside_) Start(*std::exchange(waiting_, std::nullopt));
    const int most_held = kMostHeld * FLAGS_parallel;
    const auto holds_most = [&] { return static_cast<int>(held_.size()) >= most_held || held_bytes_ > limits_.waiting; };
    for (int lines = 0; !at_end_ && !waiting_.has_value() && answers_.unended() < FLAGS_parallel && !holds_most(); ++lines) {
      if (answers_.unended() == 0) {
        RETURN_IF_ERROR(output_.Flush());
      } else {
        if (lines >= FLAGS_parallel) return absl::OkStatus();
        const absl::StatusOr<bool> ready = lines_.Ready();
        if (!ready.ok()) return EndInput(ready.status());
        if (!*ready) return absl::OkStatus();
      }
      std::string line;
      const absl::StatusOr<bool> more = lines_.Next(&line);
      if (absl::IsResourceExhausted(more.status())) {   // A line that is too long: the next one is read.
        TakeTooLong(more.status());
        continue;
      }
      if (!more.ok() || !*more) return EndInput(more.status());
      ++line_;
      if (!absl::StripAsciiWhitespace(line).empty()) Take(line);
    }
    return absl::OkStatus();
  }

  // Ends the input. Earlier requests are still answered, unless the end was asked for.
  absl::Status EndInput(const absl::Status& status) {
    at_end_ = true;
    if (!absl::IsCancelled(status)) input_ = status;
    return absl::IsCancelled(status) ? status : absl::OkStatus();
  }

  void TakeTooLong(const absl::Status& error) {
    failed_.CountRequest();
    Give(turns_++, {failed_.AnswerOf(++line_, error), error});
  }

  void Take(std::string& line) {
    const int64_t begin = RealClock().NowNanos();
    failed_.CountRequest();
    absl::StatusOr<Request> request = Request::Parse(line, SourceOfLine(line_), limits_);
    line = std::string();   // The line may be long.
    if (!request.ok()) return Give(turns_++, {failed_.AnswerOf(line_, request.status()), request.status()});
    absl::StatusOr<TextRequest> text = ReadTextRequest(*request, engine_, defaults_.chat, defaults_.sampling, adapters_.known());
    if (!text.ok()) return Fail(turns_++, *request, text.status());
    const absl::StatusOr<bool> wanted = run_.Wants(*request, text->prompt);
    if (wanted.ok() && !*wanted) return;
    const int64_t turn = turns_++;
    if (!wanted.ok()) return Fail(turn, *request, wanted.status());
    Start({.turn = turn, .begin_nanos = begin, .request = *std::move(request), .text = *std::move(text)});
  }

  // Starts the texts of a request. If the adapter has no room next to the adapters of other texts, the request waits until another text has
  // ended. Later requests wait, too.
  void Start(Taken taken) {
    const absl::StatusOr<int> number = adapters_.Named(taken.text.adapter);
    if (!number.ok()) return Fail(taken.turn, taken.request, number.status());
    absl::StatusOr<AdapterLease> adapter = adapters_.Lease(*number);
    if (absl::IsResourceExhausted(adapter.status()) && answers_.unended() > 0) {
      waiting_ = std::move(taken);
      waiting_beside_ = answers_.unended();
      return;
    }
    if (!adapter.ok()) return Fail(taken.turn, taken.request, adapter.status());
    auto asked = std::make_shared<Asked>(Asked{
        .turn = taken.turn, .begin_nanos = taken.begin_nanos, .request = std::move(taken.request), .text = std::move(taken.text)});
    asked->request.ForgetBody();
    asked_[asked->turn] = asked;
    run_.progress().SetUnderWay(static_cast<int64_t>(asked_.size()));
    asked->adapter = *std::move(adapter);
    if (asked->text.best_of.has_value()) return AddSamples(*asked);
    asked->unended = asked->text.answers.value_or(1);
    asked->answers.resize(asked->unended);
    if (asked->unended > 1) asked->siblings = answers_.NewSet();
    if (asked->text.distinct_first_tokens) return AskFirstTokens(asked);
    for (int stream = 0, texts = asked->unended; stream < texts; ++stream) Add(asked, stream, std::nullopt);
  }

  void AskFirstTokens(const std::shared_ptr<Asked>& asked) {
    answers_.AskFirstTokens(asked->text.prompt, asked->adapter.get(), asked->unended,
                            [this, asked](const absl::StatusOr<std::vector<FirstToken>>& firsts) {
                              if (!firsts.ok()) {
                                asked->unended = 1;   // No text is written for the request.
                                return End(*asked, 0, firsts.status());
                              }
                              for (int stream = 0; stream < static_cast<int>(firsts->size()); ++stream) {
                                Add(asked, stream, (*firsts)[static_cast<size_t>(stream)]);
                              }
                            });
  }

  // Returns the settings of all texts of a request.
  NewAnswer AnswerFor(const Asked& asked) const {
    return {.prompt = asked.text.prompt,
            .sampling = asked.text.sampling,
            .stop = asked.text.stop.value_or(defaults_.stop),
            .max_tokens = asked.text.max_tokens.value_or(FLAGS_n_predict),
            .starts_text = false,
            .adapter = asked.adapter.get(),
            .siblings = asked.siblings,
            .begin_nanos = asked.begin_nanos};
  }

  void Add(const std::shared_ptr<Asked>& asked, int stream, const std::optional<FirstToken>& first) {
    NewAnswer answer = AnswerFor(*asked);
    answer.stream = static_cast<uint64_t>(stream);
    answer.first = first;
    answer.on_token = [this](TokenId, absl::Span<const float>) { run_.progress().Wrote(1); };
    answer.on_end = [this, asked, stream](const absl::StatusOr<TimedAnswer>& ended) { End(*asked, stream, ended); };
    answers_.Add(std::move(answer));
  }

  void AddSamples(Asked& asked) {
    SampleSetOptions options = choice_;
    options.samples = *asked.text.best_of;
    asked.samples = std::make_unique<SampleSet>(engine_, AnswerFor(asked), options, answers_);
  }

  // Answers each request whose sample is chosen by now.
  void AdvanceSamples() {
    std::vector<Asked*> all;
    for (const auto& [turn, asked] : asked_) {
      if (asked->samples != nullptr) all.push_back(asked.get());
    }
    for (Asked* const asked : all) {
      const absl::Status status = asked->samples->Advance();
      if (status.ok() && !asked->samples->done()) continue;
      is_cancelled_ = is_cancelled_ || absl::IsCancelled(status);
      if (is_cancelled_) return;
      const std::shared_ptr<Asked> ended = TakeOut(*asked);
      if (!status.ok()) Fail(ended->turn, ended->request, status);
      else Give(ended->turn, {BestOf(*ended)});
    }
  }

  std::string BestOf(const Asked& asked) {
    const SampleSetResult& samples = asked.samples->result();
    run_.progress().Wrote(samples.tokens);
    return TextAnswer(asked.request, asked.text.prompt, samples.best().written,
                      [&](JsonWriter& json) { WriteSampleSet(json.Key("best_of"), samples); });
  }

  void End(Asked& asked, int stream, const absl::StatusOr<TimedAnswer>& answer) {
    if (answer.ok()) asked.answers[stream] = *answer;
    asked.error.Update(answer.status());
    is_cancelled_ = is_cancelled_ || absl::IsCancelled(answer.status()) || (answer.ok() && answer->text.reason == FinishReason::kCancelled);
    if (--asked.unended > 0 || is_cancelled_) return;
    const std::shared_ptr<Asked> ended = TakeOut(asked);
    if (!ended->error.ok()) return Fail(ended->turn, ended->request, ended->error);
    Give(ended->turn, {AnswerOf(ended->request, ended->text, ended->answers)});
  }

  // Takes out a request to answer: all texts of the request have ended.
  std::shared_ptr<Asked> TakeOut(const Asked& asked) {
    const std::shared_ptr<Asked> ended = std::move(asked_.extract(asked.turn).mapped());
    ended->adapter = nullptr;   // Frees the place for the next request's adapter, even if others still hold the request.
    SaveNowAndThen();
    return ended;
  }

  // Saves like RequestsInTurn, but not more than once per second, since the other texts wait meanwhile.
  void SaveNowAndThen() {
    if (SecondsSinceNanos(saved_nanos_) < kSaveSeconds) return;
    SaveAnswers(answers_.speculation()).IgnoreError();
    saved_nanos_ = RealClock().NowNanos();
  }

  // An answer, or a line that says an error.
  struct Line {
    std::string text = {};
    absl::Status error = absl::OkStatus();
  };

  void Fail(int64_t turn, const Request& request, const absl::Status& error) {
    const absl::Status named = WithFlagNames(error);
    Give(turn, {failed_.AnswerOf(request, named), request.At(named)});
  }

  // Writes the line when the turn comes.
  void Give(int64_t turn, Line line) {
    if (FLAGS_unordered) return Write(std::move(line));
    held_bytes_ += static_cast<int64_t>(line.text.size());
    held_[turn] = std::move(line);
    for (auto next = held_.begin(); next != held_.end() && next->first == written_; next = held_.erase(next), ++written_) {
      held_bytes_ -= static_cast<int64_t>(next->second.text.size());
      Write(std::move(next->second));
    }
  }

  void Write(Line line) {
    if (!written_status_.ok()) return;
    written_status_ = line.error.ok() ? run_.Answer(std::move(line.text)) : run_.Fail(std::move(line.text), line.error);
  }

  const Engine& engine_;
  LineReader& lines_;
  ParallelAnswers& answers_;
  OutputQueue& output_;
  const Adapters& adapters_;
  const RequestDefaults defaults_;
  const SampleSetOptions choice_;
  const RequestLimits limits_;
  int64_t line_ = 0, turns_ = 0, written_ = 0;
  bool at_end_ = false, is_cancelled_ = false;
  absl::Status input_;                     // The error that ended the input, if any.
  FailedRequests failed_;
  std::map<int64_t, std::shared_ptr<Asked>> asked_;   // Requests that have not ended, by turn.
  std::optional<Taken> waiting_;           // Waits for room for an adapter; nothing is read meanwhile.
  int waiting_beside_ = 0;                  // The number of texts at that time; tried again once the number differs.
  std::map<int64_t, Line> held_;           // Lines whose turn has not come.
  int64_t held_bytes_ = 0;
  RequestRun& run_;
  absl::Status written_status_;            // The first error of writing.
  int64_t saved_nanos_ = 0;
};

absl::Status AnswerInParallel(Engine& engine, double flash, LineReader& lines, const Adapters& adapters,
                              const std::shared_ptr<DraftModel>& draft, const SampleChooser& chooser, AnswerFile* into) {
  ASSIGN_OR_RETURN(const std::unique_ptr<ParallelAnswers> answers, ParallelAnswersOfFlags(engine, flash, draft));
  ASSIGN_OR_RETURN(RequestDefaults defaults, RequestDefaults::Of(engine));
  ASSIGN_OR_RETURN(const SampleSetOptions choice, chooser(engine));
  CatchSignals(CtrlC::kEndsProgram);
  OutputQueue output;
  RequestRun run(into, {.engine = &engine, .flash_bytes_per_second = flash}, [&output](std::string line) {
    output.Push(std::move(line));
    return absl::OkStatus();
  });
  ParallelRequests requests(engine, lines, *answers, output, adapters, std::move(defaults), choice, run);
  const absl::Status status = requests.Run();
  const absl::Status finished = FinishAnswers(engine, answers->speculation());   // Before a reader that takes nothing is waited for.
  if (absl::IsCancelled(status)) requests.GiveUnended();
  output.Flush().IgnoreError();                                                  // The run has the error already.
  const absl::Status ended = run.End(status);
  TellOfWaits(*answers);
  return EndOf(ended, finished);
}

}  // namespace

absl::Status AnswerRequests(Engine& engine, double flash_bytes_per_second, LineReader& lines, const Adapters& adapters,
                            const std::shared_ptr<DraftModel>& draft, const SampleChooser& chooser, AnswerFile* into) {
  RETURN_IF_ERROR(engine.LoadWeights());
  RETURN_IF_ERROR(engine.AwaitWeights());
  const absl::Status status =
      FLAGS_parallel == 1 ? AnswerInTurn(engine, flash_bytes_per_second, lines, adapters, draft, into)
                          : AnswerInParallel(engine, flash_bytes_per_second, lines, adapters, draft, chooser, into);
  WriteMessage(ReadsLine(adapters));
  return status;
}

}  // namespace tessera

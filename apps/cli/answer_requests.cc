#include "tessera/apps/cli/answer_requests.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "tessera/apps/cli/answer_progress.h"
#include "tessera/apps/cli/chat_flags.h"
#include "tessera/apps/cli/engine_flags.h"
#include "tessera/apps/cli/flags.h"
#include "tessera/apps/cli/interrupt.h"
#include "tessera/apps/cli/jsonl.h"
#include "tessera/apps/cli/output.h"
#include "tessera/apps/cli/output_queue.h"
#include "tessera/apps/cli/parallel_flags.h"
#include "tessera/apps/cli/sampling_flags.h"
#include "tessera/base/joined_status.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"
#include "tessera/runtime/first_tokens.h"

namespace tessera {
namespace {

// What requests do not say themselves.
struct Defaults {
  ConversationOptions chat = {};
  SamplingOptions sampling = {};
  std::vector<std::string> stop = {};

  static absl::StatusOr<Defaults> Of(const Engine& engine) {
    Defaults defaults;
    ASSIGN_OR_RETURN(defaults.chat, ConversationOptionsOfFlags());
    ASSIGN_OR_RETURN(defaults.sampling, SamplingFor(engine.model().gguf()));
    ASSIGN_OR_RETURN(defaults.stop, StopStringsOfFlag());
    return defaults;
  }
};

constexpr char kEnded[] = "ended by a signal, before the answer was whole";
constexpr double kSaveSeconds = 1;

double SecondsSince(int64_t nanos) { return static_cast<double>(RealClock().NowNanos() - nanos) * 1e-9; }

std::string AnswerOf(const Request& request, const TextRequest& asked, const std::vector<TimedAnswer>& answers) {
  return asked.answers.has_value() ? TextAnswers(request, asked.prompt, answers) : TextAnswer(request, asked.prompt, answers[0]);
}

// One after another.
class RequestsInTurn {
 public:
  RequestsInTurn(Engine& engine, double flash, Answerer& answerer, const Adapters& adapters, Defaults defaults)
      : engine_(engine), answerer_(answerer), adapters_(adapters), progress_(engine, answerer, flash), defaults_(std::move(defaults)) {}

  absl::StatusOr<std::string> Answer(const Request& request) {
    const int64_t begin = RealClock().NowNanos();
    ASSIGN_OR_RETURN(const TextRequest asked,
                     ReadTextRequest(request, engine_, defaults_.chat, defaults_.sampling, adapters_.names()));
    if (asked.best_of.has_value()) {
      return WrongUsage("best_of", absl::StrCat(*asked.best_of, " without --parallel"), "both: samples are written at once");
    }
    RETURN_IF_ERROR(UseAdapter(adapters_.Named(asked.adapter)));
    answerer_.Reset();
    std::vector<std::optional<FirstToken>> firsts(asked.answers.value_or(1));   // Nullopt: as the sampler says.
    if (asked.distinct_first_tokens) {
      ASSIGN_OR_RETURN(const std::vector<FirstToken> found, answerer_.FirstTokens(asked.prompt, *asked.answers, progress_.Of({})));
      firsts.assign(found.begin(), found.end());
    }
    std::vector<TimedAnswer> answers;
    for (size_t stream = 0; stream < firsts.size(); ++stream) {
      ASSIGN_OR_RETURN(answers.emplace_back(), WriteText(asked, static_cast<uint64_t>(stream), firsts[stream], begin));
      if (answers.back().text.reason == FinishReason::kCancelled) return absl::CancelledError("terminated");
    }
    // Saved before the answer is written: on a busy disk a signal would leave too little time for it. The last Save reports an error.
    SaveAnswers(answerer_.speculation()).IgnoreError();
    return AnswerOf(request, asked, answers);
  }

 private:
  // The last one is given back before this one is read: there may be room for one.
  absl::Status UseAdapter(int number) {
    if (number == number_) return absl::OkStatus();
    if (adapter_ != nullptr) RETURN_IF_ERROR(answerer_.UseAdapter(nullptr));
    adapter_ = nullptr;
    number_ = Adapters::kNone;
    ASSIGN_OR_RETURN(adapter_, adapters_.Lease(number));
    RETURN_IF_ERROR(answerer_.UseAdapter(adapter_.get()));
    number_ = number;
    return absl::OkStatus();
  }

  absl::StatusOr<TimedAnswer> WriteText(const TextRequest& asked, uint64_t stream, const std::optional<FirstToken>& first, int64_t begin) {
    TimedAnswer answer = {.first = first};
    AnswerOptions options = {.max_tokens = asked.max_tokens.value_or(FLAGS_n_predict), .starts_text = false};
    options.stream = stream;
    if (first.has_value()) options.first = first->token;
    options.stop = asked.stop;
    ASSIGN_OR_RETURN(options.sampler, Sampler::Create(asked.sampling));
    options.on_token = [&](TokenId, absl::Span<const float>) {
      if (answer.first_token_seconds < 0) answer.first_token_seconds = SecondsSince(begin);
    };
    const int64_t computed = answerer_.timings().prompt_tokens;
    ASSIGN_OR_RETURN(answer.text, answerer_.Run(asked.prompt, progress_.Of(std::move(options))));
    answer.seconds = SecondsSince(begin);
    answer.shared_tokens = static_cast<int64_t>(asked.prompt.size()) - (answerer_.timings().prompt_tokens - computed);
    return answer;
  }

  Engine& engine_;
  Answerer& answerer_;
  const Adapters& adapters_;
  AdapterLease adapter_ = nullptr;   // That the answerer has,
  int number_ = Adapters::kNone;     // and its number.
  AnswerProgress progress_;
  const Defaults defaults_;
};

using Draft = std::shared_ptr<DraftModel>;

absl::Status AnswerInTurn(Engine& engine, double flash, LineReader& lines, const Adapters& adapters, const Draft& draft,
                          const SampleChooser&) {
  ASSIGN_OR_RETURN(Answerer answerer, AnswererOfFlags(engine, flash, draft));
  ASSIGN_OR_RETURN(Defaults defaults, Defaults::Of(engine));
  CatchSignals(CtrlC::kEndsProgram);
  RequestsInTurn requests(engine, flash, answerer, adapters, std::move(defaults));
  const absl::Status status = ForEachRequest(lines, [&](const Request& request) { return requests.Answer(request); });
  return EndOf(status, FinishAnswers(engine, answerer.speculation()));
}

// Several at once.
class ParallelRequests {
 public:
  ParallelRequests(const Engine& engine, LineReader& lines, ParallelAnswers& answers, OutputQueue& output, const Adapters& adapters,
                   Defaults defaults, const SampleSetOptions& choice)
      : engine_(engine), lines_(lines), answers_(answers), output_(output), adapters_(adapters), defaults_(std::move(defaults)),
        choice_(choice) {}

  absl::Status Run() {
    while (true) {
      RETURN_IF_ERROR(ReadRequests());
      if (answers_.unended() == 0) break;
      RETURN_IF_ERROR(answers_.Step().status());
      AdvanceSamples();
      if (is_cancelled_ || CancelRequested()) return absl::CancelledError("terminated");
      RETURN_IF_ERROR(output_.status());
    }
    RETURN_IF_ERROR(output_.Flush());
    return input_.ok() ? failed_.status() : Joined(input_, failed_.status());
  }

  // After a signal: answers that are whole are written, and the others are named, so that each request that was read has its line.
  void GiveUnended() {
    for (const auto& [turn, asked] : asked_) Give(turn, failed_.AnswerOf(asked->request, absl::CancelledError(kEnded)));
  }

 private:
  // A request, while texts are written for it.
  struct Asked {
    int64_t turn, begin_nanos;
    Request request;
    TextRequest text;
    std::vector<TimedAnswer> answers = {};
    int unended = 0;
    AdapterLease adapter = nullptr;   // Until they have ended.
    std::shared_ptr<SharedHistory> siblings = nullptr;   // What several answers draft from.
    absl::Status error = absl::OkStatus();
    std::unique_ptr<SampleSet> samples = nullptr;   // With "best_of", in place of `answers`.
  };

  // Until there are texts enough, or nothing to read: that is waited for only while nothing is written. Texts go on after a few lines that
  // ask for none.
  absl::Status ReadRequests() {
    const int most_held = kMostHeld * FLAGS_parallel;
    for (int lines = 0; !at_end_ && answers_.unended() < FLAGS_parallel && static_cast<int>(held_.size()) < most_held; ++lines) {
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
      if (!more.ok() || !*more) return EndInput(more.status());
      ++line_;
      if (!absl::StripAsciiWhitespace(line).empty()) Take(line);
    }
    return absl::OkStatus();
  }

  // What was asked before is answered, unless the end was asked for.
  absl::Status EndInput(const absl::Status& status) {
    at_end_ = true;
    if (!absl::IsCancelled(status)) input_ = status;
    return absl::IsCancelled(status) ? status : absl::OkStatus();
  }

  void Take(const std::string& line) {
    const int64_t turn = turns_++, begin = RealClock().NowNanos();
    failed_.CountRequest();
    absl::StatusOr<Request> request = Request::Parse(line, SourceOfLine(line_));
    if (!request.ok()) return Give(turn, failed_.AnswerOf(line_, request.status()));
    absl::StatusOr<TextRequest> text = ReadTextRequest(*request, engine_, defaults_.chat, defaults_.sampling, adapters_.names());
    if (!text.ok()) return Give(turn, failed_.AnswerOf(*request, text.status()));
    absl::StatusOr<AdapterLease> adapter = adapters_.Lease(adapters_.Named(text->adapter));
    if (!adapter.ok()) return Give(turn, failed_.AnswerOf(*request, adapter.status()));
    auto asked = std::make_shared<Asked>(
        Asked{.turn = turn, .begin_nanos = begin, .request = *std::move(request), .text = *std::move(text)});
    asked_[turn] = asked;
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
                                asked->unended = 1;   // No text is written for it.
                                return End(*asked, 0, firsts.status());
                              }
                              for (int stream = 0; stream < static_cast<int>(firsts->size()); ++stream) {
                                Add(asked, stream, (*firsts)[static_cast<size_t>(stream)]);
                              }
                            });
  }

  // What all texts of a request have in common.
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
    answer.on_end = [this, asked, stream](const absl::StatusOr<TimedAnswer>& ended) { End(*asked, stream, ended); };
    answers_.Add(std::move(answer));
  }

  void AddSamples(Asked& asked) {
    SampleSetOptions options = choice_;
    options.samples = *asked.text.best_of;
    asked.samples = std::make_unique<SampleSet>(engine_, AnswerFor(asked), options, answers_);
  }

  // Answers the requests for which one of their samples is chosen by now.
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
      Give(ended->turn, status.ok() ? BestOf(*ended) : failed_.AnswerOf(ended->request, status));
    }
  }

  static std::string BestOf(const Asked& asked) {
    const SampleSetResult& samples = asked.samples->result();
    return TextAnswer(asked.request, asked.text.prompt, samples.best().written,
                      [&](JsonWriter& json) { WriteSampleSet(json.Key("best_of"), samples); });
  }

  void End(Asked& asked, int stream, const absl::StatusOr<TimedAnswer>& answer) {
    if (answer.ok()) asked.answers[stream] = *answer;
    asked.error.Update(answer.status());
    is_cancelled_ = is_cancelled_ || absl::IsCancelled(answer.status()) || (answer.ok() && answer->text.reason == FinishReason::kCancelled);
    if (--asked.unended > 0 || is_cancelled_) return;
    const std::shared_ptr<Asked> ended = TakeOut(asked);
    if (!ended->error.ok()) return Give(ended->turn, failed_.AnswerOf(ended->request, ended->error));
    Give(ended->turn, AnswerOf(ended->request, ended->text, ended->answers));
  }

  // A request that is to be answered: all its texts have ended.
  std::shared_ptr<Asked> TakeOut(const Asked& asked) {
    const std::shared_ptr<Asked> ended = std::move(asked_.extract(asked.turn).mapped());
    ended->adapter = nullptr;   // Its place is free for that of the next request, whatever else still holds this one.
    SaveNowAndThen();
    return ended;
  }

  // As RequestsInTurn, but the other texts wait meanwhile.
  void SaveNowAndThen() {
    if (SecondsSince(saved_nanos_) < kSaveSeconds) return;
    SaveAnswers(answers_.speculation()).IgnoreError();
    saved_nanos_ = RealClock().NowNanos();
  }

  // Writes the answer when its turn comes.
  void Give(int64_t turn, std::string answer) {
    answer += '\n';
    if (FLAGS_unordered) return output_.Push(std::move(answer));
    held_[turn] = std::move(answer);
    for (auto next = held_.begin(); next != held_.end() && next->first == written_; next = held_.erase(next), ++written_) {
      output_.Push(std::move(next->second));
    }
  }

  const Engine& engine_;
  LineReader& lines_;
  ParallelAnswers& answers_;
  OutputQueue& output_;
  const Adapters& adapters_;
  const Defaults defaults_;
  const SampleSetOptions choice_;
  int64_t line_ = 0, turns_ = 0, written_ = 0;
  bool at_end_ = false, is_cancelled_ = false;
  absl::Status input_;                     // What ended it, if that was an error.
  FailedRequests failed_;
  std::map<int64_t, std::shared_ptr<Asked>> asked_;   // By turn: those that have not ended.
  std::map<int64_t, std::string> held_;    // Answers whose turn has not come.
  int64_t saved_nanos_ = 0;
};

absl::Status AnswerInParallel(Engine& engine, double flash, LineReader& lines, const Adapters& adapters, const Draft& draft,
                              const SampleChooser& chooser) {
  ASSIGN_OR_RETURN(const std::unique_ptr<ParallelAnswers> answers, ParallelAnswersOfFlags(engine, flash, draft));
  ASSIGN_OR_RETURN(Defaults defaults, Defaults::Of(engine));
  ASSIGN_OR_RETURN(const SampleSetOptions choice, chooser(engine));
  CatchSignals(CtrlC::kEndsProgram);
  OutputQueue output;
  ParallelRequests requests(engine, lines, *answers, output, adapters, std::move(defaults), choice);
  const absl::Status status = requests.Run();
  const absl::Status finished = FinishAnswers(engine, answers->speculation());   // Before a reader that takes nothing is waited for.
  if (absl::IsCancelled(status)) requests.GiveUnended();
  output.Flush().IgnoreError();                                                  // Its error is the run's already.
  TellOfWaits(*answers);
  return EndOf(status, finished);
}

}  // namespace

absl::Status AnswerRequests(Engine& engine, double flash_bytes_per_second, LineReader& lines, const Adapters& adapters,
                            const std::shared_ptr<DraftModel>& draft, const SampleChooser& chooser) {
  RETURN_IF_ERROR(engine.LoadWeights());
  RETURN_IF_ERROR(engine.AwaitWeights());
  const auto answer = FLAGS_parallel == 1 ? AnswerInTurn : AnswerInParallel;
  const absl::Status status = answer(engine, flash_bytes_per_second, lines, adapters, draft, chooser);
  WriteError(adapters.ReadsLine());
  return status;
}

}  // namespace tessera

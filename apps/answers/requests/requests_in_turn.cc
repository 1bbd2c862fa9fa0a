#include "tessera/apps/answers/requests/requests_in_turn.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tessera/apps/answers/requests/request_run.h"
#include "tessera/apps/cli/flags/chat_flags.h"
#include "tessera/apps/cli/flags/engine_flags.h"
#include "tessera/apps/cli/flags/flags.h"
#include "tessera/apps/cli/flags/sampling_flags.h"
#include "tessera/apps/cli/interrupt.h"
#include "tessera/apps/cli/text/jsonl.h"
#include "tessera/base/clock.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"
#include "tessera/runtime/scheduler/first_tokens.h"

namespace tessera {

absl::StatusOr<RequestDefaults> RequestDefaults::Of(const Engine& engine) {
  RequestDefaults defaults;
  ASSIGN_OR_RETURN(defaults.chat, ConversationOptionsOfFlags());
  ASSIGN_OR_RETURN(defaults.sampling, SamplingFor(engine.model().gguf()));
  ASSIGN_OR_RETURN(defaults.stop, StopStringsOfFlag());
  return defaults;
}

double SecondsSinceNanos(int64_t nanos) { return static_cast<double>(RealClock().NowNanos() - nanos) * 1e-9; }

std::string AnswerOf(const Request& request, const TextRequest& asked, const std::vector<TimedAnswer>& answers) {
  return asked.answers.has_value() ? TextAnswers(request, asked.prompt, answers) : TextAnswer(request, asked.prompt, answers[0]);
}

namespace {

class RequestsInTurn {
 public:
  RequestsInTurn(Engine& engine, Answerer& answerer, const Adapters& adapters, RequestDefaults defaults, RequestRun& run)
      : engine_(engine), answerer_(answerer), adapters_(adapters), defaults_(std::move(defaults)), run_(run) {}

  absl::Status Run(LineReader& lines) {
    return ForEachRequest(lines, RequestLimits::Of(engine_), [this](const Request& request) { return Answer(request); }, run_);
  }

 private:
  // Returns the answer's line; an empty text: the file of --into has the answer.
  absl::StatusOr<std::string> Answer(const Request& request) {
    const int64_t begin = RealClock().NowNanos();
    ASSIGN_OR_RETURN(const TextRequest asked,
                     ReadTextRequest(request, engine_, defaults_.chat, defaults_.sampling, adapters_.known()));
    if (asked.best_of.has_value()) {
      return WrongUsage("best_of", absl::StrCat(*asked.best_of, " without --parallel"), "both: samples are written at once");
    }
    ASSIGN_OR_RETURN(const bool wanted, run_.Wants(request, asked.prompt));
    if (!wanted) return "";
    ASSIGN_OR_RETURN(const int adapter, adapters_.Named(asked.adapter));
    RETURN_IF_ERROR(UseAdapter(adapter));
    answerer_.Reset();
    std::vector<std::optional<FirstToken>> firsts(asked.answers.value_or(1));   // Nullopt: as the sampler says.
    if (asked.distinct_first_tokens) {
      ASSIGN_OR_RETURN(const std::vector<FirstToken> found, answerer_.FirstTokens(asked.prompt, *asked.answers));
      firsts.assign(found.begin(), found.end());
    }
    std::vector<TimedAnswer> answers;
    for (size_t stream = 0; stream < firsts.size(); ++stream) {
      ASSIGN_OR_RETURN(answers.emplace_back(), WriteText(asked, static_cast<uint64_t>(stream), firsts[stream], begin));
      if (answers.back().text.reason == FinishReason::kCancelled) return absl::CancelledError("terminated");
    }
    // Saved before the answer is written: on a busy disk a signal would leave too little time to save. The last Save reports an error.
    SaveAnswers(answerer_.speculation()).IgnoreError();
    return AnswerOf(request, asked, answers);
  }

  // Takes the request's adapter. The last adapter is given back before the new one is read, since there may be room for only one.
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
      run_.progress().Wrote(1);
      if (answer.first_token_seconds < 0) answer.first_token_seconds = SecondsSinceNanos(begin);
    };
    const int64_t computed = answerer_.timings().prompt_tokens;
    ASSIGN_OR_RETURN(answer.text, answerer_.Run(asked.prompt, options));
    answer.seconds = SecondsSinceNanos(begin);
    answer.shared_tokens = static_cast<int64_t>(asked.prompt.size()) - (answerer_.timings().prompt_tokens - computed);
    return answer;
  }

  Engine& engine_;
  Answerer& answerer_;
  const Adapters& adapters_;
  AdapterLease adapter_ = nullptr;   // That the answerer has,
  int number_ = Adapters::kNone;     // and the adapter's number.
  const RequestDefaults defaults_;
  RequestRun& run_;
};

}  // namespace

absl::Status AnswerInTurn(Engine& engine, double flash, LineReader& lines, const Adapters& adapters,
                          const std::shared_ptr<DraftModel>& draft, AnswerFile* into) {
  ASSIGN_OR_RETURN(Answerer answerer, AnswererOfFlags(engine, flash, draft));
  ASSIGN_OR_RETURN(RequestDefaults defaults, RequestDefaults::Of(engine));
  CatchSignals(CtrlC::kEndsProgram);
  RequestRun run(into, {.engine = &engine, .flash_bytes_per_second = flash});
  RequestsInTurn requests(engine, answerer, adapters, std::move(defaults), run);
  const absl::Status status = run.End(requests.Run(lines));
  return EndOf(status, FinishAnswers(engine, answerer.speculation()));
}

}  // namespace tessera

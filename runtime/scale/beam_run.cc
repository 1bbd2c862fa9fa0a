#include "tessera/runtime/scale/beam_run.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tessera/base/elapsed.h"
#include "tessera/base/random.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"
#include "tessera/runtime/chat/parallel_answers.h"
#include "tessera/runtime/chat/prompt_size.h"
#include "tessera/runtime/scale/confidence.h"
#include "tessera/runtime/scale/step_text.h"

namespace tessera {
namespace {

int RowsOf(const BeamOptions& beams) { return beams.width * beams.expansions; }

// A text so far.
struct Way {
  StepText text;
  TextConfidence confidence = {};
  uint64_t draws = 0;             // The sampler stream of the last step.
  std::vector<int> path = {};
  StreamId stream = 0;            // The scheduler's stream that writes the last step.
  bool written = false;           // The scheduler's stream has ended.
};

class BeamRun {
 public:
  BeamRun(Engine& engine, absl::Span<const TokenId> prompt, Scorer& scorer, const BeamRunOptions& options, const StepTextOptions& rules,
          BeamSearch search)
      : engine_(engine), prompt_(prompt), scorer_(scorer), options_(options), rules_(rules), clock_(engine.ClockOr(nullptr)),
        search_(std::move(search)), beams_{Way{.text = StepText(engine.tokenizer(), rules)}} {}

  absl::StatusOr<BeamTexts> Run(Stepper& stepper) {
    while (!search_.done()) {
      ++step_;
      std::vector<Way> ways = NextWays();
      RETURN_IF_ERROR(WriteSteps(stepper, ways));
      ASSIGN_OR_RETURN(const std::vector<double> scores, Score(ways));
      Keep(ways, scores);
      if (options_.on_step) options_.on_step(step_);
    }
    TakeTexts();
    result_.passes = stepper.report();
    return std::move(result_);
  }

 private:
  // Returns a copy of each beam for each of its continuations.
  std::vector<Way> NextWays() const {
    std::vector<Way> ways;
    for (const Way& beam : beams_) {
      for (int expansion = 0; expansion < search_.expansions(); ++expansion) {
        Way& way = ways.emplace_back(beam);
        if (step_ > 1) way.text.BeginStep();
        way.draws = step_ == 1 ? static_cast<uint64_t>(expansion) : StreamOfBeamStep(beam.draws, expansion);
        way.path.push_back(expansion);
        way.written = false;
      }
    }
    return ways;
  }

  absl::Status WriteSteps(Stepper& stepper, std::vector<Way>& ways) {
    unwritten_ = static_cast<int>(ways.size());
    result_.steps += unwritten_;
    for (size_t i = 0; i < ways.size(); ++i) ways[i].stream = stepper.Submit(StreamOf(ways[i], WhereOf(i, ways.size())));
    while (unwritten_ > 0) {
      RETURN_IF_ERROR(StepTimed(stepper));
      RETURN_IF_ERROR(error_);
      RETURN_IF_ERROR(CheckCancelled());
      // The delimiter is no stop string of the stream, since the stream does not know the beginning of the step. Cancelled between passes:
      // within a pass, Cancel would stop the pass, too.
      for (const Way& way : ways) {
        if (way.text.step_ended() && !way.written) stepper.Cancel(way.stream);
      }
    }
    const auto shorter = [](const Way& a, const Way& b) { return a.text.step_tokens() < b.text.step_tokens(); };
    result_.least_passes += std::max_element(ways.begin(), ways.end(), shorter)->text.step_tokens();
    return absl::OkStatus();
  }

  // Returns the stream of a text's next step. Stepper::Fork would need the stream before, which ends so that it has no row while others are
  // written. The tokens that this stream left in the cache begin the next stream.
  StreamOptions StreamOf(Way& way, const std::string& where) {
    StreamOptions stream = {.sampling = options_.sampling, .adapter = options_.adapter, .cancel = options_.cancel};
    stream.prompt.assign(prompt_.begin(), prompt_.end());
    stream.prompt.insert(stream.prompt.end(), way.text.tokens().begin(), way.text.tokens().end());
    const int left = rules_.max_tokens - static_cast<int>(way.text.tokens().size());
    stream.text = {.max_tokens = std::min(rules_.max_step_tokens, left), .stream = way.draws};
    stream.text.on_token = [this, &way](TokenId token, absl::Span<const float> logits) {
      if (way.text.step_ended()) return;
      way.text.Add(token);
      way.confidence.Add(token, logits);
      ++result_.timings.output_tokens;
    };
    stream.on_end = [this, &way, where](const absl::StatusOr<Generation>& written) {
      way.written = true;
      --unwritten_;
      if (!error_.ok()) return;
      if (!written.ok()) error_ = Named(where, written.status());
      else if (!way.text.step_ended()) error_ = absl::CancelledError("stopped");
      // The first stream that read the prompt.
      else if (way.path == std::vector<int>{0}) result_.shared_tokens = written->shared_tokens;
    };
    return stream;
  }

  absl::Status StepTimed(Stepper& stepper) {
    Timings& timings = result_.timings;
    const int64_t tokens = timings.output_tokens, rows = stepper.report().prompt_rows, begin = clock_.NowNanos();
    RETURN_IF_ERROR(stepper.Step().status());
    const double seconds = SecondsSince(begin);
    if (tokens == 0) {
      timings.prompt_seconds += seconds;
      timings.prompt_tokens += stepper.report().prompt_rows - rows;
    } else {
      timings.generation_seconds += seconds;
      timings.timed_tokens += timings.output_tokens - tokens;
    }
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<double>> Score(const std::vector<Way>& ways) {
    const int64_t begin = clock_.NowNanos();
    std::vector<double> scores;
    for (size_t i = 0; i < ways.size(); ++i) {
      RETURN_IF_ERROR(CheckCancelled());
      const absl::StatusOr<double> score = scorer_.Score(SampleOf(ways[i]));
      if (!score.ok()) return Named(absl::StrCat(WhereOf(i, ways.size()), ", scorer ", scorer_.name()), score.status());
      scores.push_back(*score);
    }
    result_.scoring_seconds += SecondsSince(begin);
    return scores;
  }

  SampleText SampleOf(const Way& way) const {
    return {.prompt = prompt_,
            .tokens = way.text.tokens(),
            .text = way.text.text(),
            .mean_log_probability = way.confidence.mean_log_probability(),
            .self_certainty = way.confidence.self_certainty(),
            .problem = options_.problem};
  }

  // Passes scores and ends to the search, without text. The ends of steps are decided already, and a step may begin with a delimiter that
  // ends no step.
  void Keep(std::vector<Way>& ways, const std::vector<double>& scores) {
    const int each = search_.expansions();
    const size_t ended = search_.ended().size();
    std::vector<BeamSearch::Step> steps;
    for (size_t i = 0; i < ways.size(); ++i) steps.push_back({.score = scores[i], .ended = ways[i].text.ended()});
    search_.Advance(steps);
    beams_.clear();
    int number = 0;
    const auto keep = [&](const BeamSearch::Beam& beam, std::vector<Way>& among) {
      Way& way = ways[static_cast<size_t>(beam.from)];
      result_.kept.push_back({.step = step_, .beam = ++number, .from = step_ == 1 ? 0 : beam.from / each + 1, .score = beam.score,
                              .ended = beam.ended, .text = std::string(way.text.step())});
      among.push_back(std::move(way));
    };
    for (const BeamSearch::Beam& beam : search_.beams()) keep(beam, beams_);
    for (size_t i = ended; i < search_.ended().size(); ++i) keep(search_.ended()[i], ended_);
  }

  void TakeTexts() {
    const std::vector<BeamSearch::Beam>& results = search_.results();
    const std::vector<Way>& ways = search_.ended().empty() ? beams_ : ended_;
    for (size_t i = 0; i < ways.size(); ++i) {
      const Way& way = ways[i];
      result_.texts.push_back({.tokens = {way.text.tokens().begin(), way.text.tokens().end()},
                               .text = std::string(way.text.text()),
                               .reason = way.text.ended() ? way.text.reason() : FinishReason::kLength,
                               .score = results[i].score,
                               .mean_log_probability = way.confidence.mean_log_probability(),
                               .self_certainty = way.confidence.self_certainty(),
                               .path = way.path});
    }
    result_.best_index = static_cast<size_t>(&search_.best() - results.data());
  }

  absl::Status CheckCancelled() const {
    for (const std::atomic<bool>* const flag : {options_.cancel, engine_.options().cancel}) {
      if (flag != nullptr && flag->load()) return absl::CancelledError("stopped");
    }
    return absl::OkStatus();
  }

  std::string WhereOf(size_t way, size_t ways) const { return absl::StrCat("beam search, step ", step_, ", text ", way + 1, " of ", ways); }

  static absl::Status Named(const std::string& where, const absl::Status& status) {
    if (absl::IsCancelled(status)) return status;
    return absl::Status(status.code(), absl::StrCat(where, ": ", status.message()));
  }

  double SecondsSince(int64_t nanos) const { return ElapsedSeconds(nanos, clock_.NowNanos()); }

  Engine& engine_;
  const absl::Span<const TokenId> prompt_;
  Scorer& scorer_;
  const BeamRunOptions& options_;
  const StepTextOptions& rules_;
  const Clock& clock_;
  BeamSearch search_;
  std::vector<Way> beams_, ended_;   // In the order of the search.
  int step_ = 0;
  int unwritten_ = 0;                // Streams of this step that have not ended.
  absl::Status error_;               // The first error of a stream.
  BeamTexts result_;
};

}  // namespace

uint64_t StreamOfBeamStep(uint64_t stream, int expansion) {
  constexpr uint64_t kBeamSteps = 0x6265616D73;   // "beams": no other draws use this key.
  return CounterRandom(kBeamSteps, stream, static_cast<uint64_t>(expansion));
}

absl::Status CheckBeams(const BeamRunOptions& options) {
  RETURN_IF_ERROR(BeamSearch::Create(options.beams).status());
  const int rows = RowsOf(options.beams);
  const std::string shape = absl::StrCat(options.beams.width, "x", options.beams.expansions);
  if (rows > kMostTexts) return WrongUsage("beam", absl::StrCat(shape, ", ", rows, " texts"), absl::StrCat("at most ", kMostTexts));
  if (options.max_step_tokens < 1) return WrongUsage("max_step_tokens", options.max_step_tokens, "1 or more");
  if (options.max_tokens < 0) return WrongUsage("max_tokens", options.max_tokens, "0 or more");
  RETURN_IF_ERROR(Sampler::Create(options.sampling).status());
  if (options.sampling.repetition_penalty != 1 && options.sampling.penalty_window != 0) {
    return WrongUsage("repetition_penalty", absl::StrCat(options.sampling.repetition_penalty, " with beams"),
                      "1: a step is drawn without the steps before it, at which a penalty looks back");
  }
  if (CheckAnswersDiffer(rows, options.sampling).ok()) return absl::OkStatus();
  return WrongUsage("beam", absl::StrCat(shape, " with sampling that always takes the likeliest token"),
                    "1x1, since all steps would be the same, or other sampling (temperature, top_k, min_p)");
}

absl::Status PlanBeams(const BeamRunOptions& options, EngineOptions& engine) {
  RETURN_IF_ERROR(CheckBeams(options));
  const int64_t rows = RowsOf(options.beams);
  RETURN_IF_ERROR(PlanParallel({.texts = static_cast<int>(rows), .speculation = {.speculate = "none"}}, engine));
  const int64_t text = options.max_tokens == 0 ? kUsualText : options.max_tokens;
  const int64_t wanted = kUsualText + options.beams.width * text + rows * std::min<int64_t>(text, options.max_step_tokens);
  engine.cache.text_share = static_cast<int>(std::min<int64_t>((wanted + rows - 1) / rows, kMostContext));
  return absl::OkStatus();
}

absl::StatusOr<BeamTexts> RunBeams(Engine& engine, absl::Span<const TokenId> prompt, Scorer& scorer, const BeamRunOptions& options) {
  RETURN_IF_ERROR(CheckBeams(options));
  RETURN_IF_ERROR(CheckTokensFit(prompt.size(), engine.context()));
  // No word of a text comes from a file that is damaged anywhere.
  RETURN_IF_ERROR(engine.AwaitWeights(Engine::WeightsAre::kVerified));
  const int room = engine.context() + 1 - static_cast<int>(prompt.size());   // The last token of a text is not computed.
  const bool is_limit = options.max_tokens > 0 && options.max_tokens <= room;
  const StepTextOptions rules = {.delimiter = options.beams.delimiter,
                                 .max_step_tokens = options.max_step_tokens,
                                 .max_tokens = is_limit ? options.max_tokens : room,
                                 .at_most = is_limit ? FinishReason::kLength : FinishReason::kContextFull,
                                 .stop = options.stop,
                                 .starts_text = options.starts_text};
  ASSIGN_OR_RETURN(BeamSearch search, BeamSearch::Create(options.beams));
  BeamRun run(engine, prompt, scorer, options, rules, std::move(search));   // Destroyed last: streams call `run`.
  ASSIGN_OR_RETURN(const std::unique_ptr<Stepper> stepper, Stepper::Create(engine, {.most_texts = RowsOf(options.beams)}));
  return run.Run(*stepper);
}

}  // namespace tessera

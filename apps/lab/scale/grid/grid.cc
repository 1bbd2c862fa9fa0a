#include "tessera/apps/lab/scale/grid/grid.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tessera/apps/cli/flags/scorer_flags.h"
#include "tessera/apps/lab/scale/grid/command_text.h"
#include "tessera/apps/lab/scale/grid/grid_beams.h"
#include "tessera/apps/lab/scale/grid/grid_folder.h"
#include "tessera/apps/lab/scale/grid/grid_methods.h"
#include "tessera/apps/lab/scale/grid/grid_scores.h"
#include "tessera/apps/lab/scale/grid/host_times.h"
#include "tessera/apps/lab/scale/grid/run_settings.h"
#include "tessera/apps/lab/scale/judging/judge.h"
#include "tessera/apps/lab/scale/judging/judge_recorded.h"
#include "tessera/apps/lab/scale/tasks/asked_task.h"
#include "tessera/apps/lab/scale/tasks/task_samples.h"
#include "tessera/base/progress.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"

namespace tessera {
namespace {

constexpr char kBeam[] = "beam";

bool Has(const GridOptions& options, absl::string_view method) {
  return std::find(options.methods.begin(), options.methods.end(), method) != options.methods.end();
}

// Returns the counts that are also rows of a search.
std::vector<int> BeamRows(const GridOptions& options) {
  std::vector<int> rows;
  for (const int count : options.counts) {
    if (count > 1 && Has(options, kBeam)) rows.push_back(count);
  }
  return rows;
}

// Whether a method chooses among whole samples by a score.
bool SelectsByScore(const GridOptions& options) {
  return std::any_of(options.methods.begin(), options.methods.end(),
                     [](const std::string& method) { return method != kBeam && AsksScorer(method); });
}

int64_t ParametersOf(const GgufFile& file) {
  int64_t parameters = 0;
  for (const GgufTensor& tensor : file.tensors()) {
    parameters += std::accumulate(tensor.shape.begin(), tensor.shape.end(), int64_t{1}, [](int64_t a, int64_t b) { return a * b; });
  }
  return parameters;
}

// Returns the settings that samples depend on, by the names of flags if there is a flag.
std::vector<std::pair<std::string, std::string>> SettingsOf(const Engine& engine, const std::vector<std::unique_ptr<AskedTask>>& tasks,
                                                            const SampleOptions& samples) {
  std::string forms;
  for (const auto& asked : tasks) absl::StrAppend(&forms, forms.empty() ? "" : ",", asked->prompts.form);
  const SamplingOptions& sampling = samples.sampling;
  return {{"samples", absl::StrCat(samples.samples)},
          {"chat_template", forms},
          {"n_predict", absl::StrCat(samples.max_tokens)},
          {"context", absl::StrCat(engine.context())},
          {"temperature", absl::StrCat(sampling.temperature)},
          {"top_k", absl::StrCat(sampling.top_k)},
          {"top_p", absl::StrCat(sampling.top_p)},
          {"min_p", absl::StrCat(sampling.min_p)},
          {"repetition_penalty", absl::StrCat(sampling.repetition_penalty)},
          {"penalty_window", absl::StrCat(sampling.penalty_window)},
          {"seed", absl::StrCat(sampling.seed)}};
}

// Returns the figures of a method; null: there are none. "one sample" is a method of its own, with any counts.
const MethodFigures* FigureOf(const std::vector<MethodFigures>& figures, absl::string_view method, int count) {
  const std::optional<Selection> selection = SelectionOf(method);
  const absl::string_view name = selection.has_value() ? SelectionName(*selection) : method == kBeam ? kBeam : "one sample";
  const auto found = std::find_if(figures.begin(), figures.end(),
                                  [&](const MethodFigures& figure) { return figure.samples == count && figure.method == name; });
  return found == figures.end() ? nullptr : &*found;
}

// Returns lengths of samples that take as many passes and rows as a search. One sample is as long as the whole search; the others share the
// rest of the rows.
std::vector<double> LengthsOf(const BeamFigures& figures, double prompt_tokens, int rows) {
  const double passes = std::max(figures.passes - 1, 0.0);   // Without the pass over the prompt.
  const double others = std::clamp((figures.rows - prompt_tokens - passes) / std::max(rows - 1, 1), 0.0, passes);
  std::vector<double> lengths(static_cast<size_t>(rows), others);
  lengths[0] = passes;
  return lengths;
}

class GridRun {
 public:
  GridRun(Engine& engine, const GridSource& source, const GridOptions& options)
      : engine_(engine), source_(source), options_(options), figure_(FigureOfScorer(options.scorer)) {}

  absl::Status Begin(const std::vector<Task>& tasks) {
    for (const Task& task : tasks) {
      ASSIGN_OR_RETURN(AskedTask asked, AskedTask::Create(engine_, task, options_.questions));
      tasks_.push_back(std::make_unique<AskedTask>(std::move(asked)));
    }
    for (const int rows : BeamRows(options_)) RETURN_IF_ERROR(CheckBeams(BeamRunOf(rows)));
    return ForFile("into", BeginGrid(options_.folder, About()));
  }

  absl::Status Write() {
    for (const auto& asked : tasks_) {
      const std::string path = GridSamplesPath(options_.folder, asked->task.name);
      const SampleOptions samples = asked->SamplesOf(options_.samples);
      const std::string model = ModelSettings(source_.model);
      RETURN_IF_ERROR(WriteTaskSamples(engine_, asked->task, asked->prompts, model, samples, path, options_.kept).status());
      RETURN_IF_ERROR(ForFile("into", asked->ReadSamples(path)));
      for (const int rows : BeamRows(options_)) {
        ASSIGN_OR_RETURN(const std::unique_ptr<Scorer> scorer, ScorerOf(*asked));
        RETURN_IF_ERROR(BeamsOf(*scorer).Write(engine_, asked->task, asked->prompts, rows, BeamPath(*asked, rows)).status());
      }
    }
    return absl::OkStatus();
  }

  absl::Status Time() {
    absl::StatusOr<HostTimes> times = HostTimes::Read(GridTimesPath(options_.folder), MachineName(engine_));
    RETURN_IF_ERROR(ForFile("into", times.status()));
    const std::vector<int> beams = BeamRows(options_);
    std::string scorer;
    if (!beams.empty()) {
      ASSIGN_OR_RETURN(scorer, ScorerSettings(options_.scorer));
    }
    for (const auto& asked : tasks_) {
      Progress progress(absl::StrCat("timing of ", asked->task.name), static_cast<int64_t>(options_.counts.size() + beams.size()));
      int64_t done = 0;
      for (const int count : options_.counts) {
        RETURN_IF_ERROR(TimeOne(*asked, {.task = asked->task.name, .samples = count}, *times));
        progress.Update(++done);
      }
      for (const int rows : beams) {
        RETURN_IF_ERROR(TimeOne(*asked, {.task = asked->task.name, .samples = rows, .beams = true, .scorer = scorer}, *times));
        progress.Update(++done);
      }
    }
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<GridResult>> Judge() {
    std::vector<GridResult> results;
    for (const auto& asked : tasks_) {
      if (IsCode(asked->task.kind)) RETURN_IF_ERROR(CheckCode(asked->task, asked->recorded));
      if (SelectsByScore(options_) && !IsOwnFigure(figure_)) RETURN_IF_ERROR(AddModelScores(*asked));
      RETURN_IF_ERROR(JudgeTask(*asked, results));
    }
    RETURN_IF_ERROR(WriteGridResults(GridResultsPath(options_.folder), results));
    return results;
  }

 private:
  GridAbout About() const {
    GridAbout about = {.command = source_.command, .model = source_.model.name, .model_sha256 = source_.model.sha256,
                       .parameters = ParametersOf(engine_.model().gguf()), .settings = SettingsOf(engine_, tasks_, options_.samples)};
    for (const auto& asked : tasks_) {
      const int64_t questions = static_cast<int64_t>(asked->task.problems.size());
      about.tasks.push_back({.task = asked->task.name, .questions = questions, .problems = asked->problems,
                             .sha256 = HashOfQuestions(asked->task, questions)});
    }
    return about;
  }

  BeamRunOptions BeamRunOf(int rows) const {
    BeamRunOptions run = options_.beams;
    run.sampling = options_.samples.sampling;
    run.max_tokens = options_.samples.max_tokens;
    run.beams.width = BeamsOfRows(rows).width;
    run.beams.expansions = BeamsOfRows(rows).expansions;
    return run;
  }
  absl::StatusOr<std::unique_ptr<Scorer>> ScorerOf(const AskedTask& asked) const {
    const bool raw = asked.prompts.form == "raw";
    return MakeScorer(options_.scorer, engine_, {.steps = {.delimiter = options_.beams.beams.delimiter}, .raw = raw});
  }
  GridBeams BeamsOf(Scorer& scorer) const {
    return {.scorer = &scorer, .spec = options_.scorer, .model = ModelSettings(source_.model), .run = BeamRunOf(2)};
  }
  std::string BeamPath(const AskedTask& asked, int rows) const {
    const BeamOptions shape = BeamsOfRows(rows);
    return GridScoresPath(options_.folder, asked.task.name, absl::StrCat("beam", shape.width, "x", shape.expansions, ".", figure_));
  }

  absl::Status TimeOne(const AskedTask& asked, HostTime time, HostTimes& times) {
    if (times.Find(time.task, time.samples, time.scorer) != nullptr) return absl::OkStatus();
    ASSIGN_OR_RETURN(const std::unique_ptr<Scorer> scorer,
                     time.beams ? ScorerOf(asked) : absl::StatusOr<std::unique_ptr<Scorer>>(nullptr));
    SampleOptions samples = asked.SamplesOf(options_.samples);
    samples.samples = time.samples;
    const auto write = [&](const SampleProblem& question, bool warm_up) -> absl::StatusOr<int64_t> {
      if (!time.beams) return WriteAlone(engine_, question, samples, warm_up);
      return BeamsOf(*scorer).WriteAlone(engine_, asked.task, asked.prompts, question, time.samples, warm_up);
    };
    RETURN_IF_ERROR(TimeQuestions(engine_, asked.TypicalQuestions(options_.timed_questions), write, time));
    return times.Add(time);
  }

  // Returns the settings that tessera_scale score writes, with the usual steps.
  absl::StatusOr<std::string> ScoreSettingsOf(const AskedTask& asked, const std::string& samples) const {
    ASSIGN_OR_RETURN(const ScorerSpec spec, ParseScorer(options_.scorer));
    ASSIGN_OR_RETURN(const std::string scorer, ScorerSettings(options_.scorer));
    ASSIGN_OR_RETURN(const bool statements, ReadsStatements(spec, engine_));
    return ScoreSettings({.task = asked.task.name,
                          .problems_sha256 = asked.set_sha256,
                          .file = samples.substr(samples.rfind('/') + 1),
                          .model = ModelSettings(source_.model),
                          .form = statements ? "statement" : asked.prompts.form,
                          .scorer = scorer,
                          .steps = spec.kind == ScorerKind::kReward ? "last" : ""});
  }

  absl::Status AddModelScores(AskedTask& asked) const {
    const std::string path = GridScoresPath(options_.folder, asked.task.name, figure_);
    const std::string samples = GridSamplesPath(options_.folder, asked.task.name);
    ASSIGN_OR_RETURN(const std::string settings, ScoreSettingsOf(asked, samples));
    const absl::Status added = AddScores(path, asked.task, figure_, asked.recorded);
    if (added.ok()) return ForFile("into", CheckScoreSettings(path, settings));
    return WrongUsage("scorer", absl::StrCat(figure_, " (", added.message(), ")"),
                      absl::StrCat("scores of all samples: ", source_.score_command, " --task=", asked.task.name, " --candidates=",
                                   ShellWord(samples), " --scorer=", ShellWord(options_.scorer), " --into=", ShellWord(path)));
  }

  absl::Status AddPhone(const std::vector<double>& lengths, GridResult& result) const {
    if (options_.phone == nullptr) return absl::OkStatus();
    GridPhone phone = {.device = options_.phone->device(), .shape = options_.phone->shape()};
    ASSIGN_OR_RETURN(phone.cost, options_.phone->Of(result.prompt_tokens, lengths));
    result.phone = std::move(phone);
    return absl::OkStatus();
  }

  // Returns a result with the cost of `count` samples, without the choice.
  absl::StatusOr<GridResult> CostOf(const AskedTask& asked, int count) const {
    const std::vector<double> lengths = asked.MeanLengthsOf(count);
    GridResult result = {.model = source_.model.name, .task = asked.task.name, .samples = count,
                         .questions = static_cast<int64_t>(asked.tokens.size()), .prompt_tokens = asked.MeanPromptTokens(),
                         .tokens = std::accumulate(lengths.begin(), lengths.end(), 0.0), .passes = lengths[0]};
    RETURN_IF_ERROR(AddPhone(lengths, result));
    return result;
  }

  // Returns the result of a search in place of samples of `rows` rows. Adds the search's figures to `figures`.
  absl::StatusOr<GridResult> SearchOf(const AskedTask& asked, int rows, const JudgeOptions& judge, GridResult result,
                                      std::vector<MethodFigures>& figures) const {
    const absl::StatusOr<BeamFigures> search = ReadBeams(BeamPath(asked, rows), asked.task);
    RETURN_IF_ERROR(ForFile("into", search.status()));
    std::vector<double> one;
    for (const Question& question : asked.recorded.questions) {
      const auto right = std::count_if(question.candidates.begin(), question.candidates.end(),
                                       [](const JudgedSample& c) { return c.right; });
      one.push_back(static_cast<double>(right) / static_cast<double>(question.candidates.size()));
    }
    figures.push_back(FiguresOf(kBeam, rows, search->right, one, judge));
    const std::vector<double> lengths = LengthsOf(*search, result.prompt_tokens, rows);
    result.tokens = search->tokens;
    result.passes = lengths[0];
    RETURN_IF_ERROR(AddPhone(lengths, result));
    return result;
  }

  absl::Status JudgeTask(const AskedTask& asked, std::vector<GridResult>& results) const {
    const JudgeOptions judge = {.samples = options_.counts, .draws = options_.draws, .seed = options_.seed};
    const std::string figure = SelectsByScore(options_) ? figure_ : "mean_log_probability";
    ASSIGN_OR_RETURN(const std::vector<JudgedQuestion> questions, JudgedQuestions(asked.recorded, &asked.task, figure, options_.seed));
    std::vector<MethodFigures> figures = JudgeSelections(questions, judge);
    for (const int count : options_.counts) {
      ASSIGN_OR_RETURN(const GridResult cost, CostOf(asked, count));
      for (const std::string& method : options_.methods) {
        GridResult result = cost;
        if (method == kBeam && count > 1) {
          ASSIGN_OR_RETURN(result, SearchOf(asked, count, judge, cost, figures));
        }
        const MethodFigures* const found = FigureOf(figures, method, count);
        if (found == nullptr) continue;
        result.method = method;
        result.scorer = AsksScorer(method) ? figure_ : "";
        result.right = found->accuracy;
        result.gain = found->gain;
        results.push_back(std::move(result));
      }
    }
    return absl::OkStatus();
  }

  Engine& engine_;
  const GridSource& source_;
  const GridOptions& options_;
  const std::string figure_;
  std::vector<std::unique_ptr<AskedTask>> tasks_;
};

}  // namespace

absl::Status CheckGrid(const GridOptions& options) {
  const int most = options.counts.back(), samples = options.samples.samples;
  if (most > samples) return WrongUsage("counts", most, absl::StrCat("at most ", samples, ", the samples of each question"));
  if (Has(options, "one") && options.counts[0] != 1) {
    return WrongUsage("counts", options.counts[0], "1 first: the method one is judged there");
  }
  if (most == 1 && options.methods != std::vector<std::string>{"one"}) {
    return WrongUsage("counts", "1 alone", "also larger numbers of samples, among which other methods than one choose");
  }
  if (Has(options, kBeam)) {
    RETURN_IF_ERROR(CheckBeamRows(options.counts));
    return CheckScorer(options.scorer);
  }
  if (IsOwnFigure(options.scorer)) return absl::OkStatus();
  return SelectsByScore(options) ? CheckScorer(options.scorer) : ParseScorer(options.scorer).status();
}

absl::Status PlanGrid(const GridOptions& options, EngineOptions& engine) {
  SampleOptions samples = options.samples;
  samples.together = std::max(samples.together, options.counts.back());
  EngineOptions searches = engine;
  RETURN_IF_ERROR(PlanSamples(samples, engine));
  const std::vector<int> rows = BeamRows(options);
  if (rows.empty()) return absl::OkStatus();
  BeamRunOptions run = options.beams;   // Sampling options take no memory.
  run.max_tokens = samples.max_tokens;
  run.beams.width = BeamsOfRows(rows.back()).width;
  run.beams.expansions = BeamsOfRows(rows.back()).expansions;
  RETURN_IF_ERROR(PlanBeams(run, searches));
  RETURN_IF_ERROR(PlanScorer(options.scorer, searches));
  // One engine generates samples and searches, one after the other: there is room for the larger of the two.
  const auto positions = [](const EngineOptions& planned) { return int64_t{planned.workload.sessions} * planned.cache.text_share; };
  if (positions(searches) > positions(engine)) engine.cache.text_share = searches.cache.text_share;
  engine.workload.sessions = std::max(engine.workload.sessions, searches.workload.sessions);
  engine.workload.logit_rows = std::max(engine.workload.logit_rows, searches.workload.logit_rows);
  engine.workload.least_logit_rows = std::max(engine.workload.least_logit_rows, searches.workload.least_logit_rows);
  engine.workload.drafting_bytes = searches.workload.drafting_bytes;
  return absl::OkStatus();
}

absl::StatusOr<std::vector<GridResult>> RunGrid(Engine& engine, const std::vector<Task>& tasks, const GridSource& source,
                                                const GridOptions& options) {
  GridRun run(engine, source, options);
  RETURN_IF_ERROR(run.Begin(tasks));
  RETURN_IF_ERROR(run.Write());
  RETURN_IF_ERROR(run.Time());
  return run.Judge();
}

}  // namespace tessera

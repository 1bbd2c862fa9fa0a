#include "tessera/apps/lab/scale/tasks/recorded_texts.h"

#include <limits>
#include <set>

#include "absl/strings/str_cat.h"
#include "tessera/apps/cli/flags/flags.h"
#include "tessera/apps/lab/scale/tasks/task_prompts.h"
#include "tessera/base/quoted.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"
#include "tessera/model/text/encode_behind.h"

namespace tessera {
namespace {

std::string WithoutFolders(const std::string& path) { return path.substr(path.rfind('/') + 1); }

absl::Status CheckNumbers(const Recorded& recorded) {
  for (const Question& question : recorded.questions) {
    std::set<int> numbers;
    for (size_t place = 0; place < question.candidates.size(); ++place) {
      const int number = NumberOf(question, place);
      if (numbers.insert(number).second) continue;
      return WrongUsage("candidates", absl::StrCat("sample ", number, " of problem ", Quoted(question.id), " twice"), "each number once");
    }
  }
  return absl::OkStatus();
}

}  // namespace

int NumberOf(const Question& question, size_t place) {
  const auto number = question.candidates[place].figures.find("sample");
  return number == question.candidates[place].figures.end() ? static_cast<int>(place) : static_cast<int>(number->second);
}

int64_t RecordedSet::samples() const {
  int64_t samples = 0;
  for (const Question& question : recorded.questions) samples += static_cast<int64_t>(question.candidates.size());
  return samples;
}

absl::StatusOr<RecordedSet> RecordedSetOfFlags() {
  ASSIGN_OR_RETURN(const Half half, HalfOfName(FLAGS_split));
  absl::StatusOr<Task> task = ReadTask(FLAGS_data, FLAGS_task);
  RETURN_IF_ERROR(ForFile("data", task.status()));
  RecordedSet set = {.task = *std::move(task), .file = FLAGS_candidates};
  if (!set.file.empty()) {
    absl::StatusOr<Recorded> recorded = ReadCandidates(FLAGS_candidates, set.task, half);
    RETURN_IF_ERROR(ForFile("candidates", recorded.status()));
    set.recorded = *std::move(recorded);
  } else if (FLAGS_task == "gsm8k") {
    absl::StatusOr<Recorded> recorded = ReadGsm8kSolutions(FLAGS_data, half, &set.task);
    RETURN_IF_ERROR(ForFile("data", recorded.status()));
    set.recorded = *std::move(recorded);
    set.file = "gsm8k_model_solutions.jsonl";
  } else {
    return WrongUsage("task", absl::StrCat(FLAGS_task, " without --candidates"), "gsm8k, of which samples are recorded");
  }
  set.file = WithoutFolders(set.file);
  RETURN_IF_ERROR(CheckNumbers(set.recorded));
  return set;
}

absl::StatusOr<RecordedTexts> RecordedTexts::Create(const RecordedSet& set, const Engine& engine, PromptForm form) {
  RecordedTexts texts(set, engine);
  if (form == PromptForm::kStatement) {
    texts.form_ = "statement";
    for (const Problem& problem : set.task.problems) {
      texts.prompts_[problem.id] = engine.tokenizer().Encode(absl::StrCat(problem.statement, "\n"), {.add_bos = true});
    }
    return texts;
  }
  ASSIGN_OR_RETURN(TaskPrompts prompts, PromptsOfTask(engine, set.task, std::numeric_limits<int>::max()));
  texts.form_ = prompts.form;
  for (SampleProblem& problem : prompts.problems) texts.prompts_[problem.id] = std::move(problem.prompt);
  return texts;
}

std::vector<TokenId> RecordedTexts::TokensBehind(absl::Span<const TokenId> prompt, absl::string_view text) const {
  const bool is_text = form_ == "statement" || form_ == "raw";
  return is_text ? EncodeBehind(engine_->tokenizer(), prompt, text) : EncodeAnswer(engine_->tokenizer(), prompt, text);
}

absl::Status RecordedTexts::ForEach(absl::FunctionRef<absl::Status(const RecordedSample& text)> visit) const {
  for (const Question& question : set_->recorded.questions) {
    for (size_t place = 0; place < question.candidates.size(); ++place) {
      const JudgedSample& candidate = question.candidates[place];
      const std::vector<TokenId>& prompt = prompts_.at(question.id);
      const RecordedSample text = {.question = &question, .candidate = &candidate, .sample = NumberOf(question, place),
                                 .prompt = prompt, .tokens = TokensBehind(prompt, candidate.text)};
      const absl::Status status = visit(text);
      if (status.ok() || absl::IsCancelled(status)) {
        RETURN_IF_ERROR(status);
        continue;
      }
      absl::Status named(status.code(), absl::StrCat("problem ", question.id, ", sample ", text.sample, ": ", status.message()));
      return LimitedBy(LimitOf(status), named);
    }
  }
  return absl::OkStatus();
}

}  // namespace tessera

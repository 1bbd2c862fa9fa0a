#include "tessera/apps/lab/scale/judging/candidates.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "tessera/apps/lab/scale/tasks/records.h"
#include "tessera/base/quoted.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"
#include "tessera/runtime/scale/value/extract_answer.h"
#include "tessera/runtime/scale/value/same_answer.h"

namespace tessera {
namespace {

uint64_t Fnv1a(absl::string_view text) {
  uint64_t hash = 0xCBF29CE484222325u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  return hash;
}

JudgedSample CandidateOf(TaskKind kind, const std::string& right_answer, std::string text) {
  JudgedSample candidate = {.text = std::move(text)};
  candidate.answer = AnswerIn(kind, candidate.text);
  candidate.right = !IsCode(kind) && candidate.answer.has_value() && SameAnswer(*candidate.answer, right_answer);
  return candidate;
}

absl::Status CheckSome(const Recorded& recorded, const std::string& path) {
  if (!recorded.questions.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(path, ": found no question of this half, expected some"));
}

// Adds the four solutions of a record, in a fixed order of names.
absl::Status AddSolutions(const JsonValue& record, const std::string& answer, Question& question, Recorded& recorded) {
  for (const char* const name : {"6b_finetuning", "6b_verification", "175b_finetuning", "175b_verification"}) {
    ASSIGN_OR_RETURN(const JsonValue solution, record.Object(name));
    ASSIGN_OR_RETURN(std::string text, solution.String("solution"));
    ASSIGN_OR_RETURN(const bool right, solution.Bool("is_correct"));
    question.candidates.push_back(CandidateOf(TaskKind::kNumber, answer, std::move(text)));
    recorded.agreeing += question.candidates.back().right == right;
    ++recorded.stated;
  }
  return absl::OkStatus();
}

// Adds the numbers of a sample's line.
absl::Status AddFigures(const JsonValue& record, JudgedSample& candidate) {
  for (const std::string& key : record.Keys()) {
    ASSIGN_OR_RETURN(const JsonValue value, record.Value(key));
    if (!value.is_number() || key == "id") continue;
    ASSIGN_OR_RETURN(candidate.figures[key], value.AsDouble());
  }
  return absl::OkStatus();
}

// Orders samples by the number that a run gave, if any. A run writes samples in the order of their ends, which differs from run to run.
bool ComesFirst(const JudgedSample& a, const JudgedSample& b) {
  const auto number_a = a.figures.find("sample"), number_b = b.figures.find("sample");
  return number_a != a.figures.end() && number_b != b.figures.end() && number_a->second < number_b->second;
}

// Returns the task's problems by statement. Null: none.
absl::flat_hash_map<absl::string_view, const Problem*> ByStatement(const Task* task) {
  absl::flat_hash_map<absl::string_view, const Problem*> problems;
  if (task == nullptr) return problems;
  for (const Problem& problem : task->problems) problems.emplace(problem.statement, &problem);
  return problems;
}

absl::StatusOr<std::string> IdOf(const JsonValue& record) {
  ASSIGN_OR_RETURN(const JsonValue value, record.Value("id"));
  if (value.kind() != JsonValue::Kind::kInt) return value.AsString();
  ASSIGN_OR_RETURN(const int64_t number, value.AsInt());
  return absl::StrCat(number);
}

}  // namespace

absl::StatusOr<Half> HalfOfName(const std::string& name) {
  if (name == "all") return Half::kAll;
  if (name == "train") return Half::kTrain;
  if (name == "test") return Half::kTest;
  return WrongUsage("split", Quoted(name), "all, train or test");
}

bool IsIn(Half half, absl::string_view question) {
  return half == Half::kAll || (Fnv1a(question) % 2 == 0) == (half == Half::kTrain);
}

absl::StatusOr<Recorded> ReadGsm8kSolutions(const std::string& folder, Half half, const Task* task) {
  ASSIGN_OR_RETURN(const EvaluationFile file, ReadEvaluationFile(folder, "gsm8k_model_solutions.jsonl"));
  Recorded recorded;
  const absl::flat_hash_map<absl::string_view, const Problem*> problems = ByStatement(task);
  const auto read = [&](const JsonValue& record, int line) -> absl::Status {
    ASSIGN_OR_RETURN(const std::string text, record.String("question"));
    ASSIGN_OR_RETURN(const std::string truth, record.String("ground_truth"));
    const std::optional<std::string> answer = ExtractNumber(truth);
    if (!answer.has_value()) {
      ASSIGN_OR_RETURN(const JsonValue value, record.Value("ground_truth"));
      return value.Error(Quoted(truth), "a solution with a number");
    }
    Question question = {.id = absl::StrCat(line)};
    Recorded own;
    RETURN_IF_ERROR(AddSolutions(record, *answer, question, own));
    if (!IsIn(half, text)) return absl::OkStatus();
    if (task != nullptr) {
      const auto problem = problems.find(text);
      if (problem == problems.end()) return absl::OkStatus();
      question.id = problem->second->id;
      question.problem = problem->second;
    }
    recorded.questions.push_back(std::move(question));
    recorded.agreeing += own.agreeing;
    recorded.stated += own.stated;
    return absl::OkStatus();
  };
  RETURN_IF_ERROR(ForEachRecord(file, read));
  RETURN_IF_ERROR(CheckSome(recorded, file.source));
  return recorded;
}

absl::StatusOr<Recorded> ReadCandidates(const std::string& path, const Task& task, Half half) {
  absl::flat_hash_map<std::string, size_t> places;
  std::vector<Question> all;
  for (const Problem& problem : task.problems) {
    places.emplace(problem.id, all.size());
    all.push_back({.id = problem.id, .problem = &problem});
  }
  const auto read = [&](const JsonValue& record, int) -> absl::Status {
    ASSIGN_OR_RETURN(const std::string id, IdOf(record));
    const auto place = places.find(id);
    if (place == places.end()) {
      ASSIGN_OR_RETURN(const JsonValue value, record.Value("id"));
      return value.Error(Quoted(id), absl::StrCat("that of a problem of ", task.name));
    }
    Question& question = all[place->second];
    ASSIGN_OR_RETURN(std::string text, record.String("text"));
    if (!IsIn(half, question.problem->statement)) return absl::OkStatus();
    JudgedSample candidate = CandidateOf(task.kind, question.problem->answer, std::move(text));
    RETURN_IF_ERROR(AddFigures(record, candidate));
    question.candidates.push_back(std::move(candidate));
    return absl::OkStatus();
  };
  RETURN_IF_ERROR(ForEachRecord(path, read));
  for (Question& question : all) std::stable_sort(question.candidates.begin(), question.candidates.end(), ComesFirst);
  std::erase_if(all, [](const Question& question) { return question.candidates.empty(); });
  Recorded recorded = {.questions = std::move(all)};
  RETURN_IF_ERROR(CheckSome(recorded, path));
  return recorded;
}

}  // namespace tessera

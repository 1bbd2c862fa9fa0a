#include "tessera/apps/phone/phone_command.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "tessera/apps/cli/flags/engine_flags.h"
#include "tessera/apps/cli/flags/flags.h"
#include "tessera/apps/cli/text/input.h"
#include "tessera/apps/cli/text/jsonl.h"
#include "tessera/apps/cli/text/output.h"
#include "tessera/apps/phone/phone_report_text.h"
#include "tessera/base/json.h"
#include "tessera/base/nearest_name.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/text_file.h"
#include "tessera/base/trace_writer.h"
#include "tessera/base/usage_error.h"

namespace tessera {
namespace {

constexpr int64_t kTraceEvents = 1 << 18;   // A pass of 48 layers with 20 operators each has a few thousand; a file may have more layers.

absl::StatusOr<int> CountOf(const char* field, const std::string& text) {
  int count = 0;
  if (absl::SimpleAtoi(text, &count)) return count;
  return WrongUsage(field, text, "a number of tokens");
}

absl::StatusOr<std::vector<int>> RanksOf(const std::string& list) {
  std::vector<int> ranks;
  for (const absl::string_view text : absl::StrSplit(list, ',')) {
    if (!absl::SimpleAtoi(text, &ranks.emplace_back())) return WrongUsage("lora_ranks", list, "ranks, with commas between");
  }
  return ranks;
}

absl::StatusOr<PhoneQuestion> QuestionOfFlags() {
  PhoneQuestion question = {
      .recipe = FLAGS_recipe, .decode = FLAGS_decode, .chunk_rows = FLAGS_chunk_rows, .adapter_rank = FLAGS_adapter_rank};
  if (IsGiven("device")) question.device = FLAGS_device;
  if (IsGiven("shape") && IsGiven("model")) return WrongUsage("shape", "beside --model", "one of them");
  if (IsGiven("shape")) {
    question.shape = FLAGS_shape;
  } else if (IsGiven("model") || !FLAGS_jsonl) {
    ASSIGN_OR_RETURN(question.model, ModelPath());
  }
  if (IsGiven("prompt")) {
    ASSIGN_OR_RETURN(question.prompt, CountOf("prompt", FLAGS_prompt));
  }
  if (IsGiven("rows")) {
    ASSIGN_OR_RETURN(question.rows, AscendingOfFlag("rows", FLAGS_rows, kMostPhoneRows));
  }
  if (FLAGS_context != 0) question.context = FLAGS_context;
  ASSIGN_OR_RETURN(question.lora_mode, LoraModeFromName(FLAGS_lora_mode));
  if (IsGiven("lora_mode") && !IsGiven("lora_ranks") && !FLAGS_jsonl) return WrongUsage("lora_mode", "without --lora_ranks", "both");
  if (IsGiven("lora_ranks")) {
    ASSIGN_OR_RETURN(question.lora_ranks, RanksOf(FLAGS_lora_ranks));
  }
  return question;
}

// Sets the field of this name. Returns false if there is none.
absl::StatusOr<bool> SetField(const std::string& key, const JsonValue& value, PhoneQuestion& question) {
  const std::pair<const char*, std::string*> texts[] = {
      {"device", &question.device}, {"model", &question.model}, {"shape", &question.shape}, {"recipe", &question.recipe}};
  const std::pair<const char*, int*> counts[] = {{"prompt", &question.prompt}, {"decode", &question.decode}, {"context", &question.context},
                                                 {"chunk_rows", &question.chunk_rows}, {"adapter_rank", &question.adapter_rank}};
  for (const auto& [name, place] : texts) {
    if (key != name) continue;
    ASSIGN_OR_RETURN(*place, value.AsString());
    if (key == "shape") question.model.clear();   // The line's shape replaces the flag's model.
    return true;
  }
  for (const auto& [name, place] : counts) {
    if (key != name) continue;
    ASSIGN_OR_RETURN(const int64_t count, value.AsInt(0, kMostPhoneTokens));
    *place = static_cast<int>(count);
    return true;
  }
  if (key == "lora_mode") {
    ASSIGN_OR_RETURN(const std::string name, value.AsString());
    ASSIGN_OR_RETURN(question.lora_mode, LoraModeFromName(name));
    return true;
  }
  if (key != "rows" && key != "lora_ranks") return false;
  ASSIGN_OR_RETURN(const std::vector<int64_t> numbers, value.AsInts(1, kMostPhoneRows));
  (key == "rows" ? question.rows : question.lora_ranks).assign(numbers.begin(), numbers.end());
  return true;
}

// Returns the question of the flags, changed by a line of --jsonl.
absl::StatusOr<PhoneQuestion> QuestionOfLine(const std::string& line, int64_t number, PhoneQuestion question) {
  ASSIGN_OR_RETURN(const JsonValue json, JsonValue::Parse(line, SourceOfLine(number)));
  if (!json.is_object()) return json.Error("no object", "an object");
  for (const std::string& key : json.Keys()) {
    ASSIGN_OR_RETURN(const JsonValue value, json.Value(key));
    ASSIGN_OR_RETURN(const bool known, SetField(key, value, question));
    if (known) continue;
    const std::vector<std::string> names = {"device",     "model",  "shape",  "recipe", "adapter_rank", "lora_mode",
                                            "lora_ranks", "prompt", "decode", "rows",   "context",      "chunk_rows"};
    return value.Error("a field that is not known", absl::StrCat("one of ", absl::StrJoin(names, ", "), DidYouMean(key, names)));
  }
  return question;
}

absl::Status AnswerLines(const PhoneQuestion& common) {
  LineReader lines;
  FailedRequests failed;
  std::string line;
  for (int64_t number = 1;; ++number) {
    ASSIGN_OR_RETURN(const bool more, lines.Next(&line));
    if (!more) return failed.status();
    if (line.empty()) continue;
    failed.CountRequest();
    absl::StatusOr<PhoneQuestion> question = QuestionOfLine(line, number, common);
    const absl::StatusOr<PhoneReport> report = question.ok() ? MakePhoneReport(*std::move(question)) : question.status();
    RETURN_IF_ERROR(WriteOutput(absl::StrCat(report.ok() ? PhoneReportJson(*report) : failed.AnswerOf(number, report.status()), "\n")));
  }
}

absl::Status Draw(const PhoneReport& report) {
  if (!FLAGS_plot.empty()) RETURN_IF_ERROR(WriteTextFile(FLAGS_plot, PhoneReportSvg(report)));
  if (FLAGS_trace.empty()) return absl::OkStatus();
  Timeline timeline({.capacity = kTraceEvents});
  RecordPass(report, 0, timeline);
  return WriteTrace(timeline, FLAGS_trace);
}

}  // namespace

const FlagGroup& PhoneReportFlags() {
  static const FlagGroup group = {"On a phone's NPU (with --device)",
                                  {"device", "shape", "adapter_rank", "lora_mode", "lora_ranks", "prompt", "decode", "rows", "context",
                                   "chunk_rows", "plot", "trace", "jsonl"},
                                  {"device", "shape", "prompt", "decode", "rows"}};
  return group;
}

absl::Status CheckPhoneReportFlags() {
  if (IsGiven("device")) return absl::OkStatus();
  for (const std::string& flag : PhoneReportFlags().flags) {
    if (IsGiven(flag)) return WrongUsage(flag, "without --device", "both: a file says nothing of a phone");
  }
  return absl::OkStatus();
}

absl::Status ShowPhoneReport() {
  ASSIGN_OR_RETURN(PhoneQuestion question, QuestionOfFlags());
  if (FLAGS_jsonl) {
    for (const char* flag : {"json", "plot", "trace"}) {
      if (IsGiven(flag)) return WrongUsage(flag, "with --jsonl", "one of them");
    }
    return AnswerLines(question);
  }
  if (!FLAGS_plot.empty()) RETURN_IF_ERROR(ForFile("plot", CheckTextFileWritable(FLAGS_plot)));
  if (!FLAGS_trace.empty()) RETURN_IF_ERROR(ForFile("trace", CheckTextFileWritable(FLAGS_trace)));
  ASSIGN_OR_RETURN(const PhoneReport report, MakePhoneReport(std::move(question)));
  const absl::Status shown = WriteOutput(FLAGS_json ? absl::StrCat(PhoneReportJson(report), "\n") : PhoneReportText(report));
  return EndOf(shown, Draw(report));
}

}  // namespace tessera

// Says what a model would do on a phone's NPU: speed, memory and energy, operator by operator.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "tessera/apps/cli/app_main.h"
#include "tessera/apps/cli/flags/engine_flags.h"
#include "tessera/apps/cli/flags/flags.h"
#include "tessera/apps/cli/text/input.h"
#include "tessera/apps/cli/text/jsonl.h"
#include "tessera/apps/cli/text/output.h"
#include "tessera/apps/phone/phone_report.h"
#include "tessera/base/json.h"
#include "tessera/base/nearest_name.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/text_file.h"
#include "tessera/base/trace_writer.h"
#include "tessera/base/usage_error.h"

namespace tessera {
namespace {

constexpr int64_t kTraceEvents = 1 << 18;   // A pass of 48 layers with 20 operators each has a few thousand; a file may have more layers.

AppInfo Info() {
  return {.name = "tessera_npu_report",
          .summary = "Says what a model would do on a phone's NPU, by the phone's profile: speed of prompts and of decoding by rows of a "
                     "pass, time to the first token, loading, memory, energy beside one row, and what bounds each operator. Nothing is "
                     "computed: a shape is enough. --prompt and --decode are numbers of tokens. With --jsonl, questions are read from "
                     "standard input, a JSON object per line with "
                     "these flags as keys; the others count for all of them.",
          .examples = {"tessera_npu_report --device=8gen3 --shape=qwen2.5-1.5b --rows=1,4,8,16",
                       "tessera_npu_report --device=8elite:static --shape=llama-3.2-3b --prompt=128 --json",
                       "tessera_npu_report --device=8gen3:static --shape=llama-3.2-1b --lora_mode=mask --lora_ranks=8,8,16",
                       "tessera_npu_report model.gguf --plot=rows.svg --trace=pass.json"},
          .groups = {{"Model", {"device", "model", "shape", "recipe", "adapter_rank", "lora_mode", "lora_ranks"}},
                     {"Work", {"prompt", "decode", "rows", "context", "chunk_rows"}},
                     {"Output", {"plot", "trace", "json", "jsonl"}}},
          .plain_arguments = {"model"}};
}

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

// Sets the field of this name. False: there is none.
absl::StatusOr<bool> SetField(const std::string& key, const JsonValue& value, PhoneQuestion& question) {
  const std::pair<const char*, std::string*> texts[] = {
      {"device", &question.device}, {"model", &question.model}, {"shape", &question.shape}, {"recipe", &question.recipe}};
  const std::pair<const char*, int*> counts[] = {{"prompt", &question.prompt}, {"decode", &question.decode}, {"context", &question.context},
                                                 {"chunk_rows", &question.chunk_rows}, {"adapter_rank", &question.adapter_rank}};
  for (const auto& [name, place] : texts) {
    if (key != name) continue;
    ASSIGN_OR_RETURN(*place, value.AsString());
    if (key == "shape") question.model.clear();   // Another than the flag's.
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

// A line of --jsonl over the flags' question.
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

absl::Status Run() {
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

}  // namespace
}  // namespace tessera

int main(int argc, char** argv) { return tessera::AppMain(argc, argv, tessera::Info(), tessera::Run); }

#include "tessera/apps/show/describe_problems.h"

#include "absl/strings/str_cat.h"
#include "tessera/base/byte_size.h"
#include "tessera/base/json_writer.h"
#include "tessera/base/quoted.h"

namespace tessera {

std::string CountOfProblems(const VerifyReport& report) {
  return absl::StrCat(report.problems.size(), report.problems.size() == 1 ? " problem" : " problems");
}

std::string ReportText(const std::string& path, const VerifyReport& report) {
  std::string text;
  for (const FileProblem& problem : report.problems) absl::StrAppend(&text, Printable(problem.message), "\n");
  absl::StrAppend(&text, path, ": ", report.tensors, " tensors, ", FormatByteSize(report.tensor_bytes), "; not used: ",
                  report.unused_tensors, " tensors, ", FormatByteSize(report.unused_bytes), " between and after tensors\n");
  for (const std::string& reason : report.unused_reasons) {
    absl::StrAppend(&text, path, ": not used, and no text depends on it: ", reason, "\n");
  }
  absl::StrAppend(&text, path, ": ",
                  report.problems.empty() ? "nothing wrong" : CountOfProblems(report), "\n");
  return text;
}

std::string ReportJson(const std::string& path, const VerifyReport& report) {
  JsonWriter json(1);
  json.BeginObject().Key("path").String(path).Key("ok").Bool(report.problems.empty());
  json.Key("tensors").Int(report.tensors).Key("tensor_bytes").Int(report.tensor_bytes);
  json.Key("unused_tensors").Int(report.unused_tensors).Key("unused_bytes").Int(report.unused_bytes);
  json.Key("unused_reasons").BeginArray();
  for (const std::string& reason : report.unused_reasons) json.String(reason);
  json.EndArray().Key("problems").BeginArray();
  for (const FileProblem& problem : report.problems) {
    json.BeginObject().Key("file").String(problem.file).Key("tensor").String(problem.tensor);
    if (problem.offset >= 0) json.Key("offset").Int(problem.offset);
    json.Key("message").String(problem.message).EndObject();
  }
  json.EndArray().EndObject();
  return std::move(json).Take() + "\n";
}

}  // namespace tessera

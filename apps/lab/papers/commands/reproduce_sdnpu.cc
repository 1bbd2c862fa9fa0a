// tessera_reproduce sdnpu: whole requests by sd.npu and by the systems that its papers compare, on modeled phones.
#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "tessera/apps/cli/flags/engine_flags.h"
#include "tessera/apps/cli/flags/flags.h"
#include "tessera/apps/cli/text/output.h"
#include "tessera/apps/lab/papers/commands/reproduce_commands.h"
#include "tessera/apps/lab/papers/sdnpu/sdnpu_report.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/text_file.h"
#include "tessera/base/trace_writer.h"
#include "tessera/base/usage_error.h"

namespace tessera {
namespace {

constexpr int64_t kMostEvents = 1 << 20;

absl::Status CheckFiles() {
  if (!FLAGS_plot.empty()) RETURN_IF_ERROR(ForFile("plot", CheckTextFileWritable(FLAGS_plot)));
  if (!FLAGS_out.empty()) RETURN_IF_ERROR(ForFile("out", CheckTextFileWritable(FLAGS_out)));
  return FLAGS_trace.empty() ? absl::OkStatus() : ForFile("trace", CheckTextFileWritable(FLAGS_trace));
}

absl::Status WriteFiles(const SdnpuQuestion& question, const SdnpuRecordings& recordings, const SdnpuReport& report) {
  if (!FLAGS_plot.empty()) RETURN_IF_ERROR(WriteTextFile(FLAGS_plot, SdnpuReportSvg(report)));
  if (!FLAGS_out.empty()) RETURN_IF_ERROR(WriteTextFile(FLAGS_out, SdnpuReportHtml(report)));
  if (FLAGS_trace.empty()) return absl::OkStatus();
  Timeline timeline({.capacity = kMostEvents});
  RETURN_IF_ERROR(RecordSdnpuRequest(question, recordings, timeline));
  return WriteTrace(timeline, FLAGS_trace);
}

absl::Status Run() {
  RETURN_IF_ERROR(CheckNotBoth("table", !FLAGS_table.empty(), "json", FLAGS_json));
  RETURN_IF_ERROR(CheckFiles());
  const SdnpuQuestion question = {.device = FLAGS_device};
  ASSIGN_OR_RETURN(const SdnpuRecordings recordings, BuiltInSdnpuRecordings());
  ASSIGN_OR_RETURN(const SdnpuReport report, MakeSdnpuReport(question, recordings));
  ASSIGN_OR_RETURN(const std::string text, SdnpuReportText(report, FLAGS_table));
  const absl::Status shown = WriteOutput(FLAGS_json ? absl::StrCat(SdnpuReportJson(report), "\n") : text);
  return EndOf(shown, WriteFiles(question, recordings, report));
}

}  // namespace

Command ReproduceSdnpu() {
  return {{.subcommand = "sdnpu",
           .summary = "Whole requests by sd.npu (both versions) and by what it is compared with, on modeled phones: summary, "
                      "questions on documents, user interfaces and replies. Drafts are those of recordings of real decoding, time is the "
                      "model's: ablation, breakdown, sweeps, latency, energy, memory, and in which orders the papers came out. --out "
                      "writes all of it as a page with pictures, --trace one request.",
           .examples = {"tessera_reproduce sdnpu", "tessera_reproduce sdnpu --device 8gen3 --json",
                        "tessera_reproduce sdnpu --out sdnpu.html --plot ablation.svg --trace request.json"},
           .groups = {{"Model", {"device"}}, {"Output", {"out", "plot", "trace", "table", "json"}}}},
          Run};
}

}  // namespace tessera

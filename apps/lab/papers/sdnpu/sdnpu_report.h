// Reports on all of sd.npu (both versions), on the clock: ablation, breakdown, sweeps, four tasks on phones, energy, memory and
// orders.
//
//   ASSIGN_OR_RETURN(const SdnpuRecordings recordings, BuiltInSdnpuRecordings());
//   ASSIGN_OR_RETURN(const SdnpuReport report, MakeSdnpuReport({}, recordings));
//   Print(SdnpuReportText(report));                        // tables; also as JSON and as a page
//   for (const SdnpuOrder& order : report.orders) if (!order.holds) Print(order.where, order.found, order.why);
//
// Time comes from the phone model (phone_request.h); acceptance is recorded. Only tables show the papers' figures (published.h) next to
// predictions. Threads: one at a time.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tessera/apps/lab/papers/figures/paper_order.h"
#include "tessera/apps/lab/papers/sdnpu/sdnpu_systems.h"
#include "tessera/base/timeline.h"

namespace tessera {

struct SdnpuQuestion {
  // One phone for the whole report, as PhoneOf reads the name; empty: the papers' three phones, each for its own figures.
  std::string device = {};
};

struct SdnpuShape {
  std::string name = {};
  std::vector<SystemMemory> memory = {};                 // By system.
  std::vector<std::vector<SystemOnTask>> tasks = {};     // By task (kSdnpuTasks) and system (SdnpuSystems()).
  const SystemOnTask& On(absl::string_view task, absl::string_view system) const;   // REQUIRES: task and system exist.
};

struct SdnpuPhone {
  std::string name = {};
  std::vector<SdnpuShape> shapes = {};                   // By kSdnpuShapes.
  const SdnpuShape& Shape(absl::string_view name) const;
};

// Prefill and decode on one graph of `rows` rows (sd.npu's longer version, figure 5).
struct ChunkPoint { int rows = 0; double prefill_milliseconds = 0, decode_milliseconds = 0; };
// Time per row of a draft of `rows` rows (sd.npu's longer version, figure 6): in a graph of just these rows, and in the graph of
// decode_rows.
struct LengthPoint { int rows = 0; double own_milliseconds = 0, shared_milliseconds = 0; };
// A request by a rule, with its events. All rules get the same blocks.
struct RulePoint {
  SwitchRule rule = SwitchRule::kPadded;
  RequestParts seconds = {};
  std::vector<TimelineEvent> events = {};                // SimulateRequest's.
};

// The use of the rows of passes, as shares, and the lengths of drafts.
struct DraftUsage {
  std::string drafter = {}, task = {};                   // The task may be empty: all tasks.
  double tokens_per_pass = 1;
  double below_8 = 0, below_32 = 0;                      // Shares of drafts, empty drafts included.
  double valid = 0, wasted = 0, underutilized = 0;       // Shares of all rows of the graph; the root is valid: it gives a token.
  int rejected = 0;                                      // Drafts (rejection_cases.h), and their shares; 0 if there are none.
  double missing = 0, synonym = 0, redundant = 0;
};

using SdnpuOrder = PaperOrder;

struct SdnpuReport {
  std::vector<std::string> recordings = {};              // The recordings' descriptions, a line each.
  std::vector<SdnpuPhone> phones = {};
  std::string ablation_phone = {}, breakdown_phone = {}, sweep_phone = {};
  double sweep_tokens_per_pass = 1;                      // In the sweep over chunks: recorded, "sam+ours", summary.
  std::vector<ChunkPoint> chunks = {};
  std::vector<LengthPoint> lengths = {};
  double cpu_milliseconds = 0;                           // A pass of one row by the CPU, for comparison.
  std::vector<RulePoint> rules = {};                     // The first summary text on the ablation's phone.
  std::vector<DraftUsage> drafts = {};
  std::vector<SdnpuOrder> orders = {};

  const SdnpuPhone& Phone(absl::string_view name) const;   // REQUIRES: the report has the phone.
};

inline constexpr const char* kMainShape = "qwen2.5-1.5b";   // For sweeps, rules and the trace.

// WrongUsage (device) for an unknown phone, or one of another style than "unshared"; the errors of CheckSdnpuRecordings.
absl::StatusOr<SdnpuReport> MakeSdnpuReport(const SdnpuQuestion& question, const SdnpuRecordings& recordings);

// Returns the orders of the papers' tables and figures, judged by this report's numbers. Uses no figure of the papers.
std::vector<SdnpuOrder> SdnpuOrders(const SdnpuReport& report);

// Returns the text of ShownTables (shown_tables.h); `table`: a table's name. WrongUsage (table) for an unknown name.
absl::StatusOr<std::string> SdnpuReportText(const SdnpuReport& report, absl::string_view table = "");
std::string SdnpuReportJson(const SdnpuReport& report);
std::string SdnpuReportHtml(const SdnpuReport& report);   // One file, pictures inside.
std::string SdnpuReportSvg(const SdnpuReport& report);    // The ablation.

// Records the full system's request with the first summary text, on the ablation's phone: SimulateRequest's tracks.
absl::Status RecordSdnpuRequest(const SdnpuQuestion& question, const SdnpuRecordings& recordings, Timeline& timeline);

}  // namespace tessera

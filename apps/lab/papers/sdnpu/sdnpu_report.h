// sd.npu whole (sd.npu, both versions), on the clock: ablation, breakdown, sweeps, four tasks on phones, energy, memory and orders.
//
//   ASSIGN_OR_RETURN(const SdnpuRecordings recordings, BuiltInSdnpuRecordings());
//   ASSIGN_OR_RETURN(const SdnpuReport report, MakeSdnpuReport({}, recordings));
//   Print(SdnpuReportText(report));                        // tables; also as JSON and as a page
//   for (const SdnpuOrder& order : report.orders) if (!order.holds) Print(order.where, order.found, order.why);
//
// Time is the model's of phones (phone_request.h), acceptance is recorded. The papers' figures (published.h) stand beside it in
// tables alone. Threads: one at a time.
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
  std::string device = {};   // One phone for all of it, as PhoneOf reads it; empty: the papers' three, each where they have it.
};

struct SdnpuShape {
  std::string name = {};
  std::vector<SystemMemory> memory = {};                 // By system.
  std::vector<std::vector<SystemOnTask>> tasks = {};     // By task (kSdnpuTasks) and system (SdnpuSystems()).
  const SystemOnTask& On(absl::string_view task, absl::string_view system) const;   // REQUIRES: both are there.
};

struct SdnpuPhone {
  std::string name = {};
  std::vector<SdnpuShape> shapes = {};                   // By kSdnpuShapes.
  const SdnpuShape& Shape(absl::string_view name) const;
};

// Both on one graph of so many rows (000, figure 5).
struct ChunkPoint { int rows = 0; double prefill_milliseconds = 0, decode_milliseconds = 0; };
// A row of a draft that is so long (000, figure 6): in a graph of just its rows, and in that of decode_rows.
struct LengthPoint { int rows = 0; double own_milliseconds = 0, shared_milliseconds = 0; };
// A request by a rule, all of them with the same blocks, and what ran when in it.
struct RulePoint {
  SwitchRule rule = SwitchRule::kPadded;
  RequestParts seconds = {};
  std::vector<TimelineEvent> events = {};                // SimulateRequest's.
};

// What rows of passes came to, as shares, and how long drafts were.
struct DraftUse {
  std::string drafter = {}, task = {};                   // The task may be empty: all of them.
  double tokens_per_pass = 1;
  double below_8 = 0, below_32 = 0;                      // Shares of drafts, those that are none included.
  double valid = 0, wasted = 0, underutilized = 0;       // Shares of all rows of the graph; the root is valid: it gives a token.
  int rejected = 0;                                      // Drafts (rejection_cases.h), and shares of them; 0 if there are none.
  double missing = 0, synonym = 0, redundant = 0;
};

using SdnpuOrder = PaperOrder;

struct SdnpuReport {
  std::vector<std::string> recordings = {};              // What was recorded, a line each.
  std::vector<SdnpuPhone> phones = {};
  std::string ablation_phone = {}, breakdown_phone = {}, sweep_phone = {};
  double sweep_tokens_per_pass = 1;                      // In the sweep over chunks: recorded, "sam+ours", summary.
  std::vector<ChunkPoint> chunks = {};
  std::vector<LengthPoint> lengths = {};
  double cpu_milliseconds = 0;                           // A pass of one row by the CPU, beside them.
  std::vector<RulePoint> rules = {};                     // The first summary text on the ablation's phone.
  std::vector<DraftUse> drafts = {};
  std::vector<SdnpuOrder> orders = {};

  const SdnpuPhone& Phone(absl::string_view name) const;   // REQUIRES: it is there.
};

inline constexpr const char* kMainShape = "qwen2.5-1.5b";   // For sweeps, rules and the trace.

// Wrong usage of "device" for one that is not known, or of another style than "unshared"; the errors of CheckSdnpuRecordings.
absl::StatusOr<SdnpuReport> MakeSdnpuReport(const SdnpuQuestion& question, const SdnpuRecordings& recordings);

// The orders of the papers' tables and figures, in this report's numbers. Knows no figure of theirs.
std::vector<SdnpuOrder> SdnpuOrders(const SdnpuReport& report);

// Tables as ShownTables has them (shown_tables.h). WrongUsage (table) for a name that is none of a table.
absl::StatusOr<std::string> SdnpuReportText(const SdnpuReport& report, absl::string_view table = "");
std::string SdnpuReportJson(const SdnpuReport& report);
std::string SdnpuReportHtml(const SdnpuReport& report);   // One file, pictures inside.
std::string SdnpuReportSvg(const SdnpuReport& report);    // The ablation.

// The full system's request with the first summary text, on the ablation's phone: SimulateRequest's tracks.
absl::Status RecordSdnpuRequest(const SdnpuQuestion& question, const SdnpuRecordings& recordings, Timeline& timeline);

}  // namespace tessera

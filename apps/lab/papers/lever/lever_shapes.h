// Lever at the paper's sizes (Lever, section 5): its models on its phones, in its tables, by the model of phones and recorded drafts.
//
//   ASSIGN_OR_RETURN(const LeverDrafts drafts, BuiltInLeverDrafts());
//   ASSIGN_OR_RETURN(const LeverReport report, MakeLeverReport(profiles, drafts));       // profiles: profile_set.h
//   Print(LeverReportText(report));                                                       // tables beside the paper's; also as JSON
//   for (const PaperOrder& order : report.orders) if (!order.holds) Print(order.where, order.found, order.why);
//
// Time is that of lever_simulation.h; acceptance is recorded, unscaled: "near" stands for the paper's EAGLE-3 heads, "far" for its
// Qwen3-0.6B, with the costs of those. One recording serves all models, so what differs between the paper's models in acceptance does not
// here. The paper's figures (published.h) stand beside predictions in tables and JSON alone: none is a parameter. Its table 1 is shown and
// not counted.
// Threads: one at a time.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tessera/apps/lab/papers/figures/paper_order.h"
#include "tessera/apps/lab/papers/figures/profile_set.h"
#include "tessera/apps/lab/papers/lever/lever_simulation.h"
#include "tessera/apps/lab/papers/record/draft_recording.h"

namespace tessera {

// Table 3 of the paper, the first one being that of all figures but 10; and table 4.
struct LeverPhone { const char *name, *device, *flash; };
inline constexpr LeverPhone kLeverPhones[] = {{"OnePlus 12", "8gen3", "ufs4.0"},
                                              {"Honor 500 Pro", "8elite", "ufs3.1"},
                                              {"Honor Magic V5", "8elite", "ufs4.1"}};
struct LeverModel { const char *name, *shape; };
inline constexpr LeverModel kLeverModels[] = {{"Llama-3.1-8B", "llama-3.1-8b"},
                                              {"Qwen3-4B", "qwen3-4b"},
                                              {"Qwen3-8B", "qwen3-8b"},
                                              {"Qwen3-14B", "qwen3-14b"}};
// The first four are the paper's figure 10; the last is beside it.
inline constexpr const char* kLeverSystems[] = {"flash_ar", "chain", "edgellm", "lever", "retrieval"};
// Figure 11: rules for trees, all else being Lever's.
inline constexpr const char* kLeverTrees[] = {"specinfer", "opt_tree", "lever"};

struct LeverDrafts {
  DraftRecording near = {}, far = {};
};
// FailedPrecondition (recording, found, expected) if a set is missing: near has all of kLeverSets, far those of table 5.
absl::Status CheckLeverDrafts(const LeverDrafts& drafts);
// The errors of BuiltInDraftRecording, and these.
absl::StatusOr<LeverDrafts> BuiltInLeverDrafts();

// One of the 48: a phone, a model and a set.
struct LeverConfiguration {
  std::string phone = {}, model = {}, set = {};
  std::vector<LeverRun> runs = {};                       // By kLeverSystems.
  const LeverRun& By(absl::string_view system) const;    // REQUIRES: it is one of them.
  double SpeedOf(absl::string_view system) const { return By(system).tokens_per_second(); }
};

// A row of one of the paper's tables, in our numbers.
struct LeverSeries {
  std::string table = {};                          // "table5": as PublishedLeverSeries has it.
  std::string row = {};
  std::vector<std::string> columns = {};
  std::vector<std::optional<double>> values = {};  // By column. nullopt: missed.
  std::string missed = {};                         // Why, if some are.
};

// Sums over all sets of one model on the first phone.
struct LeverExecution {
  std::string model = {};
  std::vector<double> tokens_per_second = {}, tokens_per_pass = {};   // By kLeverTrees: figure 11, geometric means over sets.
  double cycles = 0;
  double draft_milliseconds[3] = {}, head_milliseconds[3] = {};       // Per cycle, by kDraftWays and kHeadWays: figures 13 and 14.
  // What pruning could save at most of a pass (figure 12): the rows of the upper half of the layers that the text does not get to.
  double pass_milliseconds = 0, upper_milliseconds = 0, shortened_milliseconds = 0;   // All; what these rows compute; and by how much
                                                                                      // the pass is shorter without them.
};

struct LeverReport {
  std::vector<std::string> recordings = {};              // What was recorded, a line each.
  std::vector<LeverConfiguration> configurations = {};   // Phone by phone, model by model, set by set.
  std::vector<LeverExecution> executions = {};           // By kLeverModels.
  std::vector<LeverSeries> series = {};
  std::vector<PaperOrder> orders = {};

  // REQUIRES: it is there.
  const LeverSeries& Series(absl::string_view table, absl::string_view row) const;
};

// The errors of costs and simulations, and of CheckLeverDrafts.
absl::StatusOr<LeverReport> MakeLeverReport(const ProfileSet& profiles, const LeverDrafts& drafts);

// The orders that the paper states, in this report's numbers. Knows no figure of the paper.
std::vector<PaperOrder> LeverOrders(const LeverReport& report);

// Tables as ShownTables has them (shown_tables.h). WrongUsage (table) for a name that is none of a table.
absl::StatusOr<std::string> LeverReportText(const LeverReport& report, absl::string_view table = "");
std::string LeverReportJson(const LeverReport& report);
std::string LeverReportSvg(const LeverReport& report);     // Figure 10 on the first phone.

}  // namespace tessera

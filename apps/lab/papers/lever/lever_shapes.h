// Lever at the paper's sizes (section 5): the paper's models, phones and tables, by the model of phones and recorded drafts.
//
//   ASSIGN_OR_RETURN(const LeverDrafts drafts, BuiltInLeverDrafts());
//   ASSIGN_OR_RETURN(const LeverReport report, MakeLeverReport(profiles, drafts));       // profiles: profile_set.h
//   Print(LeverReportText(report));                                                       // tables beside the paper's; also as JSON
//   for (const PaperOrder& order : report.orders) if (!order.holds) Print(order.where, order.found, order.why);
//
// Time is that of lever_simulation.h. Acceptance is recorded, unscaled: "near" stands for the paper's EAGLE-3 heads, "far" for its
// Qwen3-0.6B, with the costs of EAGLE-3 heads and Qwen3-0.6B. One recording serves all models: the paper's models differ in acceptance, the
// models here do not. The paper's figures (published.h) stand next to predictions in tables and JSON alone: none is a parameter. Table 1 of
// the paper is shown and not counted.
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

// Table 3 of the paper; its first phone is that of all figures except 10. Then table 4.
struct LeverPhone { const char *name, *device, *flash; };
inline constexpr LeverPhone kLeverPhones[] = {{"OnePlus 12", "8gen3", "ufs4.0"},
                                              {"Honor 500 Pro", "8elite", "ufs3.1"},
                                              {"Honor Magic V5", "8elite", "ufs4.1"}};
struct LeverModel { const char *name, *shape; };
inline constexpr LeverModel kLeverModels[] = {{"Llama-3.1-8B", "llama-3.1-8b"},
                                              {"Qwen3-4B", "qwen3-4b"},
                                              {"Qwen3-8B", "qwen3-8b"},
                                              {"Qwen3-14B", "qwen3-14b"}};
// The first four are the paper's figure 10; the last is additional.
inline constexpr const char* kLeverSystems[] = {"flash_ar", "chain", "edgellm", "lever", "retrieval"};
// Figure 11: tree rules, with Lever's execution otherwise.
inline constexpr const char* kLeverTrees[] = {"specinfer", "opt_tree", "lever"};

struct LeverDrafts {
  DraftRecording near = {}, far = {};
};
// Returns FailedPrecondition (recording, found, expected) if a set is missing: near has all of kLeverSets, far those of table 5.
absl::Status CheckLeverDrafts(const LeverDrafts& drafts);
// Returns the built-in recordings. The errors of BuiltInDraftRecording and of CheckLeverDrafts.
absl::StatusOr<LeverDrafts> BuiltInLeverDrafts();

// One of the 48 configurations: a phone, a model and a set.
struct LeverConfiguration {
  std::string phone = {}, model = {}, set = {};
  std::vector<LeverRun> runs = {};                       // By kLeverSystems.
  const LeverRun& By(absl::string_view system) const;    // REQUIRES: one of kLeverSystems.
  double SpeedOf(absl::string_view system) const { return By(system).tokens_per_second(); }
};

// A row of one of the paper's tables, with our numbers.
struct LeverSeries {
  std::string table = {};                          // "table5": as in PublishedLeverRow.
  std::string row = {};
  std::vector<std::string> columns = {};
  std::vector<std::optional<double>> values = {};  // By column. nullopt: missed.
  std::string missed = {};                         // The reason, if some are missed.
};

// Sums over all sets of one model on the first phone.
struct LeverExecution {
  std::string model = {};
  std::vector<double> tokens_per_second = {}, tokens_per_pass = {};   // By kLeverTrees: figure 11, geometric means over sets.
  double cycles = 0;
  double draft_milliseconds[3] = {}, head_milliseconds[3] = {};       // Per cycle, by kDraftWays and kHeadWays: figures 13 and 14.
  // The most that pruning could save of a pass (figure 12): rows of the upper half of the layers that the text does not reach.
  // pass_milliseconds: the whole pass. upper_milliseconds: computing these rows. shortened_milliseconds: the time that
  // a pass without these rows saves.
  double pass_milliseconds = 0, upper_milliseconds = 0, shortened_milliseconds = 0;
};

struct LeverReport {
  std::vector<std::string> recordings = {};              // The recordings' descriptions, a line each.
  std::vector<LeverConfiguration> configurations = {};   // Phone by phone, model by model, set by set.
  std::vector<LeverExecution> executions = {};           // By kLeverModels.
  std::vector<LeverSeries> series = {};
  std::vector<PaperOrder> orders = {};

  // REQUIRES: the report has such a series.
  const LeverSeries& Series(absl::string_view table, absl::string_view row) const;
};

// Computes the report. The errors of costs and simulations, and of CheckLeverDrafts.
absl::StatusOr<LeverReport> MakeLeverReport(const ProfileSet& profiles, const LeverDrafts& drafts);

// Returns the orders that the paper states, judged by this report's numbers. Uses no figure of the paper.
std::vector<PaperOrder> LeverOrders(const LeverReport& report);

// Returns the text of ShownTables (shown_tables.h); `table`: a table's name. WrongUsage (table) for an unknown name.
absl::StatusOr<std::string> LeverReportText(const LeverReport& report, absl::string_view table = "");
std::string LeverReportJson(const LeverReport& report);
std::string LeverReportSvg(const LeverReport& report);     // Figure 10 on the first phone.

}  // namespace tessera

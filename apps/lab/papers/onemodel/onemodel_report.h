// One model for many tasks (the one-for-all paper) on modeled phones: its tables 1-3, 5-7, 9 and 10, and the whole set-up with eight
// adapters.
//
//   ASSIGN_OR_RETURN(const ProfileSet profiles, BuiltInProfiles());
//   ASSIGN_OR_RETURN(const OnemodelReport report, MakeOnemodelReport(profiles, /*runs=*/{}));
//   Print(OnemodelReportText(report));                     // tables beside the paper's figures; also as JSON
//
// Times, energy and memory come from the phone model (onemodel_costs.h). Tokens per pass come from real runs, if there are some
// (ds2d_runs.h). The paper's figures (published.h) stand next to these numbers in tables and JSON only: no prediction uses one. Facts that
// the paper leaves open are assumed, and the report lists the assumptions (OnemodelAssumptions). Threads: one at a time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tessera/apps/lab/papers/onemodel/ds2d_runs.h"
#include "tessera/apps/lab/papers/onemodel/onemodel_costs.h"

namespace tessera {

// How far a prediction may be trusted.
enum class Standing : uint8_t {
  kFitted,      // Parameters of profiles were fitted to this very question.
  kNear,        // The same graph on the same phone as such a question.
  kElsewhere,   // Another phone, or not a time.
};
const char* StandingName(Standing standing);   // "fitted", "near", "elsewhere".

struct OnemodelPrediction {
  std::string id = {};
  double low = 0, high = 0;     // In the unit of the published figure. Equal unless the paper leaves a choice open.
  std::string asked = {};
  Standing standing = Standing::kElsewhere;
};

inline constexpr char kPhoneOf1b[] = "8gen3", kPhoneOf3b[] = "8elite";   // The Galaxy S24 and S25.
inline constexpr int kOnemodelTasks = 8, kDs2dGraphRows = 32;

// Passes with an adapter.
struct Ds2dTimes {
  const char* shape = "";            // "3B".
  const char* phone = "";
  double pass_milliseconds = 0;      // kDs2dGraphRows rows,
  double row_milliseconds = 0;       // and one.
  double Rate(double tokens_per_pass) const { return 1e3 * tokens_per_pass / pass_milliseconds; }   // Tokens per second.
  double plain_rate() const { return 1e3 / row_milliseconds; }
};

struct OnemodelReport {
  OnemodelAssumptions assumptions = {};
  std::vector<OnemodelPrediction> predictions = {};     // Each id once.
  std::vector<OnemodelSetup> setups = {};               // kOnemodelTasks tasks: each phone, both shapes, each way.
  Ds2dTimes ds2d_3b = {}, ds2d_1b = {};                 // Each shape on its phone.
  int64_t adapter_bytes_per_rank = 0;                   // An adapter of the 1B.
  double split_chunk_milliseconds = 0, split_row_milliseconds = 0;   // The time that splitting an adapter's B per head adds.
  std::vector<Ds2dRun> runs = {};

  const OnemodelPrediction* Find(absl::string_view id) const;   // Null if there is none.
};

// NotFound for a set without the paper's phones; the errors of costs.
absl::StatusOr<OnemodelReport> MakeOnemodelReport(const ProfileSet& profiles, std::vector<Ds2dRun> runs,
                                                  const OnemodelAssumptions& assumptions = {});

// Returns the text of ShownTables (shown_tables.h); `table`: a table's name. WrongUsage (table) for an unknown name.
absl::StatusOr<std::string> OnemodelReportText(const OnemodelReport& report, absl::string_view table = "");
std::string OnemodelReportJson(const OnemodelReport& report);

}  // namespace tessera

// Judges the orders that Lever states, by a report's own numbers.
#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "tessera/apps/lab/papers/lever/lever_shapes.h"

namespace tessera {
namespace {

constexpr const char* kPapersSystems[] = {"flash_ar", "chain", "edgellm", "lever"};   // In figure 10, each is faster than the previous one.
constexpr char kLever[] = "lever";

// Describes a pass of a system.
std::string PassOf(absl::string_view system, const LeverRun& run) {
  const double passes = std::max<double>(1, static_cast<double>(run.passes));
  return absl::StrFormat("%s: %.2f tokens and %.1f rows per pass of %.0f ms, %.0f of them drafting, %.0f the head",
                         LeverSystemName(system), run.tokens_per_pass(), run.rows_per_pass(), 1e3 * run.seconds / passes,
                         1e3 * run.draft_seconds / passes, 1e3 * run.head_seconds / passes);
}

std::string WhereOf(const LeverConfiguration& one) { return absl::StrCat(one.phone, ", ", one.model, ", ", one.set); }

// Adds, for each of the 48 configurations: the paper's order of systems, and Lever before all others.
void AddConfigurations(const LeverReport& report, std::vector<PaperOrder>& orders) {
  for (const LeverConfiguration& one : report.configurations) {
    PaperOrder fastest = {.claim = "section 5.2: Lever is faster than all baselines", .where = WhereOf(one), .holds = true};
    PaperOrder whole = {.claim = "figure 10: Flash-AR, Chain-SD, EdgeLLM, Lever: each faster than the one before", .where = WhereOf(one),
                        .holds = true};
    std::vector<std::string> found, slower, beaten;
    for (size_t i = 0; i < std::size(kPapersSystems); ++i) {
      const char* const system = kPapersSystems[i];
      found.push_back(absl::StrFormat("%s %.2f", LeverSystemName(system), one.SpeedOf(system)));
      const bool baseline = system != absl::string_view(kLever);
      if (baseline && one.SpeedOf(system) >= one.SpeedOf(kLever)) beaten.push_back(PassOf(system, one.By(system)));
      if (i == 0 || one.SpeedOf(kPapersSystems[i - 1]) < one.SpeedOf(system)) continue;
      slower.push_back(PassOf(kPapersSystems[i - 1], one.By(kPapersSystems[i - 1])));
      slower.push_back(PassOf(system, one.By(system)));
    }
    fastest.found = whole.found = absl::StrCat(absl::StrJoin(found, ", "), " tokens per second");
    fastest.holds = beaten.empty();
    whole.holds = slower.empty();
    if (!beaten.empty()) beaten.push_back(PassOf(kLever, one.By(kLever)));
    fastest.why = absl::StrJoin(beaten, "; ");
    whole.why = absl::StrJoin(slower, "; ");
    orders.push_back(std::move(fastest));
    orders.push_back(std::move(whole));
  }
}

// Adds orders of each group of configurations that share phone and model.
void AddSets(const LeverReport& report, std::vector<PaperOrder>& orders) {
  const auto gain = [](const LeverConfiguration& one) { return one.SpeedOf(kLever) / one.SpeedOf("flash_ar"); };
  for (const LeverConfiguration& dialogue : report.configurations) {
    if (dialogue.set != "mt_bench") continue;
    PaperOrder order = {.claim = "section 5.2: gains are larger on code and reasoning than on MT-Bench",
                        .where = absl::StrCat(dialogue.phone, ", ", dialogue.model), .holds = true};
    std::vector<std::string> found;
    for (const LeverConfiguration& one : report.configurations) {
      if (one.phone != dialogue.phone || one.model != dialogue.model) continue;
      found.push_back(absl::StrFormat("%s %.2f", one.set, gain(one)));
      order.holds = order.holds && (one.set == dialogue.set || gain(one) > gain(dialogue));
    }
    order.found = absl::StrCat(absl::StrJoin(found, ", "), " times Flash-AR");
    order.why = "acceptance is recorded: of these models, texts and drafts";
    orders.push_back(std::move(order));
  }
}

// Figure 11.
void AddTrees(const LeverReport& report, std::vector<PaperOrder>& orders) {
  constexpr size_t kSpecInfer = 0, kOptTree = 1, kOurs = 2;
  for (const LeverExecution& one : report.executions) {
    const auto compare = [&](const char* claim, const std::vector<double>& values, size_t less, size_t more, const char* unit) {
      orders.push_back({.claim = claim,
                        .where = one.model,
                        .found = absl::StrFormat("%.2f against %.2f %s", values[more], values[less], unit),
                        .holds = values[more] > values[less],
                        .why = absl::StrFormat("tokens per pass: SpecInfer %.2f, OPT-Tree %.2f, Lever %.2f",
                                               one.tokens_per_pass[kSpecInfer], one.tokens_per_pass[kOptTree],
                                               one.tokens_per_pass[kOurs])});
    };
    compare("figure 11: Lever's trees are faster than SpecInfer's", one.tokens_per_second, kSpecInfer, kOurs, "tokens per second");
    compare("figure 11: Lever's trees are accepted longer than SpecInfer's", one.tokens_per_pass, kSpecInfer, kOurs, "tokens per pass");
    compare("figure 11: Lever's trees are faster than OPT-Tree's", one.tokens_per_second, kOptTree, kOurs, "tokens per second");
    compare("figure 11: OPT-Tree's trees are accepted longer than Lever's", one.tokens_per_pass, kOurs, kOptTree, "tokens per pass");
  }
}

// Figures 13 and 14, and section 4.4's statement about figure 14.
void AddPlaces(const LeverReport& report, std::vector<PaperOrder>& orders) {
  for (const LeverExecution& one : report.executions) {
    const auto compare = [&](const char* claim, double less, double more, const char* why) {
      orders.push_back({.claim = claim, .where = one.model, .found = absl::StrFormat("%.1f against %.1f ms per cycle", less, more),
                        .holds = less < more, .why = why});
    };
    const auto draft = [&](DraftWay way) { return one.draft_milliseconds[static_cast<size_t>(way)]; };
    const auto head = [&](HeadWay way) { return one.head_milliseconds[static_cast<size_t>(way)]; };
    const double batched = draft(DraftWay::kBatched);
    compare("figure 13: drafting in batches takes less than node by node on the NPU", batched, draft(DraftWay::kSingleNpu),
            "passes of the draft had few nodes");
    compare("figure 13: drafting in batches takes less than node by node on the CPU", batched, draft(DraftWay::kSingleCpu),
            "passes of the draft had few nodes");
    compare("figure 14: logits on demand take less on the CPU than on the NPU", head(HeadWay::kOnDemandCpu), head(HeadWay::kOnDemandNpu),
            "the head is read once for each token, and the NPU reads faster");
    compare("section 4.4: logits on demand on the CPU take less than those of all rows on the NPU", head(HeadWay::kOnDemandCpu),
            head(HeadWay::kEagerNpu), "on demand the head is read for each token, in the pass once: 32 rows take about as long as one");
  }
}

double ValueOf(const LeverSeries& series, size_t column) { return series.values[column].value_or(0); }

// Adds the orders of table 5: by both drafts and in all columns.
void AddDrafts(const LeverReport& report, std::vector<PaperOrder>& orders) {
  constexpr const char* kDrafts[] = {"EAGLE3", "Qwen3 (0.6B)"};
  constexpr const char* kMethods[] = {"Chain-SD", "EdgeLLM", "Lever"};
  const auto series_of = [&](const char* draft, const char* method) -> const LeverSeries& {
    return report.Series("table5", absl::StrCat(draft, ", ", method));
  };
  const std::vector<std::string>& columns = series_of(kDrafts[0], kMethods[0]).columns;
  for (size_t column = 0; column < columns.size(); ++column) {
    for (const char* draft : kDrafts) {
      const double chain = ValueOf(series_of(draft, kMethods[0]), column), edge = ValueOf(series_of(draft, kMethods[1]), column);
      const double lever = ValueOf(series_of(draft, kMethods[2]), column);
      orders.push_back({.claim = "table 5: Chain-SD, EdgeLLM, Lever: each faster than the one before, by either draft",
                        .where = absl::StrCat(draft, ", ", columns[column]),
                        .found = absl::StrFormat("%.2f, %.2f, %.2f tokens per second", chain, edge, lever),
                        .holds = chain < edge && edge < lever,
                        .why = "acceptance is recorded: of these models, texts and drafts"});
    }
    for (const char* method : kMethods) {
      const double near = ValueOf(series_of(kDrafts[0], method), column), far = ValueOf(series_of(kDrafts[1], method), column);
      orders.push_back({.claim = "table 5: the EAGLE-3 head is the better draft",
                        .where = absl::StrCat(method, ", ", columns[column]),
                        .found = absl::StrFormat("%.2f against %.2f tokens per second", near, far),
                        .holds = near > far,
                        .why = "acceptance is recorded: of these models, texts and drafts"});
    }
  }
}

// Table 6.
void AddPins(const LeverReport& report, std::vector<PaperOrder>& orders) {
  for (const LeverSeries& series : report.series) {
    if (series.table != "table6") continue;
    PaperOrder order = {.claim = "table 6: the more layers are pinned, the faster", .where = series.row, .holds = true};
    order.why = "see the table";
    std::vector<std::string> found;
    for (size_t column = 0; column < series.values.size(); ++column) {
      found.push_back(absl::StrFormat("%.3f", ValueOf(series, column)));
      order.holds = order.holds && (column == 0 || ValueOf(series, column) > ValueOf(series, column - 1));
    }
    order.found = absl::StrCat(absl::StrJoin(found, ", "), " tokens per second");
    orders.push_back(std::move(order));
  }
}

// Table 7: the paper's own figures rise from 32 to 64 tokens.
void AddLengths(const LeverReport& report, std::vector<PaperOrder>& orders) {
  for (const LeverSeries& series : report.series) {
    if (series.table != "table7") continue;
    const auto place = std::find(series.columns.begin(), series.columns.end(), "64");
    const auto first = static_cast<size_t>(place - series.columns.begin());
    if (first + 1 >= series.columns.size() || !series.values[first + 1].has_value()) continue;   // There is no longer text.
    const double early = ValueOf(series, first);
    double last = early;
    for (const std::optional<double>& value : series.values) last = value.value_or(last);
    orders.push_back({.claim = "table 7: longer texts are a little slower than those of 64 tokens",
                      .where = series.row,
                      .found = absl::StrFormat("%.3f against %.3f tokens per second", last, early),
                      .holds = last < early,
                      .why = "acceptance is recorded, and changes along a text"});
  }
}

}  // namespace

std::vector<PaperOrder> LeverOrders(const LeverReport& report) {
  std::vector<PaperOrder> orders;
  AddConfigurations(report, orders);
  AddSets(report, orders);
  AddTrees(report, orders);
  AddPlaces(report, orders);
  AddDrafts(report, orders);
  AddPins(report, orders);
  AddLengths(report, orders);
  for (PaperOrder& order : orders) {
    if (order.holds) order.why.clear();
  }
  return orders;
}

}  // namespace tessera

// Judges the orders that both versions of sd.npu state, by a report's own numbers.
#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "tessera/apps/lab/papers/sdnpu/sdnpu_report.h"

namespace tessera {

namespace {

constexpr const char* kBaselines[] = {"npu", "cpu", "npu_sd", "cpu_sam", "npu_eagle", "cpu_eagle"};

const char* NameOf(absl::string_view system) { return SdnpuSystems()[SystemIndex(system)].name; }

// Describes the parts of a token's time.
std::string PartsOf(absl::string_view system, const SystemOnTask& on) {
  const double scale = on.tokens > 0 ? 1e3 / on.tokens : 0;
  return absl::StrFormat("%s: prompt %.1f, waiting %.1f, calibration %.1f, drafting %.1f, passes %.1f ms per token, %.2f tokens per pass",
                         NameOf(system), scale * on.seconds.prefill, scale * on.seconds.switching, scale * on.seconds.calibration,
                         scale * on.seconds.drafting, scale * on.seconds.decode, on.tokens_per_pass());
}

using Measure = std::function<double(absl::string_view system)>;

// Judges the claim that each of these systems needs more time per token than the next.
SdnpuOrder Falling(std::string claim, std::string where, const std::vector<const char*>& systems, const SdnpuShape& shape,
                   absl::string_view task) {
  SdnpuOrder order = {.claim = std::move(claim), .where = std::move(where), .holds = true};
  std::vector<std::string> found, why;
  for (size_t i = 0; i < systems.size(); ++i) {
    const SystemOnTask& on = shape.On(task, systems[i]);
    found.push_back(absl::StrFormat("%s %.1f", NameOf(systems[i]), on.milliseconds_per_token()));
    if (i == 0 || shape.On(task, systems[i - 1]).milliseconds_per_token() > on.milliseconds_per_token()) continue;
    order.holds = false;
    why.push_back(PartsOf(systems[i - 1], shape.On(task, systems[i - 1])));
    why.push_back(PartsOf(systems[i], on));
  }
  order.found = absl::StrCat(absl::StrJoin(found, ", "), " ms per token");
  order.why = absl::StrJoin(why, "; ");
  return order;
}

// Judges the claim that the full system has a lower measure than each of the papers' baselines.
SdnpuOrder FullIsLeast(std::string claim, std::string where, const SdnpuShape& shape, absl::string_view task, const Measure& measure,
                       absl::string_view unit) {
  SdnpuOrder order = {.claim = std::move(claim), .where = std::move(where), .holds = true};
  absl::string_view least = "full";
  for (const char* system : kBaselines) {
    if (measure(system) <= measure("full")) order.holds = false;
    if (measure(system) < measure(least)) least = system;
  }
  order.found = absl::StrFormat("least: %s with %.4g %s; full %.4g", NameOf(least), measure(least), std::string(unit), measure("full"));
  if (!order.holds) {
    order.why = absl::StrCat(PartsOf("full", shape.On(task, "full")), "; ", PartsOf(least, shape.On(task, least)));
  }
  return order;
}

void AddAblation(const SdnpuReport& report, std::vector<SdnpuOrder>& orders) {
  for (const SdnpuShape& shape : report.Phone(report.ablation_phone).shapes) {
    orders.push_back(Falling("table 3: NPU, +G, +SD, +G+SD, full: each faster than the one before",
                             absl::StrCat(shape.name, ", ", report.ablation_phone, ", summary"),
                             {"npu", "npu_g", "npu_sd", "npu_g_sd", "full"}, shape, "summary"));
    orders.push_back(Falling("table 3: switching progressively helps with drafts and without",
                             absl::StrCat(shape.name, ", without drafts"), {"npu", "npu_g"}, shape, "summary"));
    orders.push_back(Falling("table 3: switching progressively helps with drafts and without",
                             absl::StrCat(shape.name, ", with drafts"), {"npu_sd", "npu_g_sd"}, shape, "summary"));
  }
}

void AddTasks(const SdnpuReport& report, std::vector<SdnpuOrder>& orders) {
  for (const SdnpuPhone& phone : report.phones) {
    for (const SdnpuShape& shape : phone.shapes) {
      for (const char* task : kSdnpuTasks) {
        const std::string where = absl::StrCat(phone.name, ", ", shape.name, ", ", task);
        const SystemOnTask& on_full = shape.On(task, "full");
        orders.push_back(FullIsLeast("figure 10: sd.npu is faster than the six baselines", where, shape, task,
                                     [&](absl::string_view system) { return shape.On(task, system).milliseconds_per_token(); },
                                     "ms per token"));
        if (phone.name == report.sweep_phone && report.phones.size() > 1) continue;   // The papers have no energy of this phone.
        orders.push_back(FullIsLeast("figure 11: sd.npu needs less energy than the six baselines", where, shape, task,
                                     [&](absl::string_view system) { return shape.On(task, system).joules / on_full.joules; },
                                     "times sd.npu's"));
      }
    }
  }
}

void AddMemory(const SdnpuReport& report, std::vector<SdnpuOrder>& orders) {
  for (const SdnpuShape& shape : report.phones.front().shapes) {   // Alike on all phones.
    const auto gigabytes = [&](const char* system) { return static_cast<double>(shape.memory[SystemIndex(system)].total()) / 1e9; };
    orders.push_back({.claim = "figure 12: decoding on the CPU needs the most memory, EAGLE more than sd.npu, NPU vanilla no more",
                      .where = shape.name,
                      .found = absl::StrFormat("CPU vanilla %.2f, NPU-EAGLE %.2f, sd.npu %.2f, NPU vanilla %.2f GB", gigabytes("cpu"),
                                               gigabytes("npu_eagle"), gigabytes("full"), gigabytes("npu")),
                      .holds = gigabytes("cpu") > gigabytes("npu_eagle") && gigabytes("npu_eagle") > gigabytes("full") &&
                               gigabytes("full") >= gigabytes("npu"),
                      .why = "bytes of weights by format: see the table"});
  }
}

void AddBreakdown(const SdnpuReport& report, std::vector<SdnpuOrder>& orders) {
  for (const SdnpuShape& shape : report.Phone(report.breakdown_phone).shapes) {
    const SystemOnTask& npu = shape.On("summary", "npu");
    const SystemOnTask& full = shape.On("summary", "full");
    const double share = npu.decode_milliseconds_per_token() / npu.milliseconds_per_token();
    orders.push_back({.claim = "figure 13: decoding is most of NPU vanilla's time, and sd.npu cuts it",
                      .where = absl::StrCat(report.breakdown_phone, ", ", shape.name),
                      .found = absl::StrFormat("%.0f %% of the time, %.2f times less with sd.npu", 100 * share,
                                               npu.decode_milliseconds_per_token() / full.decode_milliseconds_per_token()),
                      .holds = share > 0.5 && full.decode_milliseconds_per_token() < npu.decode_milliseconds_per_token(),
                      .why = absl::StrCat(PartsOf("npu", npu), "; ", PartsOf("full", full))});
  }
}

void AddSweeps(const SdnpuReport& report, std::vector<SdnpuOrder>& orders) {
  SdnpuOrder chunks = {.claim = "figure 5: larger graphs read prompts faster and decode more slowly", .where = report.sweep_phone,
                       .holds = true, .why = "attention is the CPU's, and costs the same for each row of any graph: see the table"};
  for (size_t i = 1; i < report.chunks.size(); ++i) {
    const ChunkPoint& before = report.chunks[i - 1];
    const ChunkPoint& point = report.chunks[i];
    chunks.holds = chunks.holds && point.prefill_milliseconds < before.prefill_milliseconds &&
                   point.decode_milliseconds > before.decode_milliseconds;
  }
  chunks.found = absl::StrFormat("reading %.2f to %.2f, decoding %.1f to %.1f ms per token", report.chunks.front().prefill_milliseconds,
                                 report.chunks.back().prefill_milliseconds, report.chunks.front().decode_milliseconds,
                                 report.chunks.back().decode_milliseconds);
  orders.push_back(std::move(chunks));
  SdnpuOrder lengths = {.claim = "figure 6: a token of a longer draft costs less to check", .where = report.sweep_phone, .holds = true,
                        .why = "see the table"};
  for (size_t i = 1; i < report.lengths.size() && report.lengths[i].rows <= 32; ++i) {
    lengths.holds = lengths.holds && report.lengths[i].own_milliseconds < report.lengths[i - 1].own_milliseconds;
  }
  lengths.found = absl::StrFormat("%.1f ms for one, %.1f ms each for 32", report.lengths.front().own_milliseconds,
                                  report.lengths[5].own_milliseconds);   // 1, 2, 4, 8, 16, 32.
  orders.push_back(std::move(lengths));
}

void AddRules(const SdnpuReport& report, std::vector<SdnpuOrder>& orders) {
  const auto ready = [&](SwitchRule rule) {
    const auto found = std::find_if(report.rules.begin(), report.rules.end(), [&](const RulePoint& point) { return point.rule == rule; });
    return found->seconds.prefill + found->seconds.switching;
  };
  const auto add = [&](const char* claim, SwitchRule less, SwitchRule more, bool strictly) {
    const double a = ready(less), b = ready(more);
    const char* const why = "loads take longer than blocks compute, or decode graphs read prompts more slowly: see the rules' table";
    orders.push_back({.claim = claim,
                      .where = absl::StrCat(report.ablation_phone, ", ", kMainShape),
                      .found = absl::StrFormat("%s %.3f, %s %.3f s until the answer's graphs are there",
                                               std::string(SwitchRuleName(less)), a, std::string(SwitchRuleName(more)), b),
                      .holds = strictly ? a < b : a <= b + 1e-9,
                      .why = why});
  };
  add("figure 8: the published rule is ready before naive loading", SwitchRule::kPublished, SwitchRule::kNaive, true);
  add("figure 8: naive loading is ready before synchronous loading", SwitchRule::kNaive, SwitchRule::kSynchronous, true);
  add("ours: a plan is never later than the published rule", SwitchRule::kPlanned, SwitchRule::kPublished, false);
}

void AddDrafts(const SdnpuReport& report, std::vector<SdnpuOrder>& orders) {
  const auto use = [&](absl::string_view drafter, absl::string_view task) {
    return *std::find_if(report.drafts.begin(), report.drafts.end(),
                         [&](const DraftUsage& item) { return item.drafter == drafter && item.task == task; });
  };
  for (const char* drafter : {"lookup", "sam"}) {
    for (const char* task : kSdnpuTasks) {
      const double plain = use(drafter, task).tokens_per_pass, ours = use(absl::StrCat(drafter, "+ours"), task).tokens_per_pass;
      orders.push_back({.claim = "table 4: calibration and reuse give more tokens per pass",
                        .where = absl::StrCat(drafter, ", ", task),
                        .found = absl::StrFormat("%.2f without, %.2f with", plain, ours),
                        .holds = ours > plain,
                        .why = "recorded, not modeled: this model with these texts"});
    }
    const DraftUsage all = use(drafter, "");
    orders.push_back({.claim = "003, section 3.2: more rows are underutilized than wasted, and more wasted than valid",
                      .where = drafter,
                      .found = absl::StrFormat("valid %.0f, wasted %.0f, underutilized %.0f %%", 100 * all.valid, 100 * all.wasted,
                                               100 * all.underutilized),
                      .holds = all.underutilized > all.wasted && all.wasted > all.valid,
                      .why = "recorded, not modeled: as much as this drafter proposes"});
  }
}

}  // namespace

std::vector<SdnpuOrder> SdnpuOrders(const SdnpuReport& report) {
  std::vector<SdnpuOrder> orders;
  AddAblation(report, orders);
  AddTasks(report, orders);
  AddMemory(report, orders);
  AddBreakdown(report, orders);
  AddSweeps(report, orders);
  AddRules(report, orders);
  AddDrafts(report, orders);
  for (SdnpuOrder& order : orders) {
    if (order.holds) order.why.clear();
  }
  return orders;
}

}  // namespace tessera

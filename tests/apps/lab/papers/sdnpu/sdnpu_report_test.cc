// sd.npu's systems on the clock, from drafts that are made up: memory, sums, tables, orders and what planted numbers do to them, the page.
#include "tessera/apps/lab/papers/sdnpu/sdnpu_report.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tessera/apps/lab/papers/figures/published.h"
#include "tessera/apps/lab/papers/sdnpu/sdnpu_tables.h"
#include "tessera/base/json.h"
#include "tessera/base/usage_error.h"
#include "tessera/tests/fakes/double_booking.h"
#include "tessera/tests/fakes/made_up_recordings.h"
#include "tessera/tests/fakes/must.h"

namespace tessera {
namespace {

const SdnpuReport& MadeUpReport() {
  static const SdnpuReport report = Must(MakeSdnpuReport({}, MadeUpRecordings()));
  return report;
}

const SdnpuSystem& SystemOf(absl::string_view key) { return SdnpuSystems()[SystemIndex(key)]; }

const SystemOnTask& On(absl::string_view system) { return MadeUpReport().Phone("8gen2").Shape(kMainShape).On("summary", system); }

TEST(SdnpuSystems, HeaderExample) {
  const auto phone = Must(PhoneCosts::Open(Must(LoadDeviceProfile("8gen2")), "qwen2.5-0.5b"));
  std::set<std::string> names;
  for (const SdnpuSystem& system : SdnpuSystems()) {
    const SystemOnTask on = Must(RunSystem(phone->costs(), system, MadeUpRecordings(), "summary"));
    names.insert(system.name);
    EXPECT_EQ(on.requests, 2) << system.name;
    EXPECT_GT(on.milliseconds_per_token(), on.decode_milliseconds_per_token()) << system.name;
    EXPECT_GT(on.joules / on.requests, 0) << system.name;
  }
  EXPECT_EQ(names.size(), SdnpuSystems().size());
}

TEST(SdnpuSystems, MemoryHasTwoCopiesWhereTheCpuDecodes) {
  const auto phone = Must(PhoneCosts::Open(Must(LoadDeviceProfile("8gen2")), kMainShape));
  const SystemMemory npu = MemoryOf(*phone, SystemOf("npu"));
  EXPECT_EQ(npu.total(), phone->memory().total());
  EXPECT_EQ(MemoryOf(*phone, SystemOf("full")).total(), npu.total());
  for (const char* key : {"cpu", "cpu_sam"}) {
    EXPECT_EQ(MemoryOf(*phone, SystemOf(key)).total(), npu.total() + npu.npu_weights) << key;
  }
  EXPECT_EQ(MemoryOf(*phone, SystemOf("npu_eagle")).total(), npu.total() + phone->draft_model_bytes());
  EXPECT_EQ(MemoryOf(*phone, SystemOf("cpu_eagle")).total(), npu.total() + npu.npu_weights + phone->draft_model_bytes());
}

TEST(SdnpuSystems, AcceptanceIsTheRecordings) {
  EXPECT_DOUBLE_EQ(On("npu").tokens_per_pass(), 1);
  EXPECT_DOUBLE_EQ(On("npu").tokens, 100);
  double passes = 0;
  const SdnpuRecordings recordings = MadeUpRecordings();
  for (const RecordedText& text : recordings.Of("sam+ours").texts) passes += text.task == "summary" ? text.passes.size() : 0;
  EXPECT_DOUBLE_EQ(On("full").passes, passes);
  EXPECT_DOUBLE_EQ(On("full").tokens_per_pass(), 98 / passes);
  EXPECT_DOUBLE_EQ(On("full").tokens, On("npu").tokens);
}

TEST(SdnpuSystems, RecordingsOfOtherTextsAreRefused) {
  const auto refused = [](auto change) {
    SdnpuRecordings recordings = MadeUpRecordings();
    change(recordings.recordings);
    const absl::Status status = CheckSdnpuRecordings(recordings);
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    return std::string(status.message());
  };
  using All = std::vector<Recording>;
  EXPECT_TRUE(CheckSdnpuRecordings(MadeUpRecordings()).ok());
  EXPECT_EQ(refused([](All& all) { all.pop_back(); }), "recordings: found 0 of lookup+ours, expected one");
  EXPECT_EQ(refused([](All& all) { all[1].texts[2].id = "x"; }), "recording sam+ours, text 2: id: found x, expected 0");
  EXPECT_EQ(refused([](All& all) { all[2].texts[1].tokens = 61; }), "recording lookup, text 1: tokens: found 61, expected 60");
  EXPECT_EQ(refused([](All& all) { all[3].texts.pop_back(); }), "recording lookup+ours, text 0: number of texts: found 7, expected 8");
  EXPECT_EQ(refused([](All& all) {
              for (Recording& recording : all) recording.texts.resize(6);
            }),
            "recordings: found no text of reply, expected some");
}

TEST(SdnpuReport, HeaderExample) {
  const SdnpuReport report = Must(MakeSdnpuReport({.device = "8gen2"}, MadeUpRecordings()));
  EXPECT_TRUE(absl::StrContains(Must(SdnpuReportText(report, "all")), "8gen2"));
  for (const SdnpuOrder& order : report.orders) EXPECT_EQ(order.why.empty(), order.holds) << order.claim << " " << order.where;
}

TEST(SdnpuReport, SaysTheSameToTheDigit) {
  const SdnpuReport again = Must(MakeSdnpuReport({}, MadeUpRecordings()));
  EXPECT_EQ(SdnpuReportJson(again), SdnpuReportJson(MadeUpReport()));
  EXPECT_EQ(Must(SdnpuReportText(again, "all")), Must(SdnpuReportText(MadeUpReport(), "all")));
}

TEST(SdnpuReport, HasEachPartForThePhoneOfThePapers) {
  const SdnpuReport& report = MadeUpReport();
  EXPECT_EQ(report.ablation_phone, "8gen2");
  EXPECT_EQ(report.breakdown_phone, "8elite");
  EXPECT_EQ(report.sweep_phone, "8gen3");
  EXPECT_EQ(report.phones.size(), 3u);
  const SdnpuReport one = Must(MakeSdnpuReport({.device = "8elite:unshared:balanced"}, MadeUpRecordings()));
  EXPECT_EQ(one.phones.size(), 1u);
  EXPECT_EQ(one.ablation_phone, "8elite");
  EXPECT_EQ(one.chunks.size(), report.chunks.size());
  EXPECT_EQ(one.rules.size(), report.rules.size());
  EXPECT_GT(one.Phone("8elite").Shape(kMainShape).On("summary", "npu").seconds.prefill,
            report.Phone("8elite").Shape(kMainShape).On("summary", "npu").seconds.prefill);
}

TEST(SdnpuReport, OtherStylesAndPhonesAreWrongUsage) {
  for (const char* device : {"8gen2:operators", "8gen2:static", "9gen9", "8gen2:unshared:warp", "8gen2:a:b:c"}) {
    const absl::Status status = MakeSdnpuReport({.device = device}, MadeUpRecordings()).status();
    EXPECT_TRUE(IsWrongUsage(status)) << device << " " << status;
    EXPECT_EQ(FieldOf(status), "device");
  }
}

TEST(SdnpuReport, JsonHasAllSystemsOfAllTasks) {
  const JsonValue json = Must(JsonValue::Parse(SdnpuReportJson(MadeUpReport()), "report"));
  const JsonValue shape = Must(Must(Must(json.Object("phones")).Object("8gen2")).Object("qwen2.5-1.5b"));
  for (const char* task : kSdnpuTasks) {
    for (const SdnpuSystem& system : SdnpuSystems()) {
      const JsonValue on = Must(Must(Must(shape.Object("tasks")).Object(task)).Object(system.key));
      double sum = 0;
      for (const char* part : {"prefill_seconds", "waiting_seconds", "calibration_seconds", "drafting_seconds", "pass_seconds"}) {
        sum += Must(on.Double(part));
      }
      EXPECT_NEAR(sum, Must(on.Double("seconds")), 1e-4 * sum) << task << " " << system.key;
    }
  }
}

TEST(SdnpuReport, SharesOfRowsAreAll) {
  for (const DraftUsage& use : MadeUpReport().drafts) {
    EXPECT_NEAR(use.valid + use.wasted + use.underutilized, 1, 1e-12) << use.drafter << " " << use.task;
    EXPECT_LE(use.below_8, use.below_32);
  }
  const auto all = std::find_if(MadeUpReport().drafts.begin(), MadeUpReport().drafts.end(),
                                [](const DraftUsage& use) { return use.drafter == "lookup" && use.task.empty(); });
  EXPECT_EQ(all->below_8, 1);                      // Six tokens each.
  EXPECT_NEAR(all->underutilized, 25.0 / 32, 1e-12);
}

TEST(SdnpuReport, SharesOfRejectedDraftsAreTheRecordings) {
  for (const DraftUsage& use : MadeUpReport().drafts) {
    EXPECT_GT(use.rejected, 0) << use.drafter << " " << use.task;
    EXPECT_NEAR(use.missing + use.synonym + use.redundant, 1, 1e-12) << use.drafter << " " << use.task;
  }
  const auto ours = std::find_if(MadeUpReport().drafts.begin(), MadeUpReport().drafts.end(),
                                 [](const DraftUsage& use) { return use.drafter == "sam+ours" && use.task == "summary"; });
  EXPECT_EQ(ours->rejected, 8 + 12);
  EXPECT_NEAR(ours->missing, 4.0 / 20, 1e-12);
  EXPECT_NEAR(ours->synonym, 6.0 / 20, 1e-12);
  EXPECT_NEAR(ours->redundant, 10.0 / 20, 1e-12);
  const std::vector<SdnpuTable> tables = SdnpuTables(MadeUpReport());
  const auto table = std::find_if(tables.begin(), tables.end(),
                                  [](const SdnpuTable& item) { return absl::StartsWith(item.title, "Rejected drafts"); });
  ASSERT_NE(table, tables.end());
  using Row = std::vector<std::string>;
  const Row expected = {"sam+ours", "summary", "20", "20.0 %", "30.0 %", "50.0 %", "15.4, 23.1, 61.5 %"};
  EXPECT_NE(std::find(table->rows.begin(), table->rows.end(), expected), table->rows.end());
}

TEST(SdnpuReport, SharesOfNoRejectedDraftsAreNotShown) {
  SdnpuReport report = MadeUpReport();
  report.drafts = {{.drafter = "sam", .task = "ui"}};
  const std::vector<SdnpuTable> tables = SdnpuTables(report);
  const auto table = std::find_if(tables.begin(), tables.end(),
                                  [](const SdnpuTable& item) { return absl::StartsWith(item.title, "Rejected drafts"); });
  ASSERT_NE(table, tables.end());
  EXPECT_EQ(table->rows, (std::vector<std::vector<std::string>>{{"sam", "ui", "0", "", "", "", ""}}));
}

TEST(SdnpuReport, TablesHaveACellForEachColumnAndThePapersBeside) {
  const std::string text = absl::StrReplaceAll(Must(SdnpuReportText(MadeUpReport(), "all")), {{"\n", " "}});   // Notes go over lines.
  for (const SdnpuTable& table : SdnpuTables(MadeUpReport())) {
    EXPECT_FALSE(table.rows.empty()) << table.title;
    for (const auto& row : table.rows) EXPECT_EQ(row.size(), table.columns.size()) << table.title;
    EXPECT_TRUE(absl::StrContains(text, table.title)) << table.title;
  }
  for (const PublishedFact& fact : PublishedSdnpuFacts()) EXPECT_TRUE(absl::StrContains(text, fact.value)) << fact.what;
  for (const char* said : {"57.41", "15.08", "41.62"}) EXPECT_TRUE(absl::StrContains(text, said)) << said;
}

TEST(SdnpuReport, ThePageNeedsNothingElse) {
  const std::string page = SdnpuReportHtml(MadeUpReport());
  EXPECT_TRUE(absl::StartsWith(page, "<!DOCTYPE html>"));
  for (const char* outside : {"src=", "href=", "@import", "url("}) EXPECT_FALSE(absl::StrContains(page, outside)) << outside;
  for (const SdnpuTable& table : SdnpuTables(MadeUpReport())) {
    EXPECT_TRUE(absl::StrContains(page, table.columns.back())) << table.title;
  }
  EXPECT_TRUE(absl::StrContains(page, SdnpuReportSvg(MadeUpReport())));
}

// One that holds is turned around, and the other way.
TEST(SdnpuOrders, APlantedNumberBreaksAnOrder) {
  SdnpuReport report = MadeUpReport();
  const auto order_of = [&](const std::string& claim, const std::string& where) {
    for (SdnpuOrder& order : SdnpuOrders(report)) {
      if (absl::StrContains(order.claim, claim) && absl::StrContains(order.where, where)) return order;
    }
    ADD_FAILURE() << claim << " " << where;
    return SdnpuOrder{};
  };
  std::vector<SystemOnTask>& systems = report.phones[0].shapes[1].tasks[0];   // 8gen2, 1.5B, summary.
  double milliseconds = 100;
  for (const char* key : {"npu", "npu_g", "npu_sd", "npu_g_sd", "full"}) {
    SystemOnTask& on = systems[SystemIndex(key)];
    on.seconds = {.decode = milliseconds * on.tokens / 1e3};
    milliseconds -= 10;
  }
  EXPECT_TRUE(order_of("table 3: NPU, +G", "qwen2.5-1.5b, 8gen2").holds);
  systems[SystemIndex("full")].seconds.calibration = 10;
  const SdnpuOrder broken = order_of("table 3: NPU, +G", "qwen2.5-1.5b, 8gen2");
  EXPECT_FALSE(broken.holds);
  EXPECT_TRUE(absl::StrContains(broken.why, "calibration 100.0")) << broken.why;   // 10 s of 100 tokens.
  systems[SystemIndex("cpu")].seconds = {.decode = 0.001};
  const SdnpuOrder beaten = order_of("figure 10", "8gen2, qwen2.5-1.5b, summary");
  EXPECT_FALSE(beaten.holds);
  EXPECT_TRUE(absl::StrContains(beaten.found, "least: CPU vanilla")) << beaten.found;
}

TEST(SdnpuReport, ATraceHasTheRequestOnThreeTracks) {
  Timeline timeline({.capacity = 1 << 16});
  Must(RecordSdnpuRequest({}, MadeUpRecordings(), timeline));
  EXPECT_EQ(timeline.dropped(), 0);
  EXPECT_EQ(DoubleBooking(timeline.Events()), "");
  std::set<Zone> zones;
  std::set<Resource> resources;
  for (const TimelineEvent& event : timeline.Events()) {
    zones.insert(event.zone);
    resources.insert(event.resource);
  }
  EXPECT_EQ(zones, (std::set<Zone>{Zone::kGraphRun, Zone::kLoad, Zone::kHead, Zone::kSample, Zone::kOperator, Zone::kPass}));
  EXPECT_EQ(resources, (std::set<Resource>{Resource::kNpu, Resource::kFlash, Resource::kCpu}));
}

}  // namespace
}  // namespace tessera

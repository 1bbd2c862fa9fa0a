// tessera_reproduce sdnpu, with the recordings that are built in: what it prints and writes, and whether the papers' orders came out.
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "tessera/apps/lab/papers/sdnpu/sdnpu_report.h"
#include "tessera/base/file.h"
#include "tessera/base/json.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/fakes/programs/run_program.h"
#include "tessera/tests/fakes/temporary_folder.h"

namespace tessera {
namespace {

Ended Reproduce(const std::vector<std::string>& flags) { return RunProgram("tessera_reproduce sdnpu", flags); }

TEST(ReproduceSdnpu, PrintsTheSameEachTime) {
  const Ended ended = Reproduce({"--table=all"});
  EXPECT_EQ(ended.code, 0) << ended.errors;
  EXPECT_EQ(ended.errors, "");
  for (const char* said : {"Ablation (table 3)", "Breakdown (figure 13)", "One graph for both (figure 5)", "Draft length (figure 6)",
                           "Memory (figure 12)", "Energy (figure 11)", "sam+ours: ", "full (sd.npu)"}) {
    EXPECT_TRUE(absl::StrContains(ended.output, said)) << said;
  }
  EXPECT_EQ(Reproduce({"--table=all"}).output, ended.output);
  EXPECT_TRUE(absl::StartsWith(Reproduce({}).output, "What the papers say about orders"));
}

TEST(ReproduceSdnpu, WritesJsonPagePictureAndTrace) {
  const TemporaryFolder folder;
  const std::string page = folder.Path("a.html"), plot = folder.Path("a.svg"), trace = folder.Path("a.json");
  const Ended ended = Reproduce({"--device=8gen2", "--json", "--out=" + page, "--plot=" + plot, "--trace=" + trace});
  ASSERT_EQ(ended.code, 0) << ended.errors;
  EXPECT_TRUE(JsonValue::Parse(ended.output, "report").ok());
  EXPECT_TRUE(absl::StartsWith(Must(ReadFileToString(page, 1 << 24)), "<!DOCTYPE html>"));
  EXPECT_TRUE(absl::StartsWith(Must(ReadFileToString(plot, 1 << 24)), "<svg "));
  const std::string events = Must(ReadFileToString(trace, 1 << 24));
  EXPECT_TRUE(JsonValue::Parse(events, "trace").ok());
}

TEST(ReproduceSdnpu, RefusesAPhoneOfAnotherStyleAndAFileThatCannotBe) {
  const Ended style = Reproduce({"--device=8gen2:static"});
  EXPECT_EQ(style.code, 2);
  EXPECT_TRUE(absl::StrContains(style.errors, "--device: found 8gen2:static")) << style.errors;
  for (const char* flag : {"out", "plot", "trace"}) {
    const Ended ended = Reproduce({std::string("--") + flag + "=/nowhere/a"});
    EXPECT_EQ(ended.code, 2) << flag;
    EXPECT_EQ(ended.output, "");
    EXPECT_TRUE(absl::StrContains(ended.errors, std::string("--") + flag)) << ended.errors;
  }
}

// docs/results/reproduce_sdnpu.md has the commands that write them.
TEST(ReproduceSdnpu, ReportsInDocsEqualTheOutputOfTheirCommands) {
  const TemporaryFolder folder;
  const Ended whole = Reproduce({"--out=" + folder.Path("sdnpu.html"), "--plot=" + folder.Path("sdnpu.svg"),
                                 "--trace=" + folder.Path("sdnpu.trace.json")});
  ASSERT_EQ(whole.code, 0) << whole.errors;
  const Ended single = RunProgram("tessera_reproduce npu", {"--plot=" + folder.Path("npu.svg")});
  ASSERT_EQ(single.code, 0) << single.errors;
  for (const std::string name : {"sdnpu.html", "sdnpu.svg", "sdnpu.trace.json", "npu.svg"}) {
    const std::string kept = Must(ReadFileToString(std::string(TESSERA_SOURCE_DIR) + "/docs/reports/" + name, 1 << 24));
    EXPECT_TRUE(kept == Must(ReadFileToString(folder.Path(name), 1 << 24))) << "docs/reports/" << name << " is another";
    EXPECT_LT(kept.size(), 300u << 10) << name;
  }
}

// The papers' orders in predictions from recordings of real decoding. docs/results/reproduce_sdnpu.md says why some do not come out.
TEST(SdnpuOrders, AsManyOfThePapersOrdersComeOutAsThePageSays) {
  const SdnpuReport report = Must(MakeSdnpuReport({}, Must(BuiltInSdnpuRecordings())));
  std::map<std::string, std::pair<int, int>> found;   // By claim: places where it holds, and all.
  for (const SdnpuOrder& order : report.orders) {
    found[order.claim.substr(0, order.claim.find(':'))].first += order.holds ? 1 : 0;
    found[order.claim.substr(0, order.claim.find(':'))].second += 1;
    if (!order.holds) EXPECT_FALSE(order.why.empty()) << order.claim << ", " << order.where;
  }
  const std::map<std::string, std::pair<int, int>> expected = {
      {"table 3", {0, 9}},    {"table 4", {8, 8}},   {"figure 5", {1, 1}},  {"figure 6", {1, 1}},         {"figure 8", {2, 2}},
      {"figure 10", {0, 36}}, {"figure 11", {0, 24}}, {"figure 12", {3, 3}}, {"figure 13", {3, 3}}, {"003, section 3.2", {2, 2}},
      {"ours", {1, 1}}};
  EXPECT_EQ(found, expected);
}

}  // namespace
}  // namespace tessera

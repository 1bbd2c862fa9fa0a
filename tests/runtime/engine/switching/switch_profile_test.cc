#include "tessera/runtime/engine/switching/switch_profile.h"

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "gtest/gtest.h"
#include "tessera/base/file.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/fakes/temporary_folder.h"

namespace tessera {
namespace {

SwitchProfile Sample() {
  return {.device = "8gen3:unshared, context 4096",
          .model = {{0xFE, 0xDC}},
          .graphs = {{.rows = 32, .run_seconds = {0.001, 1.0 / 3}, .load_seconds = {0.02, 0}},
                     {.rows = 256, .run_seconds = {0.004, 0.5}, .load_seconds = {0.02, 1e9}, .fixed_seconds = 0.015}}};
}

TEST(SwitchProfile, HeaderExample) {
  const TemporaryFolder folder;
  const std::string path = SwitchProfilePath(folder.Path("model.gguf"), "8gen3");
  EXPECT_EQ(path, folder.Path("model.gguf.8gen3.switch.json"));
  const SwitchProfile measured = Sample();
  EXPECT_EQ(SwitchProfile::Load(path).status().code(), absl::StatusCode::kNotFound);
  Must(measured.Save(path));
  const absl::StatusOr<SwitchProfile> profile = SwitchProfile::Load(path);
  ASSERT_TRUE(profile.ok()) << profile.status();
  EXPECT_TRUE(profile->Check({.device = measured.device, .model = measured.model, .layers = 2}, {32, 256}).ok());
}

// To the last bit: what is chosen does not depend on whether times were measured or read.
TEST(SwitchProfile, SurvivesARoundTripToTheLastBit) {
  const SwitchProfile written = Sample(), read = Must(SwitchProfile::Parse(written.ToJson(), "text"));
  EXPECT_EQ(read.device, written.device);
  EXPECT_EQ(read.model, written.model);
  ASSERT_EQ(read.graphs.size(), written.graphs.size());
  for (size_t i = 0; i < read.graphs.size(); ++i) {
    EXPECT_EQ(read.graphs[i].rows, written.graphs[i].rows);
    EXPECT_EQ(read.graphs[i].run_seconds, written.graphs[i].run_seconds);
    EXPECT_EQ(read.graphs[i].load_seconds, written.graphs[i].load_seconds);
    EXPECT_EQ(read.graphs[i].fixed_seconds, written.graphs[i].fixed_seconds);
  }
}

TEST(SwitchProfile, ANameOfADeviceLeadsNowhereElse) {
  EXPECT_EQ(SwitchProfilePath("m.gguf", "../x y"), "m.gguf..._x_y.switch.json");
}

TEST(SwitchProfile, AnotherDeviceModelOrGraphIsNoticed) {
  const SwitchProfile profile = Sample();
  const SwitchProfile::Key key = {.device = profile.device, .model = profile.model, .layers = 2};
  const auto check = [&](auto change, const std::vector<int>& rows) {
    SwitchProfile::Key other = key;
    change(other);
    const absl::Status status = profile.Check(other, rows);
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    return std::string(status.message());
  };
  EXPECT_TRUE(absl::StrContains(check([](auto& k) { k.device = "8elite"; }, {32}), "expected \"8elite\""));
  EXPECT_TRUE(absl::StrContains(check([](auto& k) { k.model = {{7}}; }, {32}), "expected 07000"));
  EXPECT_EQ(check([](auto& k) { k.layers = 3; }, {32}), "layers: found 2, expected 3");
  EXPECT_EQ(check([](auto&) {}, {32, 64}), "graphs: found none of 64 rows, expected one");
}

TEST(SwitchProfile, AnInvalidProfileIsRefused) {
  const std::string good = Sample().ToJson();
  Must(SwitchProfile::Parse(good, "text"));
  const auto refused = [&](const std::string& from, const std::string& to) {
    const std::string bad = absl::StrReplaceAll(good, {{from, to}});
    EXPECT_NE(bad, good) << from;
    const absl::Status status = SwitchProfile::Parse(bad, "text").status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << to;
    EXPECT_TRUE(absl::StrContains(status.message(), "text: ")) << status;
  };
  for (const char* const other : {"\"version\": 1", "\"version\": 2", "\"version\": 4"}) refused("\"version\": 3", other);
  refused("\"fedc", "\"FEDC");
  refused("\"fedc", "\"");
  refused("\"fixed_seconds\": 0.015", "\"fixed_seconds\": 0.021");   // More than the least load.
  refused("\"fixed_seconds\": 0.015", "\"fixed_seconds\": -0.015");
  refused("fixed_seconds", "mixed_seconds");
  refused("\"rows\": 32", "\"rows\": 0");
  refused("\"rows\": 32", "\"rows\": 256");
  refused("0.001", "-0.001");
  refused("0.001", "1e10");
  refused("0.001", "\"fast\"");
  refused("0.001,", "");
  refused("\"graphs\"", "\"charts\"");
  for (const size_t length : {size_t{0}, size_t{1}, good.size() / 2, good.size() - 3}) {
    EXPECT_FALSE(SwitchProfile::Parse(good.substr(0, length), "text").ok()) << length;
  }
  EXPECT_FALSE(SwitchProfile::Parse(std::string(2 << 20, ' '), "text").ok()) << "too large";
}

}  // namespace
}  // namespace tessera

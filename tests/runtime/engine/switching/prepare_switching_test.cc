#include "tessera/runtime/engine/switching/prepare_switching.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "tessera/base/file.h"
#include "tessera/tests/fakes/switching_phone.h"

namespace tessera {
namespace {

SwitchWarmUp WarmUp(const std::string& path, SwitchReady& ready, const std::string& device = "8gen2:unshared, context 128") {
  return {.path = path,
          .device = device,
          .question = {.prefill_rows = {kPrefillRows}, .decode_rows = {kDecodeRows}, .prompt_tokens = 75, .pass_rows = kDecodeRows},
          .on_ready = [&ready](const SwitchReady& told) { ready = told; }};
}

TEST(PrepareSwitching, HeaderExample) {
  const TemporaryFolder folder;
  SwitchReady ready;
  SwitchingPhone phone(SwitchRule::kPlanned, 1000, 1, WarmUp(SwitchProfilePath(folder.Path("model"), "8gen2"), ready));
  EXPECT_EQ(phone.motion().ends(), ready.choice.ends);
  EXPECT_EQ(phone.motion().options().prefill_rows, kPrefillRows);
  EXPECT_TRUE(ready.measured);
  EXPECT_TRUE(ready.profile.ok()) << ready.profile;
}

// Measured or read: the same choice, and the same times to the nanosecond from then on.
TEST(PrepareSwitching, AKeptProfileIsAsGoodAsAMeasuredOne) {
  const TemporaryFolder folder;
  const std::string path = folder.Path("model.switch.json");
  const std::vector<TokenId> prompt = RandomTokens(75, 4);
  SwitchingPhone plain(std::nullopt);
  const std::vector<std::vector<float>> expected = LogitsOf(*plain.engine, prompt);
  std::vector<int64_t> nanos;
  std::vector<SwitchReady> readies(3);
  for (SwitchReady& ready : readies) {
    SwitchingPhone phone(SwitchRule::kPlanned, 1000, 1, WarmUp(path, ready));
    const int64_t begin = phone.clock.NowNanos();
    EXPECT_EQ(LogitsOf(*phone.engine, prompt), expected);
    nanos.push_back(phone.clock.NowNanos() - begin);
    EXPECT_EQ(ready.choice.ends, readies[0].choice.ends);
    EXPECT_TRUE(ready.profile.ok()) << ready.profile;
    EXPECT_LE(phone.meter->most_bytes(), PlannedGraphBytes(CoreOf(*phone.engine)));
  }
  EXPECT_TRUE(readies[0].measured);
  EXPECT_FALSE(readies[1].measured);
  EXPECT_FALSE(readies[2].measured);
  EXPECT_EQ(nanos, std::vector<int64_t>(3, nanos[0]));
}

TEST(PrepareSwitching, AnInvalidProfileOrAnotherPhonesIsMeasuredAgain) {
  const TemporaryFolder folder;
  const std::string path = folder.Path("model.switch.json");
  SwitchReady ready;
  for (const char* text : {"", "{", "{\"version\": 1}", "{\"version\": 9}", "no profile"}) {
    Must(WriteFileAtomically(path, text));
    SwitchingPhone phone(SwitchRule::kPlanned, 1000, 1, WarmUp(path, ready));
    EXPECT_TRUE(ready.measured) << text;
    EXPECT_TRUE(absl::StrContains(ready.profile.message(), "measured again: ")) << ready.profile;
    SwitchingPhone again(SwitchRule::kPlanned, 1000, 1, WarmUp(path, ready));
    EXPECT_FALSE(ready.measured) << "it was replaced";
  }
  SwitchingPhone other(SwitchRule::kPlanned, 1000, 1, WarmUp(path, ready, "8elite:unshared, context 128"));
  EXPECT_TRUE(ready.measured);
  EXPECT_TRUE(absl::StrContains(ready.profile.message(), "expected \"8elite")) << ready.profile;
}

// A trace of a run on a phone has the run alone.
TEST(PrepareSwitching, AWarmUpIsNotRecordedButAllLaterWorkIs) {
  Timeline timeline({.capacity = 1 << 16});
  SwitchReady ready;
  SwitchingPhone phone(SwitchRule::kPlanned, 1000, 1, WarmUp("", ready), {}, &timeline);
  EXPECT_TRUE(ready.measured);
  const auto count = [&](Zone zone) {
    const std::vector<TimelineEvent> events = timeline.Events();
    return std::count_if(events.begin(), events.end(), [zone](const TimelineEvent& event) { return event.zone == zone; });
  };
  EXPECT_EQ(count(Zone::kOperator), 0);
  const auto loads = count(Zone::kLoad);   // Those before it, of the graphs that the engine began with.
  Must(PrepareSwitching(*phone.engine));
  EXPECT_EQ(count(Zone::kOperator), 0) << "measured again";
  EXPECT_EQ(count(Zone::kLoad), loads);
  LogitsOf(*phone.engine, RandomTokens(75, 4));
  EXPECT_GT(count(Zone::kOperator), 0);
  EXPECT_GT(count(Zone::kLoad), loads);
}

TEST(PrepareSwitching, AProfileThatCannotBeKeptEndsNothing) {
  const TemporaryFolder folder;
  SwitchReady ready;
  SwitchingPhone phone(SwitchRule::kPlanned, 1000, 1, WarmUp(folder.Path("none/model.switch.json"), ready));
  EXPECT_TRUE(ready.measured);
  EXPECT_TRUE(absl::StrContains(ready.profile.message(), "not kept: ")) << ready.profile;
  SwitchingPhone unkept(SwitchRule::kPlanned, 1000, 1, WarmUp("", ready));
  EXPECT_TRUE(ready.measured);
  EXPECT_TRUE(ready.profile.ok()) << ready.profile;
}

TEST(PrepareSwitching, AsManyBlocksAsAreAskedForAndNoMoreThanLayers) {
  SwitchReady ready;
  SwitchWarmUp warm_up = WarmUp("", ready);
  warm_up.question.blocks = 4;
  SwitchingPhone phone(SwitchRule::kPlanned, 1000, 1, warm_up);
  EXPECT_EQ(phone.motion().blocks(), 4);
  EXPECT_TRUE(PrepareSwitching(*SwitchingPhone(SwitchRule::kPlanned).engine).ok()) << "there is nothing to do";
}

}  // namespace
}  // namespace tessera

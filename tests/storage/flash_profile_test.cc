#include "tessera/storage/flash_profile.h"

#include <filesystem>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tessera/base/file.h"
#include "tessera/base/quoted.h"
#include "tessera/base/status_macros.h"
#include "tessera/tests/fakes/temporary_folder.h"

namespace tessera {
namespace {

std::string Speed(int64_t block_bytes, int depth, double megabytes_per_second) {
  return absl::StrCat("speed { block_bytes: ", block_bytes, " depth: ", depth, " megabytes_per_second: ", megabytes_per_second,
                      " }\n");
}

absl::Status Refusal(const std::string& text) { return ParseFlashProfile(text, "flash").status(); }

TEST(FlashProfile, HeaderExample) {
  const auto run = []() -> absl::StatusOr<double> {
    ASSIGN_OR_RETURN(FlashProfile flash, LoadFlashProfile("ufs4.0"));
    double speed = flash.BytesPerSecond(/*block_bytes=*/1 << 20, /*depth=*/4);
    return speed;
  };
  const absl::StatusOr<double> speed = run();
  ASSERT_TRUE(speed.ok()) << speed.status();
  EXPECT_EQ(*speed, 4e9);
}

TEST(FlashProfile, ARefusalShowsNoByteOfTheTextThatControlsATerminal) {
  for (const char* text : {"speed {' \xa2'", "\xff", "name: '\x1b[1m", "x\xc2\x9b"}) {
    const absl::Status status = Refusal(text);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_EQ(status.message(), Printable(status.message()));
  }
}

TEST(FlashProfile, EveryBuiltInOneIsWholeAndNamesItsSources) {
  EXPECT_GE(FlashProfileNames().size(), 3u);
  for (const std::string& name : FlashProfileNames()) {
    const absl::StatusOr<FlashProfile> profile = LoadFlashProfile(name);
    ASSERT_TRUE(profile.ok()) << profile.status();
    EXPECT_EQ(profile->name, name);
    const auto text = ReadFileToString(absl::StrCat(TESSERA_SOURCE_DIR, "/storage/profiles/", name, ".textproto"), 1 << 20);
    ASSERT_TRUE(text.ok()) << text.status();
    const auto count = [&](absl::string_view word) {
      int found = 0;
      for (size_t at = text->find(word.data()); at != std::string::npos; at = text->find(word.data(), at + 1)) ++found;
      return found;
    };
    EXPECT_EQ(count("  source: \""), static_cast<int>(profile->speeds.size())) << name;
    EXPECT_EQ(count("\nlatency_source: \""), profile->latency_nanos > 0) << name;
  }
}

TEST(FlashProfile, BetweenSizesTheSpeedGoesWithTheLogarithm) {
  const FlashProfile profile = *ParseFlashProfile(Speed(4096, 1, 100) + Speed(65536, 1, 500), "flash");
  EXPECT_EQ(profile.BytesPerSecond(1, 1), 100e6);
  EXPECT_EQ(profile.BytesPerSecond(4096, 1), 100e6);
  EXPECT_DOUBLE_EQ(profile.BytesPerSecond(8192, 1), 200e6);
  EXPECT_DOUBLE_EQ(profile.BytesPerSecond(16384, 1), 300e6);
  EXPECT_EQ(profile.BytesPerSecond(65536, 1), 500e6);
  EXPECT_EQ(profile.BytesPerSecond(1 << 30, 1), 500e6);
}

TEST(FlashProfile, BetweenDepthsTheLowerOneCounts) {
  const FlashProfile profile =
      *ParseFlashProfile(Speed(4096, 8, 800) + Speed(4096, 2, 200) + Speed(8192, 2, 300) + Speed(4096, 4, 400), "flash");
  EXPECT_EQ(profile.BytesPerSecond(4096, 1), 200e6);
  EXPECT_EQ(profile.BytesPerSecond(4096, 2), 200e6);
  EXPECT_EQ(profile.BytesPerSecond(8192, 3), 300e6);
  EXPECT_EQ(profile.BytesPerSecond(8192, 4), 400e6);
  EXPECT_EQ(profile.BytesPerSecond(4096, 7), 400e6);
  EXPECT_EQ(profile.BytesPerSecond(4096, 1000), 800e6);
  EXPECT_EQ(profile.Best().depth, 8);
}

TEST(FlashProfile, TheBestIsTheShallowestOfTheFastest) {
  const FlashProfile profile = *ParseFlashProfile(Speed(8192, 4, 400) + Speed(8192, 2, 400) + Speed(4096, 2, 400), "flash");
  EXPECT_EQ(profile.Best().depth, 2);
  EXPECT_EQ(profile.Best().block_bytes, 4096);
}

TEST(FlashProfile, AnInvalidProfileIsRefusedWithItsMistake) {
  EXPECT_EQ(Refusal("").message(), "flash: speed: found none, expected one or more");
  EXPECT_TRUE(absl::StartsWith(Refusal("speed {\n  blocks: 3 }").message(), "flash: line 2: "))
      << Refusal("speed {\n  blocks: 3 }");
  EXPECT_EQ(Refusal(Speed(0, 1, 1)).message(), "flash: speed[0].block_bytes: found 0, expected 1 to 1073741824");
  EXPECT_EQ(Refusal(Speed(1, 1, 1) + Speed(1, 1025, 1)).message(), "flash: speed[1].depth: found 1025, expected 1 to 1024");
  for (const char* speed : {"0", "-5", "nan", "inf", "1e300"}) {
    const absl::Status status = Refusal(absl::StrCat("speed { block_bytes: 1 depth: 1 megabytes_per_second: ", speed, " }"));
    EXPECT_TRUE(absl::StartsWith(status.message(), "flash: speed[0].megabytes_per_second: found ")) << status;
  }
  EXPECT_EQ(Refusal(Speed(4096, 2, 1) + Speed(4096, 2, 3)).message(),
            "flash: speed: found two for blocks of 4096 at depth 2, expected one");
  EXPECT_EQ(Refusal(Speed(1, 1, 1) + "latency_microseconds: -1").message(),
            "flash: latency_microseconds: found -1, expected 0 to 1e+07");
  for (const std::string& text : {Speed(0, 1, 1), std::string("\0\xff", 2)}) EXPECT_TRUE(absl::IsInvalidArgument(Refusal(text)));
}

TEST(FlashProfile, IsReadFromAFile) {
  const TemporaryFolder folder;
  const std::string path = folder.Path("mine.textproto");
  ASSERT_EQ(WriteFileAtomically(path, Speed(4096, 1, 12.5) + "latency_microseconds: 1.5"), absl::OkStatus());
  const absl::StatusOr<FlashProfile> profile = LoadFlashProfile(path);
  ASSERT_TRUE(profile.ok()) << profile.status();
  EXPECT_EQ(profile->Best().bytes_per_second, 12.5e6);
  EXPECT_EQ(profile->latency_nanos, 1500);
  const absl::Status missing = LoadFlashProfile("ufs9").status();
  EXPECT_TRUE(absl::IsNotFound(missing));
  EXPECT_TRUE(absl::StartsWith(missing.message(), "flash profile: found \"ufs9\", expected a file or one of ufs3.1, ufs4.0, ufs4.1"))
      << missing;
}

}  // namespace
}  // namespace tessera

#include "tessera/model/files/recommended_sampling.h"

#include <gtest/gtest.h>

#include <limits>

#include "absl/strings/str_cat.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/text/sampler.h"
#include "tessera/tests/fakes/gguf_builder.h"
#include "tessera/tests/fakes/must.h"

namespace tessera {
namespace {

absl::StatusOr<RecommendedSampling> Read(GgufBuilder builder) {
  const std::string bytes = builder.Build();
  ASSIGN_OR_RETURN(const auto file, GgufFile::Parse({reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()}, "tiny"));
  return ReadRecommendedSampling(*file);
}

std::vector<std::string> WrongFields(const RecommendedSampling& sampling) {
  std::vector<std::string> fields;
  for (const RecommendedSampling::Wrong& each : sampling.wrong) fields.push_back(each.field);
  return fields;
}

TEST(RecommendedSampling, HeaderExample) {
  GgufBuilder builder;
  builder.Number("general.sampling.temp", 0.6f).Number("general.sampling.mirostat", 2);
  const std::string bytes = builder.Build();
  const auto file = Must(GgufFile::Parse({reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()}, "tiny"));
  SamplingOptions options;
  std::vector<std::string> warnings;
  const auto Warn = [&](const std::string& key) { warnings.push_back(key); };
  const auto run = [&]() -> absl::Status {
    const RecommendedSampling recommended = ReadRecommendedSampling(*file);
    if (recommended.temperature.has_value()) options.temperature = *recommended.temperature;
    for (const RecommendedSampling::Wrong& each : recommended.wrong) RETURN_IF_ERROR(each.problem);
    for (const std::string& key : recommended.not_applied) Warn(key);
    return absl::OkStatus();
  };
  Must(run());
  EXPECT_EQ(options.temperature, 0.6f);
  EXPECT_EQ(warnings, std::vector<std::string>{"general.sampling.mirostat"});
}

TEST(RecommendedSampling, HasTheKeysOfTheFileAndNothingElse) {
  EXPECT_TRUE(Must(Read(GgufBuilder())).empty());
  GgufBuilder builder;
  builder.Number("general.sampling.temp", 0.0f).Number("general.sampling.top_k", 20).Number("general.sampling.top_p", 0.9f);
  builder.Number("general.sampling.min_p", 0.1f).Number("general.sampling.penalty_repeat", 1.1f);
  builder.Number("general.sampling.penalty_last_n", uint32_t{32});
  const RecommendedSampling all = Must(Read(builder));
  EXPECT_EQ(all.temperature, 0.0f);
  EXPECT_EQ(all.top_k, 20);
  EXPECT_EQ(all.top_p, 0.9f);
  EXPECT_EQ(all.min_p, 0.1f);
  EXPECT_EQ(all.repetition_penalty, 1.1f);
  EXPECT_EQ(all.penalty_window, 32);
  EXPECT_TRUE(all.not_applied.empty());
}

TEST(RecommendedSampling, NumbersBelowZeroStandForNoLimit) {
  const RecommendedSampling sampling = Must(Read(GgufBuilder().Number("general.sampling.top_k", -1)
                                                     .Number("general.sampling.penalty_last_n", -1)));
  EXPECT_EQ(sampling.top_k, 0);
  EXPECT_EQ(sampling.penalty_window, std::numeric_limits<int>::max());
}

TEST(RecommendedSampling, KeysThatTheSamplerLacksAreNamed) {
  GgufBuilder builder;
  builder.Number("general.sampling.mirostat", 0).Number("general.sampling.mirostat_tau", 5.0f);
  builder.Number("general.sampling.xtc_probability", 0.5f).Number("general.sampling.xtc_threshold", 0.1f);
  builder.String("general.sampling.sequence", "top_k;temperature").Number("general.sampling.novelty", 1);
  EXPECT_EQ(Must(Read(builder)).not_applied,
            (std::vector<std::string>{"general.sampling.xtc_probability", "general.sampling.sequence", "general.sampling.novelty"}));
}

TEST(RecommendedSampling, WrongNumbersAreNamed) {
  const auto refused = [](const char* name, auto value) {
    GgufBuilder builder;
    builder.Number(absl::StrCat("general.sampling.", name), value);
    const RecommendedSampling read = Must(Read(builder));
    ASSERT_EQ(read.wrong.size(), 1u) << name << " " << value;
    EXPECT_TRUE(read.empty());
    const absl::Status status = read.wrong[0].problem;
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << name;
    EXPECT_NE(status.message().find(absl::StrCat("tiny: metadata \"general.sampling.", name, "\" value at byte ")),
              absl::string_view::npos) << status;
    EXPECT_NE(status.message().find(", expected "), absl::string_view::npos) << status;
  };
  for (const float wrong : {-1.0f, std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    for (const char* name : {"temp", "top_p", "min_p", "penalty_repeat"}) refused(name, wrong);
  }
  refused("top_p", 0.0f);
  refused("penalty_repeat", 0.0f);
  refused("top_k", 40.5f);
  refused("top_k", int64_t{1} << 31);
  refused("top_k", ~uint64_t{0});
  refused("temp", true);
}

TEST(RecommendedSampling, NumbersOfAnyTypeAreRead) {
  const RecommendedSampling read = Must(Read(GgufBuilder().Number("general.sampling.temp", uint32_t{1})
                                                 .Number("general.sampling.top_k", 40.0f)
                                                 .Number("general.sampling.top_p", 0.9)
                                                 .Number("general.sampling.min_p", uint64_t{0})
                                                 .Number("general.sampling.penalty_repeat", int8_t{2})
                                                 .Number("general.sampling.penalty_last_n", -1.0)
                                                 .Number("general.sampling.mirostat", 0.0f)
                                                 .Number("general.sampling.xtc_probability", 0)));
  EXPECT_TRUE(read.wrong.empty());
  EXPECT_EQ(read.temperature, 1.0f);
  EXPECT_EQ(read.top_k, 40);
  EXPECT_EQ(read.top_p, 0.9f);
  EXPECT_EQ(read.min_p, 0.0f);
  EXPECT_EQ(read.repetition_penalty, 2.0f);
  EXPECT_EQ(read.penalty_window, std::numeric_limits<int>::max());
  EXPECT_TRUE(read.not_applied.empty());
}

// One wrong number says nothing of the others.
TEST(RecommendedSampling, AWrongNumberLeavesTheOthers) {
  const RecommendedSampling read = Must(Read(GgufBuilder().Number("general.sampling.temp", -1.0f)
                                                 .String("general.sampling.top_k", "forty")
                                                 .Number("general.sampling.top_p", 0.5f)));
  EXPECT_EQ(WrongFields(read), (std::vector<std::string>{"temperature", "top_k"}));
  EXPECT_EQ(read.top_p, 0.5f);
}

}  // namespace
}  // namespace tessera

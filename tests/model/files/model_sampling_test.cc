#include "tessera/model/files/model_sampling.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tessera/base/status_macros.h"
#include "tessera/tests/fakes/gguf_builder.h"
#include "tessera/tests/fakes/must.h"

namespace tessera {
namespace {

std::unique_ptr<GgufFile> Parsed(GgufBuilder builder) {
  static std::string bytes;   // The file reads it.
  bytes = builder.Build();
  return Must(GgufFile::Parse({reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()}, "tiny"));
}

GgufBuilder SmolLm2() {
  GgufBuilder builder;
  builder.String("general.architecture", "llama").String("general.basename", "smollm2").String("tokenizer.chat_template", "{{ a }}");
  return builder;
}

TEST(ModelSampling, HeaderExample) {
  const auto file = Parsed(SmolLm2());
  std::string origin;
  float temperature = 0;
  const auto run = [&]() -> absl::Status {
    const ModelSampling model = SamplingOfModel(*file);
    for (const RecommendedSampling::Wrong& each : model.wrong) RETURN_IF_ERROR(each.problem);
    ASSIGN_OR_RETURN(const Sampler sampler, Sampler::Create(model.options));
    const std::string from = model.OriginOf("temperature");
    origin = from;
    temperature = sampler.options().temperature;
    return absl::OkStatus();
  };
  Must(run());
  EXPECT_EQ(origin, "SmolLM2");
  EXPECT_EQ(temperature, 0.2f);
}

TEST(ModelSampling, EachValueIsTheFilesElseTheFamilysElseTheUsualOne) {
  GgufBuilder builder = SmolLm2();
  builder.Number("general.sampling.temp", 0.5f).Number("general.sampling.penalty_last_n", 16).Number("general.sampling.mirostat", 2);
  builder.Number("general.sampling.min_p", 7.0f);
  const ModelSampling model = SamplingOfModel(*Parsed(std::move(builder)));
  const SamplingOptions usual;
  EXPECT_EQ(model.options.temperature, 0.5f);
  EXPECT_EQ(model.OriginOf("temperature"), kOfFile);
  EXPECT_EQ(model.options.top_p, 0.9f);
  EXPECT_EQ(model.OriginOf("top_p"), "SmolLM2");
  EXPECT_EQ(model.options.top_k, usual.top_k);
  EXPECT_EQ(model.OriginOf("top_k"), "");
  EXPECT_EQ(model.options.penalty_window, 16);
  EXPECT_EQ(model.not_applied, std::vector<std::string>{"general.sampling.mirostat"});
  ASSERT_EQ(model.wrong.size(), 1u);
  EXPECT_EQ(model.wrong[0].field, "min_p");
  EXPECT_EQ(model.options.min_p, usual.min_p) << "nothing wrong is taken";
}

TEST(ModelSampling, AFileOfNoFamilyHasTheUsualValues) {
  const ModelSampling model = SamplingOfModel(*Parsed(GgufBuilder()));
  const SamplingOptions usual;
  EXPECT_EQ(model.options.temperature, usual.temperature);
  EXPECT_EQ(model.options.top_p, usual.top_p);
  EXPECT_TRUE(model.origins.empty());
}

}  // namespace
}  // namespace tessera

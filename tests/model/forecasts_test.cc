#include "tessera/model/forecasts.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tessera/base/half.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/files/importance.h"
#include "tessera/model/files/safetensors_writer.h"
#include "tessera/model/pass.h"
#include "tessera/tests/fakes/bad_forecasts.h"
#include "tessera/tests/fakes/packed_model.h"
#include "tessera/tests/fakes/temporary_folder.h"

namespace tessera {
namespace {

constexpr ForecastSizes kSizes = {.slots = 4, .forecasts = 2};

// That of the tiny models.
ModelConfig Config() {
  ModelConfig config;
  config.width = 64, config.heads = 4, config.kv_heads = 2, config.head_size = 16;
  config.layers.resize(2);
  return config;
}

TEST(Forecasts, HeaderExample) {
  const PackedTiny tiny({});
  const std::string path = tiny.folder().Path("ds2d.safetensors");
  const std::unique_ptr<ModelFile> model = Must(ModelFile::Open(tiny.gguf()));
  const ModelConfig config = Must(ReadModelConfig(model->gguf()));
  ForecastFile file = RandomForecasts(config, kSizes, 1);
  file.WriteTo(path);
  const auto run = [&]() -> absl::Status {
    ASSIGN_OR_RETURN(const ForecastSizes sizes, Forecasts::SizesIn(path));
    EXPECT_EQ(sizes, kSizes);
    ASSIGN_OR_RETURN(const std::shared_ptr<const Forecasts> forecasts, Forecasts::Open(path, *model, config));
    const PassRow row = {.embedding = forecasts->embedding(1), .position = 9};
    EXPECT_EQ(row.embedding[3], file.Of("forecasts").numbers[64 + 3]);
    EXPECT_EQ(forecasts->keys(1).size(), 4u * 2 * 16);
    EXPECT_EQ(forecasts->keys(1)[5], file.Of("prefix.keys").numbers[4 * 2 * 16 + 5]);
    EXPECT_EQ(forecasts->values(0)[127], file.Of("prefix.values").numbers[127]);
    EXPECT_EQ(forecasts->bytes(), 4 * (2 * 2 * 4 * 2 * 16 + 2 * 64));
    return absl::OkStatus();
  };
  Must(run());
}

TEST(Forecasts, NumbersOf16BitsAreWidened) {
  for (const SafetensorsType type : {SafetensorsType::kF16, SafetensorsType::kBF16}) {
    const TemporaryFolder folder;
    const std::string path = folder.Path("ds2d.safetensors");
    const std::vector<int64_t> prefix = {2, 1, 2, 16};
    const auto bytes_of = [type](int count, float number) {
      const uint16_t half = type == SafetensorsType::kF16 ? FloatToHalf(number) : FloatToBFloat16(number);
      const std::vector<uint16_t> halves(static_cast<size_t>(count), half);
      return std::string(reinterpret_cast<const char*>(halves.data()), halves.size() * sizeof half);
    };
    SafetensorsWriter writer = Must(SafetensorsWriter::Create(
        path, {{"prefix.keys", type, prefix}, {"prefix.values", type, prefix}, {"forecasts", type, {1, 64}}}));
    const auto append = [&](int tensor, const std::string& bytes) {
      Must(writer.Append(tensor, {reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()}));
    };
    append(0, bytes_of(64, 1.5f)), append(1, bytes_of(64, -2)), append(2, bytes_of(64, 0.25f));
    Must(writer.Commit());
    const auto forecasts = Must(Forecasts::Read(*Must(SafetensorsFile::Open(path)), Config()));
    EXPECT_EQ(forecasts->keys(1)[31], 1.5f);
    EXPECT_EQ(forecasts->values(0)[0], -2);
    EXPECT_EQ(forecasts->embedding(0)[63], 0.25f);
  }
}

TEST(Forecasts, FilesThatAreWrongAreRefusedByName) {
  const TemporaryFolder folder;
  const std::string path = folder.Path("ds2d.safetensors");
  for (const BadForecasts& row : AllBadForecasts()) {
    ForecastFile file = RandomForecasts(Config(), kSizes, 1);
    row.spoil(file);
    file.WriteTo(path);
    const absl::Status status = Forecasts::Read(*Must(SafetensorsFile::Open(path)), Config()).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << row.name << ": " << status;
    const std::string expected = absl::StrReplaceAll(row.message, {{"FILE", path}});
    if (absl::EndsWith(expected, "*")) {
      EXPECT_TRUE(absl::StartsWith(status.message(), expected.substr(0, expected.size() - 1))) << row.name << ": " << status;
    } else {
      EXPECT_EQ(std::string(status.message()), expected) << row.name;
    }
  }
  EXPECT_TRUE(absl::IsNotFound(Forecasts::SizesIn(folder.Path("none")).status()));
}

TEST(Forecasts, ALayerWithAWindowIsRefused) {
  ModelConfig config = Config();
  config.layers[1].window = 16;
  const std::string bytes = RandomForecasts(Config(), kSizes, 1).Bytes();
  const auto file = Must(SafetensorsFile::Parse({reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()}, "x"));
  EXPECT_EQ(Forecasts::Read(*file, config).status().message(),
            "x: layer 1 of the model: found a window of 16 positions, expected one that attends to all, and so to prefix slots, too");
}

TEST(Forecasts, AMarkIsTheModelsOrTheFileIsRefused) {
  const PackedTiny tiny({});
  const auto model = Must(ModelFile::Open(tiny.gguf())), packed = Must(ModelFile::Open(tiny.packed()));
  const ModelConfig config = Must(ReadModelConfig(model->gguf()));
  const uint32_t mark = Must(Importance::MarkOf(model->gguf(), config)).vectors;
  ForecastFile file = RandomForecasts(config, kSizes, 1);
  const std::string path = tiny.folder().Path("ds2d.safetensors");
  file.texts = {{"tessera.model.vectors", absl::StrCat(mark)}};
  file.WriteTo(path);
  Must(Forecasts::Open(path, *model, config).status());
  Must(Forecasts::Open(path, *packed, config).status());
  file.texts = {{"tessera.model.vectors", absl::StrCat(mark + 1)}};
  file.WriteTo(path);
  for (const ModelFile* const other : {model.get(), packed.get()}) {
    EXPECT_EQ(Forecasts::Open(path, *other, config).status().message(),
              absl::StrCat(path, ": __metadata__ tessera.model.vectors: found \"", mark + 1, "\", expected \"", mark, "\", the mark of ",
                           other->path()));
  }
}

TEST(Forecasts, OtherFilesAreToldFromThese) {
  const auto is_in = [](const std::string& bytes) {
    return Forecasts::IsIn(*Must(SafetensorsFile::Parse({reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()}, "x")));
  };
  EXPECT_TRUE(is_in(RandomForecasts(Config(), kSizes, 1).Bytes()));
  EXPECT_FALSE(is_in(SafetensorsBuilder().Build()));
}

}  // namespace
}  // namespace tessera

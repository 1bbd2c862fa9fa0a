// Files of forecasts: the bytes of a safetensors file. What is refused is refused in words that name the file; what is accepted has finite
// numbers of the model's shape, and says the same sizes before there is a model.
#include <cmath>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/forecasts.h"
#include "tessera/tests/fakes/bad_forecasts.h"
#include "tessera/tests/fuzz/fuzz_target.h"

namespace tessera {
namespace {

constexpr char kName[] = "ds2d.safetensors";

// As that of tests/fakes/bad_forecasts.h, but small.
ModelConfig Target() {
  ModelConfig config;
  config.width = 4, config.heads = 2, config.kv_heads = 2, config.head_size = 2;
  config.layers.resize(2);
  return config;
}

absl::Status Checked(const absl::Status& status) {
  CHECK(status.ok() || absl::StartsWith(status.message(), kName)) << status;
  CHECK(status.ok() || absl::IsInvalidArgument(status) || absl::IsResourceExhausted(status)) << status;
  return status;
}

void Use(const Forecasts& forecasts, const ForecastSizes& sizes) {
  const ModelConfig config = Target();
  CHECK(forecasts.sizes() == sizes && forecasts.layers() == 2 && forecasts.width() == config.width && forecasts.columns() == 4);
  CHECK(sizes.slots >= 1 && sizes.slots <= Forecasts::kMostSlots && sizes.forecasts >= 1 && sizes.forecasts <= Forecasts::kMostForecasts);
  double sum = 0;
  for (int layer = 0; layer < forecasts.layers(); ++layer) {
    for (const absl::Span<const float> numbers : {forecasts.keys(layer), forecasts.values(layer)}) {
      CHECK_EQ(numbers.size(), static_cast<size_t>(sizes.slots * forecasts.columns()));
      for (const float number : numbers) sum += double{number};
    }
  }
  for (int k = 0; k < sizes.forecasts; ++k) {
    for (int i = 0; i < forecasts.width(); ++i) sum += double{forecasts.embedding(k)[i]};
  }
  CHECK(std::isfinite(sum));
  CHECK_EQ(forecasts.bytes(), 4 * (2 * 2 * sizes.slots * 4 + sizes.forecasts * 4));
}

std::string Good(const ForecastSizes& sizes) { return RandomForecasts(Target(), sizes, 1).Bytes(); }

}  // namespace

absl::Status RunInput(absl::Span<const std::byte> input) {
  const auto file = SafetensorsFile::Parse(input, kName);
  RETURN_IF_ERROR(Checked(file.status()));
  const auto sizes = Forecasts::SizesIn(**file);
  const auto forecasts = Forecasts::Read(**file, Target());
  CHECK(sizes.ok() || !forecasts.ok());
  RETURN_IF_ERROR(Checked(sizes.status()));
  RETURN_IF_ERROR(Checked(forecasts.status()));
  CHECK(Forecasts::IsIn(**file));
  Use(**forecasts, *sizes);
  return absl::OkStatus();
}

std::vector<FuzzSeed> Seeds() {
  std::vector<FuzzSeed> seeds = {{"empty", ""}, {"good", Good({.slots = 3, .forecasts = 2})}};
  seeds.push_back({"least", Good({.slots = 1, .forecasts = 1})});
  const std::string good = Good({.slots = 2, .forecasts = 2});
  for (size_t cut = 1; cut < good.size(); cut += 29) seeds.push_back({absl::StrCat("cut_", cut), good.substr(0, cut)});
  for (const char* name : {"prefix.keys", "prefix.values", "forecasts"}) {
    for (const std::vector<int64_t>& shape : {std::vector<int64_t>{1}, {2, 2}, {2, 4}, {2, 1, 2, 2}, {3, 2, 2, 2}, {2, 0, 2, 2}, {0, 4}}) {
      ForecastFile file = RandomForecasts(Target(), {.slots = 2, .forecasts = 2}, 1);
      file.Reshape(name, shape);
      seeds.push_back({absl::StrCat("shape_", seeds.size()), file.Bytes()});
    }
  }
  for (const BadForecasts& row : AllBadForecasts()) {
    ModelConfig config = Target();
    config.width = 64, config.head_size = 16;   // Those are spoiled in places that a small one lacks.
    ForecastFile file = RandomForecasts(config, {.slots = 4, .forecasts = 2}, 1);
    row.spoil(file);
    seeds.push_back({"bad_" + row.name, file.Bytes()});
  }
  return seeds;
}

}  // namespace tessera

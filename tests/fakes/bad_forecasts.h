// All known bad files of forecasts, each with a name and the expected error message: for tests, and as seeds of fuzzing.
//
//   for (const BadForecasts& row : AllBadForecasts()) Refuse(row.name, row.spoil, row.message);
//
// All are RandomForecasts(config, {.slots = 4, .forecasts = 2}, 1) with one defect, for a model with 2 layers, 64 wide, with 2 heads of 16
// of keys. FILE stands for the path. A message that ends in * gives only the start of the expected message. Pure.
#pragma once

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "tessera/tests/fakes/forecast_file.h"

namespace tessera {

struct BadForecasts {
  std::string name;
  std::function<void(ForecastFile&)> spoil;
  std::string message;
};

inline std::vector<BadForecasts> AllBadForecasts() {
  using F = ForecastFile;
  const std::string keys = "prefix.keys", values = "prefix.values", rows = "forecasts";
  const auto tensor = [](const std::string& name, const std::string& rest) { return absl::StrCat("FILE: tensor \"", name, "\"", rest); };
  const auto text = [](const std::string& rest) { return absl::StrCat("FILE: __metadata__ ", rest); };
  const float nan = std::numeric_limits<float>::quiet_NaN(), infinite = std::numeric_limits<float>::infinity();
  return {
      {"no-keys", [=](F& f) { f.Remove(keys); }, tensor(keys, ": found nothing, expected 4 dimensions")},
      {"no-values", [=](F& f) { f.Remove(values); }, tensor(values, ": found nothing, expected [2, 4, 2, 16]")},
      {"no-forecasts", [=](F& f) { f.Remove(rows); }, tensor(rows, ": found nothing, expected 2 dimensions")},
      {"flat-keys", [=](F& f) { f.Reshape(keys, {2, 4, 32}); }, tensor(keys, " shape: found 3 dimensions, expected 4")},
      {"no-slots", [=](F& f) { f.Reshape(keys, {2, 0, 2, 16}); }, tensor(keys, " shape: dimension 1: found 0, expected 1 to 256")},
      {"many-slots", [=](F& f) { f.Reshape(keys, {2, 257, 2, 16}); }, tensor(keys, " shape: dimension 1: found 257, expected 1 to 256")},
      {"more-layers", [=](F& f) { f.Reshape(keys, {3, 4, 2, 16}); }, tensor(keys, " shape: found [3, 4, 2, 16], expected [2, 4, 2, 16]")},
      {"query-heads", [=](F& f) { f.Reshape(keys, {2, 4, 4, 16}); }, tensor(keys, " shape: found [2, 4, 4, 16], expected [2, 4, 2, 16]")},
      {"small-heads", [=](F& f) { f.Reshape(values, {2, 4, 2, 8}); }, tensor(values, " shape: found [2, 4, 2, 8], expected [2, 4, 2, 16]")},
      {"fewer-values", [=](F& f) { f.Reshape(values, {2, 3, 2, 16}); },
       tensor(values, " shape: found [2, 3, 2, 16], expected [2, 4, 2, 16]")},
      {"another-width", [=](F& f) { f.Reshape(rows, {2, 63}); }, tensor(rows, " shape: found [2, 63], expected [2, 64]")},
      {"one-forecast-as-a-vector", [=](F& f) { f.Reshape(rows, {64}); }, tensor(rows, " shape: found 1 dimensions, expected 2")},
      {"many-forecasts", [=](F& f) { f.Reshape(rows, {17, 64}); }, tensor(rows, " shape: dimension 0: found 17, expected 1 to 16")},
      {"whole-numbers", [=](F& f) { f.Of(values).type = "I32"; }, tensor(values, " dtype: found I32, expected F32, F16 or BF16")},
      {"a-nan", [=](F& f) { f.Of(keys).numbers[7] = nan; }, tensor(keys, " value 7 at byte *")},
      {"an-infinity", [=](F& f) { f.Of(values).numbers[0] = infinite; }, tensor(values, " value 0 at byte *")},
      {"a-nan-embedding", [=](F& f) { f.Of(rows).numbers[127] = -nan; }, tensor(rows, " value 127 at byte *")},
      {"another-tensor", [](F& f) { f.tensors.push_back({"head.weight", {1}, {0}}); },
       tensor("head.weight", ": found it, expected prefix.keys, prefix.values and forecasts alone")},
      {"said-slots", [](F& f) { f.texts = {{"slots", "5"}}; }, text("slots: found \"5\", expected \"4\", as the prefix has")},
      {"said-forecasts", [](F& f) { f.texts = {{"forecasts", "two"}}; }, text("forecasts: found \"two\", expected \"2\", as there are")},
  };
}

}  // namespace tessera

#include "tessera/apps/compare/comparison_table.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tessera/base/json_writer.h"
#include "tessera/base/table.h"

namespace tessera {
namespace {

std::string Percent(double share, double error) { return absl::StrFormat("%+.3f +- %.3f %%", 100 * share, 100 * error); }

}  // namespace

std::string ComparisonTable::ToString() const {
  constexpr Table::Align kRight = Table::Align::kRight;
  Table table({{what_}, {"compared with"}, {"bits per weight", kRight}, {"weight error", kRight}, {"perplexity", kRight},
               {"more than the yardstick's", kRight}, {"KL divergence (nats)", kRight}, {"same likeliest token", kRight}});
  for (const ComparedWay& way : ways_) {
    const LogitComparison& c = way.comparison;
    table.AddRow({way.name, way.yardstick, way.bits_per_weight ? absl::StrFormat("%.3f", *way.bits_per_weight) : "",
                  way.weight_error ? absl::StrFormat("%.4f", *way.weight_error) : "",
                  absl::StrFormat("%.4f +- %.2f", c.Perplexity(), c.Perplexity() * c.nll.Error95()),
                  Percent(c.Ratio() - 1, c.Ratio() * c.difference.Error95()),
                  absl::StrFormat("%.5f +- %.5f", c.divergence.mean(), c.divergence.Error95()),
                  absl::StrFormat("%.2f +- %.2f %%", 100 * c.agreement.mean(), 100 * c.agreement.Error95())});
  }
  const int64_t tokens = ways_.empty() ? 0 : ways_.front().comparison.nll.count();
  return absl::StrCat(table.ToString(), tokens, " tokens; +- is half of a 95 % interval, as if tokens were independent\n");
}

std::string ComparisonTable::ToJson() const {
  JsonWriter json;
  json.BeginArray();
  for (const ComparedWay& way : ways_) {
    const LogitComparison& c = way.comparison;
    const auto mean = [&json](const char* key, const SampleMean& of) {
      json.Key(key).BeginObject().Key("mean").Double(of.mean(), 9).Key("error95").Double(of.Error95(), 6).EndObject();
    };
    json.BeginObject().Key("name").String(way.name).Key("compared_with").String(way.yardstick).Key("tokens").Int(c.nll.count());
    if (way.bits_per_weight) json.Key("bits_per_weight").Double(*way.bits_per_weight, 6);
    if (way.weight_error) json.Key("weight_error").Double(*way.weight_error, 6);
    json.Key("perplexity").Double(c.Perplexity(), 9).Key("yardstick_perplexity").Double(c.YardstickPerplexity(), 9);
    json.Key("ratio").Double(c.Ratio(), 9);
    mean("nll_difference", c.difference);
    mean("kl_divergence", c.divergence);
    mean("same_likeliest_token", c.agreement);
    json.EndObject();
  }
  json.EndArray();
  return std::move(json).Take() + "\n";
}

}  // namespace tessera

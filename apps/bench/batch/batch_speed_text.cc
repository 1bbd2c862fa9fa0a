#include "tessera/apps/bench/batch/batch_speed_text.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tessera/base/byte_size.h"
#include "tessera/base/spread.h"
#include "tessera/base/table.h"

namespace tessera {
namespace {

constexpr auto kRight = Table::Align::kRight;

std::string Millis(double seconds) { return absl::StrFormat("%.2f", seconds * 1e3); }
std::string Ratio(std::optional<double> ratio) { return ratio.has_value() ? absl::StrFormat("%.2f", *ratio) : "-"; }

// Returns a step's time divided by a step's time of one sequence; nullopt if one sequence was not measured.
std::optional<double> OfOne(const BatchSpeed& speed, const BatchSpeed::Together& together) {
  if (speed.together.front().texts != 1) return std::nullopt;
  return together.step_seconds / speed.together.front().step_seconds;
}

// Returns the gaps of as many sequences while no prompt is read.
const BatchSpeed::Gaps* Alone(const BatchSpeed& speed, int texts) {
  for (const BatchSpeed::Gaps& gaps : speed.gaps) {
    if (gaps.texts == texts && gaps.prompt_tokens == 0) return &gaps;
  }
  return nullptr;
}

std::optional<double> OfAlone(const BatchSpeed& speed, const BatchSpeed::Gaps& gaps, double BatchSpeed::Gaps::*which) {
  const BatchSpeed::Gaps* const alone = Alone(speed, gaps.texts);
  if (gaps.prompt_tokens == 0 || gaps.gaps == 0 || alone == nullptr || alone->gaps == 0) return std::nullopt;
  return gaps.*which / alone->median;
}

std::string TogetherText(const BatchSpeed& speed) {
  Table table({{"texts", kRight}, {"tokens/s", kRight}, {"ms per step", kRight}, {"pass, ms", kRight}, {"of the pass", kRight},
               {"of one text", kRight}});
  for (const BatchSpeed::Together& together : speed.together) {
    table.AddRow({absl::StrCat(together.texts), absl::StrFormat("%.1f", together.tokens_per_second.median), Millis(together.step_seconds),
                  Millis(together.pass_seconds), Ratio(together.step_seconds / together.pass_seconds), Ratio(OfOne(speed, together))});
  }
  return absl::StrCat(table.ToString(), "pass: as many rows of one text, each with logits\n");
}

std::string CategoriesText(const BatchSpeed& speed) {
  if (speed.categories.empty()) return "";
  Table table({{"with drafts"}, {"texts", kRight}, {"plain, tok/s", kRight}, {"drafted", kRight}, {"gain", kRight},
               {"tokens per pass", kRight}, {"prompts", kRight}});
  for (const BatchSpeed::Category& category : speed.categories) {
    const std::string prompts =
        category.left_out == 0 ? absl::StrCat(category.prompts)
                               : absl::StrCat(category.prompts, " of ", category.prompts + category.left_out);
    table.AddRow({category.name, absl::StrCat(category.texts), absl::StrFormat("%.1f", category.plain),
                  absl::StrFormat("%.1f", category.drafted),
                  Ratio(category.gain), absl::StrFormat("%.2f", category.tokens_per_pass), prompts});
  }
  return absl::StrCat("\n", table.ToString());
}

std::string GapsText(const BatchSpeed& speed) {
  Table table({{"ms between tokens"}, {"median", kRight}, {"95 %", kRight}, {"longest", kRight}, {"median of alone", kRight},
               {"95 % of alone", kRight}, {"prompt, ms", kRight}, {"in passes", kRight}});
  for (const BatchSpeed::Gaps& gaps : speed.gaps) {
    std::string what = absl::StrCat(gaps.texts, gaps.texts == 1 ? " text" : " texts");
    const bool known = gaps.prompt_passes > 0;
    if (gaps.prompt_tokens > 0) absl::StrAppend(&what, ", a prompt of ", gaps.prompt_tokens, " beside");
    const auto gap = [&](double seconds) { return gaps.gaps > 0 ? Millis(seconds) : std::string("-"); };   // Sequences may end before.
    table.AddRow({what, gap(gaps.median), gap(gaps.high), gap(gaps.longest),
                  Ratio(OfAlone(speed, gaps, &BatchSpeed::Gaps::median)), Ratio(OfAlone(speed, gaps, &BatchSpeed::Gaps::high)),
                  known ? Millis(gaps.prompt_seconds) : "-", known ? absl::StrFormat("%.0f", gaps.prompt_passes) : "-"});
  }
  return absl::StrCat("\n", table.ToString(), "of alone: divided by the median without a prompt beside\n");
}

std::string FirstTokensText(const BatchSpeed& speed) {
  Table table({{"first token"}, {"ms", kRight}, {"of alone", kRight}});
  for (const BatchSpeed::FirstToken& first : speed.first_tokens) {
    table.AddRow({absl::StrCat("after ", first.prompt_tokens, " tokens, ", first.texts, " texts beside"), Millis(first.seconds),
                  Ratio(first.seconds / speed.first_tokens.front().seconds)});
  }
  return absl::StrCat("\n", table.ToString());
}

std::string MemoryText(const BatchSpeed& speed) {
  Table table({{"memory"}, {"size", kRight}});
  table.AddRow({"weights", FormatByteSize(speed.memory.weights)});
  table.AddRow({absl::StrCat("keys and values of ", speed.cache_tokens, " tokens"), FormatByteSize(speed.memory.cache)});
  table.AddRow({"peak", FormatKnownByteSize(speed.peak_memory)});
  return absl::StrCat("\n", table.ToString());
}

class Writer {
 public:
  Writer(JsonWriter& json, const BatchSpeed& speed) : json_(json), speed_(speed) {}

  void Together() {
    json_.Key("together").BeginArray();
    for (const BatchSpeed::Together& together : speed_.together) {
      json_.BeginObject().Key("texts").Int(together.texts);
      WriteSpread(json_.Key("tokens_per_second"), together.tokens_per_second);
      Number("step_seconds", together.step_seconds);
      Number("pass_seconds", together.pass_seconds);
      Number("of_pass", together.step_seconds / together.pass_seconds);
      Known("of_one_text", OfOne(speed_, together));
      json_.EndObject();
    }
    json_.EndArray();
  }

  void Categories() {
    json_.Key("categories").BeginArray();
    for (const BatchSpeed::Category& category : speed_.categories) {
      json_.BeginObject().Key("name").String(category.name).Key("texts").Int(category.texts);
      json_.Key("prompts").Int(category.prompts).Key("left_out").Int(category.left_out);
      Number("plain_tokens_per_second", category.plain);
      Number("drafted_tokens_per_second", category.drafted);
      Number("gain", category.gain);
      Number("tokens_per_pass", category.tokens_per_pass);
      json_.EndObject();
    }
    json_.EndArray();
  }

  void Gaps() {
    json_.Key("gaps").BeginArray();
    for (const BatchSpeed::Gaps& gaps : speed_.gaps) {
      json_.BeginObject().Key("texts").Int(gaps.texts).Key("prompt_tokens").Int(gaps.prompt_tokens).Key("gaps").Int(gaps.gaps);
      Number("median", gaps.median);
      Number("percentile_95", gaps.high);
      Number("longest", gaps.longest);
      Known("median_of_alone", OfAlone(speed_, gaps, &BatchSpeed::Gaps::median));
      Known("percentile_95_of_alone", OfAlone(speed_, gaps, &BatchSpeed::Gaps::high));
      const bool known = gaps.prompt_passes > 0;
      Known("prompt_seconds", known ? std::optional(gaps.prompt_seconds) : std::nullopt);
      Known("prompt_passes", known ? std::optional(gaps.prompt_passes) : std::nullopt);
      json_.EndObject();
    }
    json_.EndArray();
  }

  void FirstTokens() {
    json_.Key("first_tokens").BeginArray();
    for (const BatchSpeed::FirstToken& first : speed_.first_tokens) {
      json_.BeginObject().Key("texts").Int(first.texts).Key("prompt_tokens").Int(first.prompt_tokens);
      Number("seconds", first.seconds);
      json_.EndObject();
    }
    json_.EndArray();
  }

  void Memory() {
    json_.Key("memory_bytes").BeginObject().Key("weights").Int(speed_.memory.weights).Key("cache").Int(speed_.memory.cache);
    json_.Key("cache_tokens").Int(speed_.cache_tokens).Key("peak");
    if (speed_.peak_memory.has_value()) json_.Int(*speed_.peak_memory);
    else json_.Null();
    json_.EndObject();
  }

 private:
  void Number(const char* name, double value) { json_.Key(name).Double(value, 6); }
  void Known(const char* name, std::optional<double> value) {
    json_.Key(name);
    if (value.has_value()) json_.Double(*value, 6);
    else json_.Null();
  }

  JsonWriter& json_;
  const BatchSpeed& speed_;
};

}  // namespace

std::string BatchSpeedText(const BatchSpeed& speed) {
  return absl::StrCat(TogetherText(speed), CategoriesText(speed), GapsText(speed), FirstTokensText(speed), MemoryText(speed));
}

void WriteBatchSpeed(JsonWriter& json, const BatchSpeed& speed) {
  json.BeginObject();
  Writer writer(json, speed);
  writer.Together();
  writer.Categories();
  writer.Gaps();
  writer.FirstTokens();
  writer.Memory();
  json.EndObject();
}

}  // namespace tessera

#include "tessera/apps/bench/flash/streaming_speed_text.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tessera/base/byte_size.h"
#include "tessera/base/table.h"

namespace tessera {
namespace {

constexpr auto kRight = Table::Align::kRight;
constexpr double kLeastProbeOfSequential = 0.95, kMostCore = 0.06, kMostCoreVerifying = 0.18;

std::string Percent(double share) { return absl::StrFormat("%.1f %%", 100 * share); }
std::string Gigabytes(double bytes) { return absl::StrFormat("%.2f", bytes * 1e-9); }
std::string Megabytes(double bytes) { return absl::StrFormat("%.1f", bytes * 1e-6); }
std::string Millis(double seconds) { return absl::StrFormat("%.1f", seconds * 1e3); }

const char* VerifyName(VerifyPolicy verify) {
  switch (verify) {
    case VerifyPolicy::kNever: return "never";
    case VerifyPolicy::kFirst: return "first";
    case VerifyPolicy::kAlways: return "always";
  }
  return "";
}

double MostCore(const ReadingAlone& alone) { return alone.verify == VerifyPolicy::kAlways ? kMostCoreVerifying : kMostCore; }
std::string Budget(const StreamedPasses& passes) {
  return passes.share > 0 ? absl::StrFormat("%.2f", passes.share) : FormatByteSize(passes.budget_bytes);
}

std::string FlashText(const StreamingSpeed& speed) {
  Table table({{"flash"}, {"GB/s", kRight}, {"share", kRight}, {"asked", kRight}});
  table.AddRow({"one read after the other", Gigabytes(speed.sequential), "", ""});
  table.AddRow({"best of 12 shapes", Gigabytes(speed.probe), Percent(speed.probe_of_sequential), ">= " + Percent(kLeastProbeOfSequential)});
  return table.ToString();
}

std::string AloneText(const StreamingSpeed& speed) {
  Table table({{"streaming alone"}, {"GB/s", kRight}, {"of probe", kRight}, {"of a core", kRight}, {"asked", kRight}});
  for (const ReadingAlone& alone : speed.alone) {
    table.AddRow({absl::StrCat("--verify=", VerifyName(alone.verify)), Gigabytes(alone.speed.bytes_per_second), Percent(alone.of_probe),
                  Percent(alone.speed.core_share), "<= " + Percent(MostCore(alone))});
  }
  return table.ToString();
}

std::string PlanText(const StreamingSpeed& speed) {
  Table table({{"in memory"},
               {"pinned MB", kRight},
               {"ring MB", kRight},
               {"MB per pass", kRight},
               {"GB/s", kRight},
               {"of probe", kRight},
               {"asked", kRight}});
  for (const StreamedPasses& passes : speed.passes) {
    table.AddRow({Budget(passes), Megabytes(passes.pinned_bytes), Megabytes(passes.ring_bytes), Megabytes(passes.bytes_read),
                  Gigabytes(passes.bytes_read / passes.pass_seconds), Percent(passes.of_probe),
                  passes.LeastOfProbe() > 0 ? ">= " + Percent(passes.LeastOfProbe()) : "-"});
  }
  return table.ToString();
}

std::string PassText(const StreamingSpeed& speed) {
  Table table({{"ms per pass"}, {"compute", kRight}, {"bytes / probe", kRight}, {"reading", kRight}, {"stall", kRight}, {"pass", kRight},
               {"of the greater", kRight}, {"asked", kRight}});
  for (const StreamedPasses& passes : speed.passes) {
    table.AddRow({Budget(passes), Millis(passes.compute_seconds), Millis(passes.ReadAtProbe()), Millis(passes.read_seconds),
                  Millis(passes.stall_seconds), Millis(passes.pass_seconds), absl::StrFormat("%.2f", passes.over_least),
                  passes.MostOverLeast() > 0 ? absl::StrFormat("<= %.2f", passes.MostOverLeast()) : "-"});
  }
  return table.ToString();
}

std::string FirstText(const StreamingSpeed& speed) {
  Table table({{absl::StrCat("ms, first ", FirstPrompt::kTokens, " tokens")}, {"compute", kRight}, {"pins first", kRight},
               {"formula", kRight}, {"while reading", kRight}, {"formula", kRight}, {"of formulas", kRight}, {"asked", kRight},
               {"next as many", kRight}});
  for (const StreamedPasses& passes : speed.passes) {
    const FirstPrompt& first = passes.first;
    table.AddRow({Budget(passes), Millis(first.compute_seconds), Millis(first.pins_first_seconds), Millis(first.pins_first_formula),
                  Millis(first.seconds), Millis(first.formula), Percent(first.of_formulas), ">= " + Percent(FirstPrompt::kLeastOfFormulas),
                  Millis(first.second_seconds)});
  }
  return table.ToString();
}

// Reading writes its bytes to memory; computing reads all weights once.
std::string MemoryText(const StreamingSpeed& speed) {
  Table table({{"compute beside reading"}, {"time", kRight}, {"weights GB/s", kRight}, {"reading GB/s", kRight}, {"of memory", kRight}});
  for (const StreamedPasses& passes : speed.passes) {
    const double weights = static_cast<double>(speed.weight_bytes) / (passes.compute_seconds * passes.beside_reading);
    table.AddRow({Budget(passes), absl::StrFormat("x %.2f", passes.beside_reading), Gigabytes(weights),
                  Gigabytes(passes.beside_bytes_per_second), Percent((weights + passes.beside_bytes_per_second) / speed.memory_read)});
  }
  return absl::StrCat(table.ToString(), "memory gives these threads ", Gigabytes(speed.memory_read), " GB/s at best\n");
}

void WriteFirst(JsonWriter& json, const FirstPrompt& first) {
  const auto number = [&](const char* name, double value) { json.Key(name).Double(value, 6); };
  json.BeginObject().Key("tokens").Int(FirstPrompt::kTokens);
  number("compute_seconds", first.compute_seconds);
  number("pins_first_seconds", first.pins_first_seconds);
  number("pins_first_formula", first.pins_first_formula);
  number("seconds", first.seconds);
  number("formula", first.formula);
  number("of_formulas", first.of_formulas);
  number("least_of_formulas", FirstPrompt::kLeastOfFormulas);
  number("second_seconds", first.second_seconds);
  json.EndObject();
}

}  // namespace

std::string StreamingSpeedText(const StreamingSpeed& speed) {
  return absl::StrCat(speed.device, "\n\n", FlashText(speed), "\n", AloneText(speed), "\n", PlanText(speed), "\n", PassText(speed), "\n",
                      FirstText(speed), "\n", MemoryText(speed));
}

void WriteStreamingSpeed(JsonWriter& json, const StreamingSpeed& speed) {
  const auto number = [&](const char* name, double value) { json.Key(name).Double(value, 6); };
  json.BeginObject().Key("device").String(speed.device).Key("weight_bytes").Int(speed.weight_bytes);
  number("probe_bytes_per_second", speed.probe);
  number("sequential_bytes_per_second", speed.sequential);
  number("probe_of_sequential", speed.probe_of_sequential);
  number("memory_bytes_per_second", speed.memory_read);
  json.Key("alone").BeginArray();
  for (const ReadingAlone& alone : speed.alone) {
    json.BeginObject().Key("verify").String(VerifyName(alone.verify));
    number("bytes_per_second", alone.speed.bytes_per_second);
    number("of_probe", alone.of_probe);
    number("core_share", alone.speed.core_share);
    number("most_core_share", MostCore(alone));
    json.EndObject();
  }
  json.EndArray().Key("budgets").BeginArray();
  for (const StreamedPasses& passes : speed.passes) {
    json.BeginObject().Key("share");
    passes.share > 0 ? json.Double(passes.share, 6) : json.Null();
    json.Key("budget_bytes").Int(passes.budget_bytes).Key("pinned_bytes").Int(passes.pinned_bytes);
    json.Key("ring_bytes").Int(passes.ring_bytes).Key("streamed_bytes").Int(passes.streamed_bytes);
    number("bytes_read", passes.bytes_read);
    number("probe_bytes_per_second", passes.probe);
    number("pass_seconds", passes.pass_seconds);
    number("compute_seconds", passes.compute_seconds);
    number("read_seconds", passes.read_seconds);
    number("stall_seconds", passes.stall_seconds);
    number("of_probe", passes.of_probe);
    number("over_least", passes.over_least);
    number("least_of_probe", passes.LeastOfProbe());
    number("most_over_least", passes.MostOverLeast());
    number("beside_reading", passes.beside_reading);
    number("beside_bytes_per_second", passes.beside_bytes_per_second);
    WriteFirst(json.Key("first_prompt"), passes.first);
    json.EndObject();
  }
  json.EndArray().EndObject();
}

}  // namespace tessera

#include "tessera/apps/bench/passes/roofline.h"

#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tessera/base/progress.h"
#include "tessera/base/spread.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/table.h"
#include "tessera/runtime/engine/core.h"
#include "tessera/runtime/plan/machine_probe.h"
#include "tessera/runtime/plan/pass_work.h"

namespace tessera {
namespace {

constexpr int kDepths[] = {512, 4096};

using Samples = std::vector<double>;  // One per repetition.

// Speeds, each with the limit from the probes before and after.
struct SpeedSamples {
  Samples measured, limit;

  void Add(double speed, double most) {
    measured.push_back(speed);
    limit.push_back(most);
  }
  void Summarize(RooflineLine& line) const {
    Samples shares;
    for (size_t i = 0; i < measured.size(); ++i) shares.push_back(measured[i] / limit[i]);
    line.measured = MedianOf(measured);
    line.limit = MedianOf(limit);
    line.share = MedianOf(shares);
  }
};

struct RooflineSamples {
  Samples read, int8, fp32;                 // Probes.
  std::map<int, SpeedSamples> generation;   // By depth, tokens per second.
  SpeedSamples prompt;                      // Tokens per second.
  std::map<int, Samples> pass, difference;  // Seconds of a pass at a depth, and the extra time compared with depth 0.
};

// Runs all figures once, with probes between them.
class RooflineClock {
 public:
  RooflineClock(Engine& engine, Benchmark& benchmark, const MachineProbe& probe, const BenchmarkOptions& options)
      : engine_(engine), benchmark_(benchmark), probe_(probe), options_(options) {}

  absl::Status Repeat(const std::vector<int>& depths, RooflineSamples& samples) {
    for (int depth : depths) {
      RETURN_IF_ERROR(benchmark_.MoveTo(depth));
      RETURN_IF_ERROR(Generate(depth, samples));
      RETURN_IF_ERROR(Pass(depth, samples));
    }
    return absl::OkStatus();
  }

 private:
  absl::Status Generate(int depth, RooflineSamples& samples) {
    const double before = probe_.Read();
    ASSIGN_OR_RETURN(const GenerationTime time, benchmark_.TimeGeneration());
    const double after = probe_.Read();
    samples.read.insert(samples.read.end(), {before, after});
    const double bytes = PassWorkOf(engine_, {.depth = depth + options_.generate_tokens / 2}).Bytes();
    samples.generation[depth].Add(options_.generate_tokens / time.Total(), (before + after) / 2 / bytes);
    return absl::OkStatus();
  }

  absl::Status Pass(int depth, RooflineSamples& samples) {
    const double int8_before = probe_.Int8(), fp32_before = probe_.Fp32();
    ASSIGN_OR_RETURN(const double seconds, benchmark_.TimePrompt());
    const double int8_after = probe_.Int8(), fp32_after = probe_.Fp32();
    samples.int8.insert(samples.int8.end(), {int8_before, int8_after});
    samples.fp32.insert(samples.fp32.end(), {fp32_before, fp32_after});
    samples.pass[depth].push_back(seconds);
    if (depth > 0) {
      samples.difference[depth].push_back(seconds - samples.pass[0].back());
      return absl::OkStatus();
    }
    const PassWork work = PassWorkOf(engine_, {.rows = options_.prompt_tokens, .depth = depth});
    const double least = work.ProductSeconds((int8_before + int8_after) / 2, (fp32_before + fp32_after) / 2, /*reachable=*/false);
    samples.prompt.Add(options_.prompt_tokens / seconds, options_.prompt_tokens / least);
    return absl::OkStatus();
  }

  Engine& engine_;
  Benchmark& benchmark_;
  const MachineProbe& probe_;
  const BenchmarkOptions options_;
};

// A difference of two times is too noisy to be compared with a single probe: take medians first, then the share.
RooflineLine AttentionLine(Engine& engine, int rows, int depth, double seconds, double fp32) {
  RooflineLine line = {.figure = "attention", .tokens = rows, .depth = depth, .unit = "GFLOP/s", .limit = fp32 * 1e-9};
  const double operations = PassWorkOf(engine, {.rows = rows, .depth = depth}).attention - PassWorkOf(engine, {.rows = rows}).attention;
  if (seconds > 0) line.measured = operations / seconds * 1e-9;
  line.share = line.measured / line.limit;
  return line;
}

Roofline Summary(Engine& engine, const BenchmarkOptions& options, const RooflineSamples& samples) {
  Roofline roofline = {.read = SpreadOf(samples.read), .int8 = SpreadOf(samples.int8), .fp32 = SpreadOf(samples.fp32)};
  for (const auto& [depth, speeds] : samples.generation) {
    speeds.Summarize(roofline.lines.emplace_back(
        RooflineLine{.figure = "generation", .tokens = options.generate_tokens, .depth = depth, .unit = "tokens/s"}));
  }
  samples.prompt.Summarize(
      roofline.lines.emplace_back(RooflineLine{.figure = "prompt", .tokens = options.prompt_tokens, .unit = "tokens/s"}));
  for (const auto& [depth, differences] : samples.difference) {
    const double seconds = MedianOf(differences);
    roofline.lines.push_back(AttentionLine(engine, options.prompt_tokens, depth, seconds, roofline.fp32.median));
    roofline.attention_of_pass.push_back({depth, std::max(0.0, seconds / MedianOf(samples.pass.at(depth)))});
  }
  return roofline;
}

// 0 is always included: the other depths are compared with it.
std::vector<int> DepthsFor(const Engine& engine, const BenchmarkOptions& options) {
  if (options.depth > 0) return {0, options.depth};
  std::vector<int> depths = {0};
  const int64_t added = std::max(options.prompt_tokens, options.generate_tokens);
  for (int depth : kDepths) {
    if (depth + added <= engine.context()) depths.push_back(depth);
  }
  return depths;
}

}  // namespace

absl::StatusOr<Roofline> MeasureRoofline(Engine& engine, KernelPath path, const BenchmarkOptions& options, int repetitions) {
  BenchmarkOptions from_zero = options;
  from_zero.depth = 0;
  ASSIGN_OR_RETURN(const MachineProbe probe, MachineProbe::Create(CoreOf(engine).pool(), path));
  ASSIGN_OR_RETURN(Benchmark benchmark, Benchmark::Create(engine, from_zero));
  RooflineClock clock(engine, benchmark, probe, from_zero);
  const std::vector<int> depths = DepthsFor(engine, options);
  RooflineSamples warm_up, samples;
  Progress progress("repetitions", repetitions);
  RETURN_IF_ERROR(clock.Repeat({0}, warm_up));
  for (int i = 0; i < repetitions; ++i) {
    RETURN_IF_ERROR(clock.Repeat(depths, samples));
    progress.Update(i + 1);
  }
  return Summary(engine, from_zero, samples);
}

std::string RooflineText(const Roofline& roofline) {
  constexpr auto kRight = Table::Align::kRight;
  Table probes({{"probe"}, {"min", kRight}, {"median", kRight}, {"max", kRight}});
  const auto probe = [&](const char* name, const Spread& spread) {
    const auto text = [](double value) { return absl::StrFormat("%.1f", value * 1e-9); };
    probes.AddRow({name, text(spread.min), text(spread.median), text(spread.max)});
  };
  probe("read, GB/s", roofline.read);
  probe("INT8, GOP/s", roofline.int8);
  probe("FP32, GFLOP/s", roofline.fp32);
  Table lines({{"figure"}, {"tokens", kRight}, {"before", kRight}, {"unit"}, {"measured", kRight}, {"limit", kRight},
               {"share", kRight}});
  for (const RooflineLine& line : roofline.lines) {
    lines.AddRow({line.figure, absl::StrCat(line.tokens), absl::StrCat(line.depth), line.unit,
                  absl::StrFormat("%.1f", line.measured), absl::StrFormat("%.1f", line.limit),
                  absl::StrFormat("%.1f %%", 100 * line.share)});
  }
  std::string text = absl::StrCat(probes.ToString(), "\n", lines.ToString());
  for (const Roofline::PassShare& pass : roofline.attention_of_pass) {
    absl::StrAppendFormat(&text, "attention to the %d tokens before: %.1f %% of the pass\n", pass.depth, 100 * pass.share);
  }
  return text;
}

void WriteRoofline(JsonWriter& json, const Roofline& roofline) {
  json.BeginObject();
  WriteSpread(json.Key("read_bytes_per_second"), roofline.read);
  WriteSpread(json.Key("int8_operations_per_second"), roofline.int8);
  WriteSpread(json.Key("fp32_operations_per_second"), roofline.fp32);
  json.Key("lines").BeginArray();
  for (const RooflineLine& line : roofline.lines) {
    json.BeginObject().Key("figure").String(line.figure).Key("tokens").Int(line.tokens).Key("depth").Int(line.depth);
    json.Key("unit").String(line.unit).Key("measured").Double(line.measured, 6).Key("limit").Double(line.limit, 6);
    json.Key("share").Double(line.share, 6).EndObject();
  }
  json.EndArray().Key("attention_of_pass").BeginArray();
  for (const Roofline::PassShare& pass : roofline.attention_of_pass) {
    json.BeginObject().Key("depth").Int(pass.depth).Key("share").Double(pass.share, 6).EndObject();
  }
  json.EndArray().EndObject();
}

}  // namespace tessera

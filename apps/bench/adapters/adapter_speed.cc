#include "tessera/apps/bench/adapters/adapter_speed.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tessera/apps/bench/adapters/adapter_reads.h"
#include "tessera/apps/bench/adapters/random_halves.h"
#include "tessera/apps/bench/batch/texts_together.h"
#include "tessera/base/byte_size.h"
#include "tessera/base/peak_memory.h"
#include "tessera/base/progress.h"
#include "tessera/base/random.h"
#include "tessera/base/spread.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/table.h"
#include "tessera/model/adapter_set.h"
#include "tessera/runtime/session/session.h"

namespace tessera {
namespace {

using Samples = std::vector<double>;

constexpr float kScale = 0.01f;
constexpr uint64_t kPromptSeed = 1, kFirstAdapterSeed = 1000;
// The width of a model with a billion weights. In a narrower model, a matrix has fewer numbers per number of the adapter.
constexpr int kWide = 2048;
constexpr int kReads = 4;   // From the drive, in each repetition.
constexpr double kMostWideRatio = 1.15, kMostNarrowRatio = 1.35;

absl::StatusOr<LoraAdapter> RandomLora(const ModelConfig& config, int rank, uint64_t seed) {
  SeededRandom random(seed);
  ASSIGN_OR_RETURN(LoraAdapter adapter, LoraAdapter::Create(static_cast<int>(config.layers.size()), kLoraTargets));
  const std::vector<LoraShape> shapes = LoraShapesOf(config);
  for (int place = 0; place < static_cast<int>(shapes.size()); ++place) {
    const auto [in, out] = shapes[static_cast<size_t>(place)];
    LoraNumbers numbers = {.in = in, .out = out, .rank = rank, .scale = kScale, .format = BlockFormat::kF16};
    numbers.a = RandomHalves(rank * in, random);
    numbers.b = RandomHalves(rank * out, random);
    RETURN_IF_ERROR(adapter.SetNumbers(place / kLoraTargets, place % kLoraTargets, std::move(numbers)));
  }
  return adapter;
}

class AdapterBench {
 public:
  AdapterBench(Engine& engine, const AdapterSpeedOptions& options) : engine_(engine), options_(options) {}

  absl::Status Prepare();
  absl::Status Repeat(bool counts);
  absl::StatusOr<AdapterSpeed> Result();

 private:
  enum Kind { kPlain, kOff, kAdapted, kKinds };

  double Now() const { return static_cast<double>(engine_.ClockOr(nullptr).NowNanos()) * 1e-9; }
  void Keep(double value, Samples& samples) const {
    if (counts_) samples.push_back(value);
  }
  std::vector<TokenId> Prompt(uint64_t seed) const {
    SeededRandom random(seed);
    std::vector<TokenId> prompt(static_cast<size_t>(std::max(options_.depth, 1)));
    for (TokenId& token : prompt) token = static_cast<TokenId>(random.Below(engine_.config().vocabulary));
    return prompt;
  }
  absl::StatusOr<std::unique_ptr<Session>> NewText(const LoraAdapter* adapter);
  absl::Status Passes();
  absl::StatusOr<double> Rate(int adapters);
  absl::Status Texts();
  absl::Status Switches();
  absl::Status Reads();
  absl::StatusOr<AdapterSpeed::Way> MeasureWay(LoraMode mode) const;

  Engine& engine_;
  const AdapterSpeedOptions options_;
  CostProfile costs_;
  std::vector<LoraAdapter> adapters_;
  std::optional<int64_t> own_memory_;
  std::unique_ptr<Session> sessions_[kKinds];
  std::unique_ptr<AdapterReads> reads_;   // Null: none can be measured.
  std::string unread_;
  bool counts_ = false;
  int turn_ = 0;
  Samples seconds_[kKinds], pass_ratios_, off_ratios_, one_rates_, several_rates_, several_ratios_, switches_,
      reads_seconds_, plain_reads_, read_ratios_;
};

absl::StatusOr<std::unique_ptr<Session>> AdapterBench::NewText(const LoraAdapter* adapter) {
  ASSIGN_OR_RETURN(std::unique_ptr<Session> session, engine_.NewSession({.adapter = adapter}));
  RETURN_IF_ERROR(session->Append(Prompt(kPromptSeed)));
  return session;
}

absl::Status AdapterBench::Prepare() {
  ASSIGN_OR_RETURN(sessions_[kPlain], NewText(nullptr));
  const std::optional<int64_t> before = OwnMemoryBytes();
  Progress progress("adapters", options_.adapters);
  for (int i = 0; i < options_.adapters; ++i) {
    ASSIGN_OR_RETURN(LoraAdapter adapter, RandomLora(engine_.config(), options_.rank, kFirstAdapterSeed + static_cast<uint64_t>(i)));
    adapters_.push_back(std::move(adapter));
    progress.Update(i + 1);
  }
  const std::optional<int64_t> after = OwnMemoryBytes();
  if (before.has_value() && after.has_value()) own_memory_ = *after - *before;
  ASSIGN_OR_RETURN(sessions_[kOff], NewText(nullptr));
  ASSIGN_OR_RETURN(sessions_[kAdapted], NewText(&adapters_[0]));
  absl::StatusOr<std::unique_ptr<AdapterReads>> reads = AdapterReads::Create(engine_, options_.rank);
  if (reads.ok()) reads_ = *std::move(reads);
  else unread_ = std::string(reads.status().message());
  return absl::OkStatus();
}

absl::Status AdapterBench::Repeat(bool counts) {
  counts_ = counts;
  RETURN_IF_ERROR(Passes());
  RETURN_IF_ERROR(Texts());
  RETURN_IF_ERROR(Switches());
  RETURN_IF_ERROR(Reads());
  ++turn_;
  return absl::OkStatus();
}

// Times passes token by token, and rotates the order of the kinds with each token.
absl::Status AdapterBench::Passes() {
  const std::vector<TokenId> tokens = Prompt(kPromptSeed + 1);
  Samples seconds[kKinds];
  for (const std::unique_ptr<Session>& session : sessions_) session->Truncate(std::max(options_.depth, 1));
  for (int i = 0; i < options_.generate_tokens; ++i) {
    for (int turn = 0; turn < kKinds; ++turn) {
      const int kind = (i + turn) % kKinds;
      const double begin = Now();
      RETURN_IF_ERROR(sessions_[kind]->Append({&tokens[static_cast<size_t>(i) % tokens.size()], 1}));
      seconds[kind].push_back(Now() - begin);
    }
  }
  double medians[kKinds];
  for (int kind = 0; kind < kKinds; ++kind) {
    medians[kind] = MedianOf(seconds[kind]);
    Keep(medians[kind], seconds_[kind]);
  }
  Keep(medians[kAdapted] / medians[kPlain], pass_ratios_);
  Keep(medians[kOff] / medians[kPlain], off_ratios_);
  return absl::OkStatus();
}

// Returns the tokens per second of kAdaptedTexts sequences that use `adapters` adapters in turn.
absl::StatusOr<double> AdapterBench::Rate(int adapters) {
  std::vector<std::vector<TokenId>> prompts;
  std::vector<const LoraAdapter*> used;
  for (int i = 0; i < kAdaptedTexts; ++i) prompts.push_back(Prompt(kPromptSeed + 2 + static_cast<uint64_t>(i)));
  for (int i = 0; i < adapters; ++i) used.push_back(&adapters_[static_cast<size_t>(i)]);
  const SteadyTexts steady = {.texts = kAdaptedTexts, .tokens = options_.generate_tokens, .prompts = prompts, .adapters = used,
                              .ignore_end = true};
  ASSIGN_OR_RETURN(const SteadyRate rate, WriteTogether(engine_, costs_, steady));
  return rate.TokensPerSecond();
}

absl::Status AdapterBench::Texts() {
  double one = 0, several = 0;
  for (const bool first : {turn_ % 2 == 0, turn_ % 2 != 0}) {
    ASSIGN_OR_RETURN((first ? one : several), Rate(first ? 1 : kAdaptedTexts));
  }
  Keep(one, one_rates_);
  Keep(several, several_rates_);
  Keep(one / several, several_ratios_);
  return absl::OkStatus();
}

// Switches to each adapter once. Since the adapter's last use, all other adapters were used. The second pass is the first pass without the
// cost of the switch.
absl::Status AdapterBench::Switches() {
  const std::vector<TokenId> tokens = {1, 1};
  for (const LoraAdapter& adapter : adapters_) {
    const double begin = Now();
    ASSIGN_OR_RETURN(const std::unique_ptr<Session> session, engine_.NewSession({.adapter = &adapter}));
    const double made = Now();
    RETURN_IF_ERROR(session->Append({&tokens[0], 1}));
    const double first = Now();
    RETURN_IF_ERROR(session->Append({&tokens[1], 1}));
    const double second = Now();
    Keep(made - begin + std::max(0.0, (first - made) - (second - first)), switches_);
  }
  return absl::OkStatus();
}

// Measures several reads, since other programs use the drive, too.
absl::Status AdapterBench::Reads() {
  for (int i = 0; i < kReads && reads_ != nullptr; ++i) {
    ASSIGN_OR_RETURN(const std::optional<AdapterReads::Pair> pair, reads_->Measure());
    if (!pair.has_value()) {
      unread_ = "the file system of the cache keeps files in memory";
      return absl::OkStatus();
    }
    Keep(pair->switch_seconds, reads_seconds_);
    Keep(pair->plain_seconds, plain_reads_);
    Keep(pair->switch_seconds / pair->plain_seconds, read_ratios_);
  }
  return absl::OkStatus();
}

absl::StatusOr<AdapterSpeed::Way> AdapterBench::MeasureWay(LoraMode mode) const {
  std::vector<LoraAdapter> adapters;
  for (int i = 0; i < kAdaptedTexts; ++i) {
    const int rank = i % 2 == 0 ? options_.rank : std::max(1, options_.rank / 2);
    ASSIGN_OR_RETURN(LoraAdapter adapter, RandomLora(engine_.config(), rank, static_cast<uint64_t>(i)));
    adapters.push_back(std::move(adapter));
  }
  const double begin = Now();
  ASSIGN_OR_RETURN(const AdapterSet set, AdapterSet::Create(mode, std::move(adapters), engine_.config()));
  return AdapterSpeed::Way{.mode = mode, .bytes = set.bytes(), .padding_bytes = set.padding_bytes(), .seconds = Now() - begin};
}

absl::StatusOr<AdapterSpeed> AdapterBench::Result() {
  AdapterSpeed speed = {.rank = options_.rank,
                        .adapters = options_.adapters,
                        .adapter_bytes = adapters_[0].bytes(),
                        .own_memory = own_memory_,
                        .most_pass_ratio = engine_.config().width >= kWide ? kMostWideRatio : kMostNarrowRatio,
                        .plain_seconds = SpreadOf(seconds_[kPlain]),
                        .adapted_seconds = SpreadOf(seconds_[kAdapted]),
                        .pass_ratio = MedianOf(pass_ratios_),
                        .off_ratio = MedianOf(off_ratios_),
                        .one_rate = MedianOf(one_rates_),
                        .several_rate = MedianOf(several_rates_),
                        .several_ratio = MedianOf(several_ratios_),
                        .switch_seconds = SpreadOf(switches_)};
  for (const LoraAdapter& adapter : adapters_) speed.all_bytes += adapter.bytes();
  if (!read_ratios_.empty()) {
    speed.read = {.file_bytes = reads_->file_bytes(), .seconds = SpreadOf(reads_seconds_), .plain_seconds = SpreadOf(plain_reads_),
                  .ratio = MedianOf(read_ratios_)};
  } else {
    speed.unread = unread_;
  }
  for (const LoraMode mode : {LoraMode::kInput, LoraMode::kMask, LoraMode::kGraph}) {
    ASSIGN_OR_RETURN(AdapterSpeed::Way way, MeasureWay(mode));
    speed.ways.push_back(way);
  }
  return speed;
}

// Returns a line that explains the drive's row, or the row's absence.
std::string ReadText(const AdapterSpeed& speed) {
  if (!speed.read.has_value()) return absl::StrCat("one from the drive: not measured: ", speed.unread, "\n");
  const double bytes = static_cast<double>(speed.read->file_bytes);
  return absl::StrFormat("one from the drive: a file of %s, at %.0f MB/s by plain reads of it\n", FormatByteSize(speed.read->file_bytes),
                         1e-6 * bytes / speed.read->plain_seconds.median);
}

std::string Millis(double seconds) { return absl::StrFormat("%.3f", seconds * 1e3); }

void WriteRead(const std::optional<AdapterSpeed::Read>& read, JsonWriter& json) {
  if (!read.has_value()) {
    json.Null();
    return;
  }
  json.BeginObject().Key("file_bytes").Int(read->file_bytes);
  WriteSpread(json.Key("seconds"), read->seconds);
  WriteSpread(json.Key("plain_seconds"), read->plain_seconds);
  json.Key("ratio").Double(read->ratio, 6).Key("most_ratio").Double(kMostReadRatio, 6).EndObject();
}

}  // namespace

absl::StatusOr<AdapterSpeed> MeasureAdapters(Engine& engine, const AdapterSpeedOptions& options) {
  AdapterBench bench(engine, options);
  RETURN_IF_ERROR(bench.Prepare());
  Progress progress("repetitions", options.repetitions);
  for (int i = -1; i < options.repetitions; ++i) {  // The first run warms caches and learns costs; it is not counted.
    RETURN_IF_ERROR(bench.Repeat(/*counts=*/i >= 0));
    if (i >= 0) progress.Update(i + 1);
  }
  return bench.Result();
}

std::string AdapterSpeedText(const AdapterSpeed& speed) {
  constexpr auto kRight = Table::Align::kRight;
  Table times({{"what"}, {"without", kRight}, {"with", kRight}, {"ratio", kRight}, {"at most", kRight}});
  const auto ratio = [](double value) { return absl::StrFormat("%.3f", value); };
  times.AddRow({"pass of one row, ms", Millis(speed.plain_seconds.median), Millis(speed.adapted_seconds.median), ratio(speed.pass_ratio),
                absl::StrFormat("%.2f", speed.most_pass_ratio)});
  times.AddRow({"the same, none used", "", "", ratio(speed.off_ratio), "1.00"});
  times.AddRow({absl::StrCat(kAdaptedTexts, " texts, tokens/s: one, ", kAdaptedTexts), absl::StrFormat("%.1f", speed.one_rate),
                absl::StrFormat("%.1f", speed.several_rate), ratio(speed.several_ratio), absl::StrFormat("%.2f", kMostSeveralRatio)});
  times.AddRow({"another adapter, ms", "", Millis(speed.switch_seconds.median), "", Millis(kMostTaskSwitchSeconds)});
  if (speed.read.has_value()) {
    times.AddRow({"one from the drive, ms: plain", Millis(speed.read->plain_seconds.median), Millis(speed.read->seconds.median),
                  ratio(speed.read->ratio), absl::StrFormat("%.2f", kMostReadRatio)});
  }
  Table ways({{"memory by"}, {"bytes", kRight}, {"padding", kRight}, {"laid out, ms", kRight}});
  for (const AdapterSpeed::Way& way : speed.ways) {
    ways.AddRow({std::string(LoraModeName(way.mode)), FormatByteSize(way.bytes), FormatByteSize(way.padding_bytes), Millis(way.seconds)});
  }
  return absl::StrCat(times.ToString(), speed.adapters, " adapters of rank ", speed.rank, " in memory: ", FormatByteSize(speed.all_bytes),
                      ", ", FormatByteSize(speed.adapter_bytes), " each; the process has ", FormatKnownByteSize(speed.own_memory),
                      " more\n", ReadText(speed), "\n", ways.ToString(), kAdaptedTexts, " adapters, every second of half the rank\n");
}

void WriteAdapterSpeed(const AdapterSpeed& speed, JsonWriter& json) {
  json.BeginObject().Key("rank").Int(speed.rank).Key("adapters").Int(speed.adapters);
  json.Key("adapter_bytes").Int(speed.adapter_bytes).Key("all_bytes").Int(speed.all_bytes).Key("own_memory_bytes");
  if (speed.own_memory.has_value()) json.Int(*speed.own_memory); else json.Null();
  WriteSpread(json.Key("plain_seconds"), speed.plain_seconds);
  WriteSpread(json.Key("adapted_seconds"), speed.adapted_seconds);
  json.Key("pass_ratio").Double(speed.pass_ratio, 6).Key("most_pass_ratio").Double(speed.most_pass_ratio, 6);
  json.Key("off_ratio").Double(speed.off_ratio, 6).Key("texts").Int(kAdaptedTexts);
  json.Key("one_tokens_per_second").Double(speed.one_rate, 6).Key("several_tokens_per_second").Double(speed.several_rate, 6);
  json.Key("several_ratio").Double(speed.several_ratio, 6).Key("most_several_ratio").Double(kMostSeveralRatio, 6);
  WriteSpread(json.Key("switch_seconds"), speed.switch_seconds);
  json.Key("most_switch_seconds").Double(kMostTaskSwitchSeconds, 6).Key("read");
  WriteRead(speed.read, json);
  json.Key("ways").BeginArray();
  for (const AdapterSpeed::Way& way : speed.ways) {
    json.BeginObject().Key("lora_mode").String(LoraModeName(way.mode)).Key("bytes").Int(way.bytes);
    json.Key("padding_bytes").Int(way.padding_bytes).Key("seconds").Double(way.seconds, 6).EndObject();
  }
  json.EndArray().EndObject();
}

}  // namespace tessera

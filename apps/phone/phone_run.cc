#include "tessera/apps/phone/phone_run.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tessera/apps/cli/flags/flags.h"
#include "tessera/apps/cli/text/output.h"
#include "tessera/apps/phone/switching_flags.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"
#include "tessera/model/files/weight_recipe.h"
#include "tessera/runtime/engine/core.h"
#include "tessera/runtime/plan/phone_report.h"
#include "tessera/storage/flash_profile.h"
#include "tessera/storage/tsr.h"

namespace tessera {

namespace {

absl::StatusOr<WeightRecipe> RecipeOf(const std::string& text) {
  absl::StatusOr<WeightRecipe> recipe = WeightRecipe::Parse(text);
  RETURN_IF_ERROR(ForField("recipe", recipe.status()));
  return recipe;
}

// Returns the path that computes; --path, if given, must name the same path.
absl::StatusOr<ComputePath> PathOfFlags(ComputePath given) {
  if (FLAGS_arithmetic != "npu" && FLAGS_arithmetic != "fast") return WrongUsage("arithmetic", FLAGS_arithmetic, "npu or fast");
  const ComputePath path = FLAGS_arithmetic == "fast" ? ComputePath::kFast : ComputePath::kNpu;
  if (!IsGiven("path") || given == path) return path;
  return WrongUsage("path", absl::StrCat(FLAGS_path, " with --arithmetic=", FLAGS_arithmetic), ComputePathName(path));
}

}  // namespace

FlagGroup ModelAndPhoneFlags() {
  FlagGroup group = ModelFlags();
  group.flags.insert(std::find(group.flags.begin(), group.flags.end(), "kernels"), {"device", "arithmetic", "switching", "blocks"});
  return group;
}

absl::StatusOr<std::unique_ptr<PhoneRun>> PhoneRun::OfFlags(EngineOptions& options, Trace* trace) {
  if (FLAGS_device.empty()) {
    if (IsGiven("arithmetic")) return WrongUsage("arithmetic", "without --device", "both");
    // Graphs without a device take any number of rows.
    RETURN_IF_ERROR(CheckNoSwitchingFlags(IsGiven("path") ? absl::StrCat("with --path=", FLAGS_path) : "without --device"));
    return nullptr;
  }
  if (FLAGS_device == "host" || absl::StartsWith(FLAGS_device, "host:")) return OfHost(options);
  ASSIGN_OR_RETURN(options.compute.path, PathOfFlags(options.compute.path));
  const bool fast = options.compute.path == ComputePath::kFast;
  absl::StatusOr<Phone> phone = PhoneOf(FLAGS_device);
  RETURN_IF_ERROR(ForField("device", phone.status()));
  const ExecutionStyle& style = phone->style;
  const std::string recipe_text = options.compute.recipe.empty() ? RecipeOfStyle(style) : options.compute.recipe;
  ASSIGN_OR_RETURN(const WeightRecipe recipe, RecipeOf(recipe_text));
  ModeledDevice::Options modeled = {.profile = phone->profile, .style = style, .timeline = options.timeline};
  if (fast) {
    modeled.tile_of = [recipe](const GraphWeight& weight) {
      const auto& spec = weight.spec;
      return recipe.FormOf(spec.name, /*tied_head=*/spec.name == "token_embd.weight", spec.format, spec.in_features).tile;
    };
  }
  options.compute.recipe = fast ? "" : recipe_text;
  if (style.static_graphs) {
    if (options.cache.context == 0) options.cache.context = modeled.context;
    modeled.context = options.cache.context;
    options.compute.graph_rows = {1, 32, ChunkRowsOfStyle(style)};
  }
  if (options.compute.row_capacity == 0) options.compute.row_capacity = ChunkRowsOfStyle(style);
  std::unique_ptr<PhoneRun> run(new PhoneRun(std::move(modeled)));
  const auto begin = [phone = run.get()](const SwitchReady& ready) { phone->Begin(ready); };
  RETURN_IF_ERROR(SwitchingOfFlags(*phone, begin, options).status());
  run->SetDevice(options);
  RETURN_IF_ERROR(run->SetFlash(options));
  if (trace != nullptr) trace->UseClock(run->clock_);
  return run;
}

absl::StatusOr<std::unique_ptr<PhoneRun>> PhoneRun::OfHost(EngineOptions& options) {
  if (FLAGS_device != kHostDevice) return WrongUsage("device", FLAGS_device, absl::StrCat(kHostDevice, ", or a phone"));
  const std::string found = absl::StrCat("with --device=", kHostDevice);
  if (IsGiven("arithmetic")) return WrongUsage("arithmetic", found, "--path, which says how this machine computes");
  if (IsGiven("pin")) return WrongUsage("pin", found, "no pins: graphs hold their weights, and all else stays in memory");
  const absl::StatusOr<bool> packed = IsTsrFile(options.model_path);
  if (packed.ok() && !*packed) {   // Opening the file later reports the error.
    return WrongUsage("device", absl::StrCat(kHostDevice, " with ", options.model_path),
                      "a packed model, whose graphs can be read one by one: tessera_pack MODEL.gguf MODEL.tsr");
  }
  ASSIGN_OR_RETURN(const ExecutionStyle style, ExecutionStyleByName("unshared"));
  std::unique_ptr<PhoneRun> run(new PhoneRun({}));
  options.compute.graphs_hold_weights = true;
  if (options.cache.context == 0) options.cache.context = run->options_.context;
  if (options.compute.row_capacity == 0) options.compute.row_capacity = ChunkRowsOfStyle(style);
  RETURN_IF_ERROR(HostSwitchingOfFlags([phone = run.get()](const SwitchReady& ready) { phone->Begin(ready); }, options).status());
  return run;
}

void PhoneRun::SetDevice(EngineOptions& options) {
  options.clock = &clock_;
  options.spend = [this](CpuWork work, int64_t amount) { Spend(work, amount); };
  options.compute.wrap_device = [this](std::unique_ptr<Device> made) -> absl::StatusOr<std::unique_ptr<Device>> {
    numbers_ = std::move(made);
    auto device = std::make_unique<ModeledDevice>(*numbers_, clock_, options_);
    device_ = device.get();
    return device;
  };
}

// Sets reads on the phone's clock, in place of reads that are slowed down in real time.
absl::Status PhoneRun::SetFlash(EngineOptions& options) {
  if (options.streaming.memory_budget == 0) return absl::OkStatus();
  const absl::StatusOr<bool> packed = IsTsrFile(options.model_path);
  if (!packed.ok() || !*packed) return absl::OkStatus();   // No other file is streamed; opening the file later reports the error.
  if (options.streaming.flash.empty()) {
    return WrongUsage("flash", "none with --device and --memory_budget", "the phone's, such as ufs4.0: weights are read on its clock");
  }
  if (!options_.style.shared_weights) {
    return WrongUsage("memory_budget", absl::StrCat("with --device=", FLAGS_device),
                      "operators or static: graphs with weights of their own are read whole as they are loaded");
  }
  absl::StatusOr<FlashProfile> flash = LoadFlashProfile(options.streaming.flash);
  RETURN_IF_ERROR(ForField("flash", flash.status()));
  options.streaming.flash.clear();
  options.streaming.wrap_source = [this, flash = *std::move(flash)](std::unique_ptr<WeightSource> made, const TsrReader& file,
                                                                    const StreamPlan& plan) -> std::unique_ptr<WeightSource> {
    auto source =
        std::make_unique<ClockedSource>(std::move(made), clock_, ClockedSource::OptionsFor(file, plan, flash, options_.timeline));
    flash_ = source.get();
    return source;
  };
  return absl::OkStatus();
}

absl::Status PhoneRun::TakeAdapters(Adapters& adapters) {
  if (adapters.names().empty()) return absl::OkStatus();
  if (FLAGS_device == kHostDevice) return WrongUsage("adapter", absl::StrCat("it with --device=", kHostDevice), "a phone, or no device");
  const ExecutionStyle& style = options_.style;
  const LoraMode mode = adapters.mode();
  if (mode == LoraMode::kGraph && style.static_graphs && !style.shared_weights) {
    return WrongUsage("lora_mode", absl::StrCat("graph with --device=", FLAGS_device),
                      "input or mask: graphs of tasks would have all weights of their own");
  }
  // By mailbox there is no graph: a product of an adapter is called where a row has one.
  if (style.static_graphs || mode == LoraMode::kMask) options_.adapter_ranks = adapters.GraphRanks();
  options_.masks_adapters = mode == LoraMode::kMask;
  if (mode == LoraMode::kMask) return absl::OkStatus();
  adapters.OnAnother([this, mode](int64_t bytes) {
    if (device_ == nullptr) return;
    const double copy = static_cast<double>(bytes) / options_.profile.cpu_bytes_per_second;
    device_->SpendOnCpu(mode == LoraMode::kGraph ? options_.profile.switch_seconds : copy, Zone::kLoad);
  });
  return absl::OkStatus();
}

void PhoneRun::Spend(CpuWork work, int64_t amount) {
  if (device_ == nullptr) return;
  const double seconds = work == CpuWork::kDraftSteps ? options_.profile.draft_seconds : options_.profile.calibrate_seconds;
  device_->SpendOnCpu(static_cast<double>(amount) * seconds, Zone::kSample);
}

void PhoneRun::Begin(const SwitchReady& ready) {
  if (!ready.profile.ok()) WriteMessage(absl::StrCat("profile of switching: ", ready.profile.message(), "\n"));
  if (device_ != nullptr) before_ = device_->spent();
  begin_ns_ = clock_.NowNanos();
}

std::string PhoneRun::SwitchingText(const Engine& engine, double waited_seconds) {
  const GraphMotion* const motion = CoreOf(engine).motion();
  if (motion == nullptr) return "";
  const MotionReport& report = motion->report();
  return absl::StrFormat("switching: %s, %d blocks, prefill graphs of %d rows and decode graphs of %d\n"
                         "switching, blocks: %d switched in prompts, %d after them, %d returned; %.6f s waited for loads\n",
                         SwitchRuleName(motion->options().rule), motion->blocks(), motion->options().prefill_rows,
                         motion->options().decode_rows, report.switched_in_prompt, report.switched_after, report.returned,
                         waited_seconds);
}

std::string PhoneRun::HostSummary(const Engine& engine, const ReadingDevice& reading) {
  constexpr double kMiB = 1048576;
  const PartLoader::Stats stats = reading.stats();
  const double waited = static_cast<double>(stats.waited_nanos) * 1e-9;
  return SwitchingText(engine, waited) +
         absl::StrFormat("graphs: %d loads of %.1f MiB in %.6f s by %s, waited for in %.6f s\n"
                         "graphs, memory: at most %.1f MiB of weights at once\n",
                         stats.loads, static_cast<double>(stats.read_bytes) / kMiB, static_cast<double>(stats.read_nanos) * 1e-9,
                         IoKindName(reading.loader().device_io()), waited, static_cast<double>(reading.most_held_bytes()) / kMiB);
}

std::string PhoneRun::FlashLine() const {
  if (flash_ == nullptr) return "";
  const ClockedSource::Stats read = flash_->stats();
  const double joules = read.read_seconds * options_.profile.flash_watts + read.waited_seconds * options_.profile.idle_watts;
  return absl::StrFormat("flash: %.1f MiB read in %.6f s, waited for in %.6f s, %.3f J more by assumed powers\n",
                         static_cast<double>(read.read_bytes) / 1048576.0, read.read_seconds, read.waited_seconds, joules);
}

std::string PhoneRun::Summary(const Engine& engine) const {
  if (const ReadingDevice* const reading = CoreOf(engine).reading()) return HostSummary(engine, *reading);
  if (device_ == nullptr) return "";
  const ModeledDevice::Spent& spent = device_->spent();
  std::string parts;
  for (int part = 0; part < kBounds; ++part) {
    absl::StrAppend(&parts, part == 0 ? "" : ", ", BoundName(static_cast<Bound>(part)),
                    absl::StrFormat(" %.3f s", spent.seconds[part] - before_.seconds[part]));
  }
  return absl::StrFormat("phone: %s, %s, %.6f s in %d runs; %.1f MiB read, %.3f J by assumed powers\nphone, busy: %s\n",
                         device_->profile().name, options_.style.name, static_cast<double>(clock_.NowNanos() - begin_ns_) * 1e-9,
                         spent.runs - before_.runs, static_cast<double>(spent.read_bytes - before_.read_bytes) / 1048576.0,
                         spent.joules - before_.joules, parts) +
         SwitchingText(engine, spent.waited_seconds - before_.waited_seconds) + FlashLine();
}

}  // namespace tessera

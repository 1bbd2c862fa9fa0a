// A run on a modeled phone. Flags turn an engine's device into a phone's; the run has the phone's clock, and the costs there. With
// --device=host:unshared, a run on this machine in real time, where loading a graph reads a packed file (model/reading_device.h).
//
//   Trace trace;
//   ASSIGN_OR_RETURN(EngineOptions options, EngineOptionsOfFlags(trace.timeline()));
//   ASSIGN_OR_RETURN(const std::unique_ptr<PhoneRun> phone, PhoneRun::OfFlags(options, &trace));   // null without --device
//   ASSIGN_OR_RETURN(const std::unique_ptr<Engine> engine, Engine::Open(options));
//   ... answers, timed by the phone's clock ...
//   WriteError(phone->Summary(*engine));
//
// Texts: the npu path computes the texts, or the fast path with --arithmetic=fast. Times: the times are the phone's, to the digit the same
// for the same tokens. Where graphs change places (switching_flags.h), the times exclude the warm-up. Under --memory_budget weights are
// read from the flash of --flash, on the phone's clock. The file determines the bytes of a pass; each arithmetic has another file. Steps of
// drafting, and sampling a prompt's logits for drafters, cost the time that the profile says. A trace has the phone's parts, in the phone's
// time. Errors: wrong usage of the flag. Threads: one at a time.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "tessera/apps/cli/flags/engine_flags.h"
#include "tessera/apps/cli/flags/flags.h"
#include "tessera/model/reading_device.h"
#include "tessera/npu/modeled/modeled_device.h"
#include "tessera/runtime/adapters/adapters.h"
#include "tessera/runtime/engine/engine.h"
#include "tessera/runtime/engine/switching/switch_profile.h"
#include "tessera/storage/clocked_source.h"

namespace tessera {

// Returns ModelFlags() and the flags of a phone, for programs that time by the engine's clock.
FlagGroup ModelAndPhoneFlags();

class PhoneRun {
 public:
  // Sets the options' device, path, rows of graphs, flash and clock. With --device=host:unshared, sets only that graphs hold their weights,
  // and how graphs are switched. Returns null without --device. The run must outlive the engine and the options. trace: may be null.
  static absl::StatusOr<std::unique_ptr<PhoneRun>> OfFlags(EngineOptions& options, Trace* trace = nullptr);

  // Counts adapters in the phone's time, by --lora_mode. Costs are the adapters' products in each run of a static graph, and the change to
  // another adapter between two texts. Call before the engine is opened. WrongUsage (lora_mode) for graphs of tasks that have weights of
  // their own. WrongUsage (adapter) for this machine, whose graphs are read one by one.
  absl::Status TakeAdapters(Adapters& adapters);

  // Returns a few lines on the work of the phone's parts for the engine so far. Includes a line on switched graphs and a line on the flash.
  // For this machine: lines on switched graphs and on the graphs' reads.
  std::string Summary(const Engine& engine) const;

 private:
  explicit PhoneRun(ModeledDevice::Options options) : options_(std::move(options)) {}
  static absl::StatusOr<std::unique_ptr<PhoneRun>> OfHost(EngineOptions& options);
  void SetDevice(EngineOptions& options);
  absl::Status SetFlash(EngineOptions& options);
  void Spend(CpuWork work, int64_t amount);
  void Begin(const SwitchReady& ready);   // Takes all costs so far as costs of a warm-up.
  static std::string SwitchingText(const Engine& engine, double waited_seconds);
  static std::string HostSummary(const Engine& engine, const ReadingDevice& reading);
  std::string FlashLine() const;

  ModeledDevice::Options options_;
  VirtualClock clock_;
  std::unique_ptr<Device> numbers_;
  ModeledDevice* device_ = nullptr;         // The engine's. Null before the device is made,
  const ClockedSource* flash_ = nullptr;    // and the source also where nothing is streamed.
  ModeledDevice::Spent before_ = {};  // The costs before the run began,
  int64_t begin_ns_ = 0;              // and the start of the run.
};

}  // namespace tessera

// A run on a modeled phone: the flags that make an engine's device a phone's, its clock, and what the run cost there. Or, with
// --device=host:unshared, one on this machine in its own time, where loads of graphs are reads of a packed file (model/reading_device.h).
//
//   Trace trace;
//   ASSIGN_OR_RETURN(EngineOptions options, EngineOptionsOfFlags(trace.timeline()));
//   ASSIGN_OR_RETURN(const std::unique_ptr<PhoneRun> phone, PhoneRun::OfFlags(options, &trace));   // null without --device
//   ASSIGN_OR_RETURN(const std::unique_ptr<Engine> engine, Engine::Open(options));
//   ... answers, timed by the phone's clock ...
//   WriteError(phone->Summary(*engine));
//
// Texts are those of the path that computes: the npu path's, or with --arithmetic=fast the fast path's; times are the phone's, to the
// digit the same for the same tokens. Where graphs change places (switching_flags.h), a warm-up is no part of them. Under --memory_budget
// weights are read from the flash of --flash, on the same clock; how much a pass reads is what the file has, another one for each
// arithmetic. Steps of drafting, and sampling a prompt's logits for drafters, are charged as the profile says. A trace has the phone's
// parts, in its time. Errors are wrong usage of the flag. Threads: one at a time.
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

// ModelFlags() with those of a phone, for programs that time by the engine's clock.
FlagGroup ModelAndPhoneFlags();

class PhoneRun {
 public:
  // Sets the options' device, path, rows of graphs, flash and clock. The run must outlive the engine and the options. trace: null: none.
  // For this machine: only what makes its graphs hold their weights, and change places.
  static absl::StatusOr<std::unique_ptr<PhoneRun>> OfFlags(EngineOptions& options, Trace* trace = nullptr);

  // Counts adapters in the phone's time, by --lora_mode: what each run of a static graph multiplies of them and, where a text has another
  // one than the text before, what it takes to change it. Before the engine is opened. Wrong usage (lora_mode) where that cannot be told:
  // graphs of tasks that have weights of their own; (adapter) for this machine, whose graphs are read one by one.
  absl::Status TakeAdapters(Adapters& adapters);

  // What the phone's parts did until now for this engine, a few lines; one of them about graphs that changed places, one
  // about the flash. For this machine: how graphs changed places, and how they were read.
  std::string Summary(const Engine& engine) const;

 private:
  explicit PhoneRun(ModeledDevice::Options options) : options_(std::move(options)) {}
  static absl::StatusOr<std::unique_ptr<PhoneRun>> OfHost(EngineOptions& options);
  void SetDevice(EngineOptions& options);
  absl::Status SetFlash(EngineOptions& options);
  void Spend(CpuWork work, int64_t amount);
  void Begin(const SwitchReady& ready);   // What was spent until now is that of a warm-up.
  static std::string SwitchingText(const Engine& engine, double waited_seconds);
  static std::string HostSummary(const Engine& engine, const ReadingDevice& reading);
  std::string FlashLine() const;

  ModeledDevice::Options options_;
  VirtualClock clock_;
  std::unique_ptr<Device> numbers_;
  ModeledDevice* device_ = nullptr;         // The engine's. Null before it is made,
  const ClockedSource* flash_ = nullptr;    // and this also where nothing is streamed.
  ModeledDevice::Spent before_ = {};  // Before the run began,
  int64_t begin_ns_ = 0;              // and when it did.
};

}  // namespace tessera

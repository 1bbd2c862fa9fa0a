// A run on a modeled phone: the flags that make an engine's device a phone's, its clock, and what the run cost there.
//
//   ASSIGN_OR_RETURN(const std::unique_ptr<PhoneRun> phone, PhoneRun::OfFlags(options));   // null without --device
//   ASSIGN_OR_RETURN(const std::unique_ptr<Engine> engine, Engine::Open(options));
//   ... answers, timed by the phone's clock ...
//   WriteError(phone->Summary());
//
// Texts are those of the path that computes: the npu path's, or with --arithmetic=fast the fast path's; times are the phone's, to the
// digit the same for the same tokens. Errors are wrong usage of the flag. Threads: one at a time.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "tessera/npu/modeled/modeled_device.h"
#include "tessera/runtime/engine.h"

namespace tessera {

class PhoneRun {
 public:
  // Sets the options' device, path, rows of graphs and clock. The run must outlive the engine and the options.
  static absl::StatusOr<std::unique_ptr<PhoneRun>> OfFlags(EngineOptions& options);

  // What the phone's parts did until now, a few lines.
  std::string Summary() const;

 private:
  explicit PhoneRun(ModeledDevice::Options options) : options_(std::move(options)) {}

  ModeledDevice::Options options_;
  VirtualClock clock_;
  std::unique_ptr<Device> numbers_;
  ModeledDevice* device_ = nullptr;   // The engine's. Null before it is made.
};

}  // namespace tessera

// A device over another device. Counts the bytes of loaded graphs, and fails a chosen load.
//
//   MeteredDevice device(std::move(modeled));
//   device.FailLoad(2);                                  // the third from now, once
//   EXPECT_LE(device.most_bytes(), planned);
//
// Bytes are as in CostOf. Used on one thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>

#include "tessera/base/status_macros.h"
#include "tessera/npu/device.h"

namespace tessera {

class MeteredDevice : public Device {
 public:
  explicit MeteredDevice(std::unique_ptr<Device> below) : below_(std::move(below)) {}

  int64_t bytes() const { return bytes_; }             // Loaded now,
  int64_t most_bytes() const { return most_bytes_; }   // and the maximum so far.
  int64_t loads() const { return loads_; }
  void FailLoad(int64_t loads_before) { fails_at_ = loads_ + loads_before; }
  void FailAllLoads(bool fail) { fails_all_ = fail; }

  absl::string_view name() const override { return below_->name(); }
  WeightEncoding weight_encoding() const override { return below_->weight_encoding(); }
  KvFormat kv_format() const override { return below_->kv_format(); }
  RowPolicy row_policy() const override { return below_->row_policy(); }
  Resource resource() const override { return below_->resource(); }
  double LoadWaitSeconds() const override { return below_->LoadWaitSeconds(); }
  GraphLimits limits() const override { return below_->limits(); }
  LoadCost CostOf(const CompiledGraph& graph) const override { return below_->CostOf(graph); }
  int64_t ScratchBytes(absl::Span<const CompiledGraph* const> graphs, int longest_path) const override {
    return below_->ScratchBytes(graphs, longest_path);
  }

  absl::StatusOr<std::unique_ptr<LoadedGraph>> Load(const CompiledGraph& graph) override {
    const bool fails = fails_all_ || loads_ == fails_at_;
    ++loads_;
    if (fails) return absl::UnavailableError("metered device: a load that was to fail");
    ASSIGN_OR_RETURN(std::unique_ptr<LoadedGraph> loaded, below_->Load(graph));
    return std::make_unique<Metered>(*this, std::move(loaded), below_->CostOf(graph).bytes);
  }
  void SplitLoads() override { below_->SplitLoads(); }
  void SetRecording(bool on) override { below_->SetRecording(on); }
  absl::Status Submit(LoadedGraph& graph, const RunArguments& arguments) override {
    return below_->Submit(*static_cast<Metered&>(graph).below, arguments);
  }
  absl::Status Wait() override { return below_->Wait(); }

 private:
  struct Metered : LoadedGraph {
    Metered(MeteredDevice& its_device, std::unique_ptr<LoadedGraph> its_below, int64_t its_bytes)
        : device(its_device), below(std::move(its_below)), counted(its_bytes) {
      device.bytes_ += counted;
      device.most_bytes_ = std::max(device.most_bytes_, device.bytes_);
    }
    ~Metered() override { device.bytes_ -= counted; }
    int64_t bytes() const override { return below->bytes(); }
    int rows() const override { return below->rows(); }
    bool is_ready() const override { return below->is_ready(); }

    MeteredDevice& device;
    const std::unique_ptr<LoadedGraph> below;
    const int64_t counted;
  };

  const std::unique_ptr<Device> below_;
  int64_t bytes_ = 0, most_bytes_ = 0, loads_ = 0;
  int64_t fails_at_ = -1;
  bool fails_all_ = false;
};

}  // namespace tessera

// The device of docs/adding_a_device.md, which links here: over another device, and counts its runs and rows.
//
//   RowCountingDevice device(std::move(host));
//   device.rows();   // of all runs so far
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "tessera/base/status_macros.h"
#include "tessera/npu/device.h"

namespace tessera {

class RowCountingDevice : public Device {
 public:
  explicit RowCountingDevice(std::unique_ptr<Device> below) : below_(std::move(below)) {}

  int64_t runs() const { return runs_; }
  int64_t rows() const { return rows_; }

  // Known before anything is loaded, and constant.
  absl::string_view name() const override { return "row-counting"; }
  WeightEncoding weight_encoding() const override { return below_->weight_encoding(); }
  KvFormat kv_format() const override { return below_->kv_format(); }
  RowPolicy row_policy() const override { return below_->row_policy(); }
  GraphLimits limits() const override { return below_->limits(); }

  // Memory and time, for plans.
  LoadCost CostOf(const CompiledGraph& graph) const override { return below_->CostOf(graph); }
  int64_t ScratchBytes(absl::Span<const CompiledGraph* const> graphs, int longest_path) const override {
    return below_->ScratchBytes(graphs, longest_path);
  }

  // The graph may go when Load returns, so the device keeps a copy.
  absl::StatusOr<std::unique_ptr<LoadedGraph>> Load(const CompiledGraph& graph) override {
    ASSIGN_OR_RETURN(std::unique_ptr<LoadedGraph> below, below_->Load(graph));
    return std::make_unique<Counted>(graph, std::move(below));
  }

  // Checks all arguments before anything begins: after an error there is nothing to wait for.
  absl::Status Submit(LoadedGraph& graph, const RunArguments& arguments) override {
    Counted& counted = static_cast<Counted&>(graph);
    RETURN_IF_ERROR(CheckArguments(counted.compiled, weight_encoding(), kv_format(), arguments));
    RETURN_IF_ERROR(below_->Submit(*counted.below, arguments));
    runs_ += 1;
    rows_ += arguments.rows;
    return absl::OkStatus();
  }
  absl::Status Wait() override { return below_->Wait(); }

 private:
  struct Counted : LoadedGraph {
    Counted(const CompiledGraph& graph, std::unique_ptr<LoadedGraph> loaded) : compiled(graph), below(std::move(loaded)) {}
    int64_t bytes() const override { return below->bytes(); }
    int rows() const override { return below->rows(); }
    bool is_ready() const override { return below->is_ready(); }

    const CompiledGraph compiled;
    const std::unique_ptr<LoadedGraph> below;
  };

  const std::unique_ptr<Device> below_;
  int64_t runs_ = 0, rows_ = 0;
};

}  // namespace tessera

// A phone's NPU on a clock: another device computes the numbers, and a profile says how long the phone would have taken.
//
//   ASSIGN_OR_RETURN(const DeviceProfile profile, LoadDeviceProfile("8gen3"));
//   VirtualClock clock;
//   HmxDevice numbers(pool, {});
//   ModeledDevice device(numbers, clock, {.profile = profile, .style = *ExecutionStyleByName("static"), .context = 4096});
//   RETURN_IF_ERROR(device.Run(*graph, arguments));          // `clock` has gone on by what the graph costs
//   Print(device.spent().seconds[static_cast<int>(Bound::kDma)], device.spent().joules);
//
// Bits are those of the other device. Time follows from shapes and the profile alone (operator_cost.h), so it is the same on every machine
// and run, to the digit, and the same whichever device computes the numbers. A run of a static graph costs what the rows cost that it was
// compiled for; by mailbox it costs the rows that are there. Submit begins at the clock's time and does not move it; Wait moves it to the
// run's end. A graph that is loaded can run when its load is over: loads follow one another, beside runs, and a run waits for its graph.
// Graphs that are loaded at one time of the clock, with no run between, are one load: its fixed part is paid once, and all of them can run
// when it is over. So a block of layers costs what a phone pays for it, which has it in one graph; SplitLoads tells blocks apart.
// Rows of a run have one adapter, or all of them none, as a graph on the phone has it; several are InvalidArgument but under a mask.
// What the phone's CPU does between runs is said by SpendOnCpu. With a timeline, each operator is placed on the parts that work for it
// (place_operators.h): npu, hvx, dma, cpu. Virtual time never goes back, and ends: what would begin after 100 years of it, or take longer
// than 12 days by itself, is OutOfRange, and moves no clock. Threads: as Device says.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "tessera/base/clock.h"
#include "tessera/base/timeline.h"
#include "tessera/npu/device.h"
#include "tessera/npu/modeled/operator_cost.h"

namespace tessera {

class ModeledDevice : public Device {
 public:
  struct Options {
    DeviceProfile profile = {};
    ExecutionStyle style = {};
    int context = 4096;            // That static graphs are compiled for. REQUIRES: 1 or more.
    // So many graphs that run one after the other are one on the phone: each is charged its share of a call. REQUIRES: 1 or more.
    int graphs_per_call = 1;
    // Adapters that each run multiplies, whatever its rows have: by placeholder, their rank. Empty: a run multiplies what the adapter of
    // its rows has, and nothing if no row has one.
    std::vector<int> adapter_ranks = {};
    bool masks_adapters = false;   // They are those of several tasks side by side, behind a mask: only then may rows have different ones.
    // The tiles that a matrix has on the phone, where the other device computes with other weights. Null: those that the graph has.
    std::function<std::optional<TileScheme>(const GraphWeight& weight)> tile_of = nullptr;
    GraphLimits limits = {};
    Timeline* timeline = nullptr;  // On the same clock. Null: nothing is recorded.
  };
  // What runs have cost so far.
  struct Spent {
    double seconds[kBounds] = {};   // Busy, by part.
    double run_seconds = 0;         // Sum of all runs.
    double load_seconds = 0;        // Sum of all loads,
    double waited_seconds = 0;      // and what runs have waited for them.
    double joules = 0;              // By runs and the CPU between them; powers are assumed.
    int64_t runs = 0, loads = 0;    // Graphs that are one load count once.
    int64_t read_bytes = 0;
  };

  // The other device and the clock must outlive this one; nobody else moves the clock between Submit and Wait.
  ModeledDevice(Device& numbers, VirtualClock& clock, Options options);
  ~ModeledDevice() override;

  absl::string_view name() const override { return options_.profile.name; }
  WeightEncoding weight_encoding() const override { return numbers_.weight_encoding(); }
  KvFormat kv_format() const override { return numbers_.kv_format(); }
  RowPolicy row_policy() const override { return options_.style.static_graphs ? RowPolicy::kExact : RowPolicy::kAny; }
  GraphLimits limits() const override { return options_.limits; }
  Resource resource() const override { return Resource::kNpu; }
  double LoadWaitSeconds() const override { return spent_.waited_seconds; }
  // On the phone: bytes of the weights where graphs have their own, and the time to load them.
  LoadCost CostOf(const CompiledGraph& graph) const override;
  int64_t ScratchBytes(absl::Span<const CompiledGraph* const> graphs, int longest_path) const override {
    return numbers_.ScratchBytes(graphs, longest_path);
  }
  absl::StatusOr<std::unique_ptr<LoadedGraph>> Load(const CompiledGraph& graph) override;
  void SplitLoads() override { load_ = nullptr; }
  void SetRecording(bool on) override { is_recording_ = on; }
  // Also the errors of CostOfGraph, and OutOfRange for the end of virtual time.
  absl::Status Submit(LoadedGraph& graph, const RunArguments& arguments) override;
  absl::Status Wait() override;

  // The CPU works for so long, and nothing runs: the clock goes on by it, as far as virtual time goes. REQUIRES: seconds >= 0; Wait has
  // returned since the last Submit.
  void SpendOnCpu(double seconds, Zone zone);

  const Spent& spent() const { return spent_; }
  const DeviceProfile& profile() const { return options_.profile; }

 private:
  class LoadedOnPhone;
  // Graphs that are loaded together.
  struct OneLoad {
    int64_t asked_ns = 0;   // By the clock.
    int64_t begin_ns = 0;   // When the loads before it were over.
    int64_t end_ns = 0;
    double seconds = 0;
  };

  // Charges a graph to the load that goes on being asked for, or to a new one.
  std::shared_ptr<const OneLoad> Charge(const LoadCost& cost, int rows);
  Timeline* timeline() const { return is_recording_ ? options_.timeline : nullptr; }
  // The graph as the phone has it.
  absl::StatusOr<CompiledGraph> OnPhone(const CompiledGraph& compiled) const;
  // By placeholder of the graph, what a run multiplies of adapters.
  absl::StatusOr<std::vector<int>> AdapterRanksOf(const Graph& graph, const RunArguments& arguments) const;
  absl::StatusOr<const GraphCost*> CostOfRun(LoadedOnPhone& graph, const RunArguments& arguments) const;

  Device& numbers_;
  VirtualClock& clock_;
  const Options options_;
  Spent spent_;
  std::shared_ptr<OneLoad> load_;   // That one more graph would belong to. Null: a new one begins.
  int64_t loaded_ns_ = 0;           // When the last load is over,
  int64_t run_end_ns_ = 0;          // and the last run.
  bool is_recording_ = true;
};

}  // namespace tessera

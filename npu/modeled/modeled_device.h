// A phone's NPU on a virtual clock: another device computes the numbers, and a profile gives the time that the phone would take.
//
//   ASSIGN_OR_RETURN(const DeviceProfile profile, LoadDeviceProfile("8gen3"));
//   VirtualClock clock;
//   HmxDevice numbers(pool, {});
//   ModeledDevice device(numbers, clock, {.profile = profile, .style = *ExecutionStyleByName("static"), .context = 4096});
//   RETURN_IF_ERROR(device.Run(*graph, arguments));          // `clock` has gone on by what the graph costs
//   Print(device.spent().seconds[static_cast<int>(Bound::kDma)], device.spent().joules);
//
// Bits are the bits of the other device. Time follows from shapes and the profile alone (operator_cost.h). So time is equal to the last
// digit on every machine, in every run, and with every device that computes the numbers. A run of a static graph costs the rows that the
// graph was compiled for; a run by mailbox costs the present rows. Submit begins at the clock's time and does not move the clock; Wait
// moves the clock to the run's end.
//
// Loads follow one another, in parallel with runs. A loaded graph can run when its load is over, and a run waits for that. Graphs loaded at
// one time of the clock, with no run in between, form one load. The fixed part of a load is paid once, and all graphs of the load can run
// at the load's end. So a block of layers costs as much as on a phone, where the block is one graph; SplitLoads separates blocks.
//
// All rows of a run have the same adapter, or all have none, as with a graph on the phone. Rows with several adapters are InvalidArgument,
// except under a mask. SpendOnCpu adds the work of the phone's CPU between runs. With a timeline, each operator is placed on the parts that
// work for the operator (place_operators.h): npu, hvx, dma, cpu.
//
// Virtual time never goes back, and ends. A run or load that would begin after 100 years of virtual time, or take longer than 12 days, is
// OutOfRange and moves no clock.
//
// Threads: as Device.
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
    int context = 4096;            // Positions that static graphs are compiled for. REQUIRES: 1 or more.
    // Number of consecutive graphs that are one graph on the phone: each graph is charged its share of a call. REQUIRES: 1 or more.
    int graphs_per_call = 1;
    // Ranks of the adapters that each run multiplies, by placeholder, independent of the rows. Empty: a run multiplies the adapter of the
    // run's rows, and nothing if no row has an adapter.
    std::vector<int> adapter_ranks = {};
    // adapter_ranks cover several tasks' adapters side by side, behind a mask: only then may rows have different adapters.
    bool masks_adapters = false;
    // Returns a matrix's tiles on the phone, if the other device computes with other weights. Null: the tiles in the graph.
    std::function<std::optional<TileScheme>(const GraphWeight& weight)> tile_of = nullptr;
    GraphLimits limits = {};
    Timeline* timeline = nullptr;  // On the same clock. Null: nothing is recorded.
  };
  // Total cost of runs and loads so far.
  struct Spent {
    double seconds[kBounds] = {};   // Busy, by part.
    double run_seconds = 0;         // Sum of all runs.
    double load_seconds = 0;        // Sum of all loads.
    double waited_seconds = 0;      // Time in which runs waited for loads.
    double joules = 0;              // By runs and by the CPU between runs; powers are assumed.
    int64_t runs = 0, loads = 0;    // Graphs in one load count as one load.
    int64_t read_bytes = 0;
  };

  // The other device and the clock must outlive this device; no other code moves the clock between Submit and Wait.
  ModeledDevice(Device& numbers, VirtualClock& clock, Options options);
  ~ModeledDevice() override;

  absl::string_view name() const override { return options_.profile.name; }
  WeightEncoding weight_encoding() const override { return numbers_.weight_encoding(); }
  KvFormat kv_format() const override { return numbers_.kv_format(); }
  RowPolicy row_policy() const override { return options_.style.static_graphs ? RowPolicy::kExact : RowPolicy::kAny; }
  GraphLimits limits() const override { return options_.limits; }
  Resource resource() const override { return Resource::kNpu; }
  double LoadWaitSeconds() const override { return spent_.waited_seconds; }
  // Cost on the phone: bytes of the weights if graphs have separate weights, and the time to load the weights.
  LoadCost CostOf(const CompiledGraph& graph) const override;
  int64_t ScratchBytes(absl::Span<const CompiledGraph* const> graphs, int longest_path) const override {
    return numbers_.ScratchBytes(graphs, longest_path);
  }
  absl::StatusOr<std::unique_ptr<LoadedGraph>> Load(const CompiledGraph& graph) override;
  void SplitLoads() override { load_ = nullptr; }
  void SetRecording(bool on) override { is_recording_ = on; }
  // Errors: as Device; also the errors of CostOfGraph, and OutOfRange at the end of virtual time.
  absl::Status Submit(LoadedGraph& graph, const RunArguments& arguments) override;
  absl::Status Wait() override;

  // Advances the clock by CPU work of `seconds` while nothing runs, at most to the end of virtual time. REQUIRES: seconds >= 0; Wait has
  // returned since the last Submit.
  void SpendOnCpu(double seconds, Zone zone);

  const Spent& spent() const { return spent_; }
  const DeviceProfile& profile() const { return options_.profile; }

 private:
  class LoadedOnPhone;
  // Graphs that form one load.
  struct OneLoad {
    int64_t asked_ns = 0;   // Time of the request, by the clock.
    int64_t begin_ns = 0;   // End of the previous loads.
    int64_t end_ns = 0;
    double seconds = 0;
  };

  // Charges a graph to the present load if the clock has not moved since the load's request, or to a new load.
  std::shared_ptr<const OneLoad> Charge(const LoadCost& cost, int rows);
  Timeline* timeline() const { return is_recording_ ? options_.timeline : nullptr; }
  // Returns the graph in the phone's form.
  absl::StatusOr<CompiledGraph> OnPhone(const CompiledGraph& compiled) const;
  // Returns the adapter rank that a run multiplies, by placeholder of the graph.
  absl::StatusOr<std::vector<int>> AdapterRanksOf(const Graph& graph, const RunArguments& arguments) const;
  absl::StatusOr<const GraphCost*> CostOfRun(LoadedOnPhone& graph, const RunArguments& arguments) const;

  Device& numbers_;
  VirtualClock& clock_;
  const Options options_;
  Spent spent_;
  std::shared_ptr<OneLoad> load_;   // The load that one more graph would join. Null: the next graph begins a new load.
  int64_t loaded_ns_ = 0;           // End of the last load.
  int64_t run_end_ns_ = 0;          // End of the last run.
  bool is_recording_ = true;
};

}  // namespace tessera

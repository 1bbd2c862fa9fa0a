// A reference device that rounds the inputs of adapter products to FP16: x before A, and A x before B. The engine that wrote
// tests/golden/lora does so. Ours rounds neither (docs/adapters.md).
//
//   Machine machine(weights, {.make_device = [](ThreadPool& pool) { return std::make_unique<RoundingAdapters>(&pool); }});
//
// For graphs with whole matrices, and runs of one row. Threads: as Device.
#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "glog/logging.h"
#include "tessera/base/half.h"
#include "tessera/base/status_macros.h"
#include "tessera/npu/reference/reference_device.h"
#include "tessera/tests/fakes/adapter_numbers.h"

namespace tessera {

// When a product's input is known, the product's adapter gets an A of one row that gives 1, and a B with the numbers to add.
class RoundingAdapters : public Device {
 public:
  explicit RoundingAdapters(ThreadPool* pool)
      : below_(pool, {.observe = [this](const ReferenceDevice::ProductInput& input) { Round(input); }}) {}

  absl::string_view name() const override { return below_.name(); }
  WeightEncoding weight_encoding() const override { return below_.weight_encoding(); }
  KvFormat kv_format() const override { return below_.kv_format(); }
  RowPolicy row_policy() const override { return below_.row_policy(); }
  LoadCost CostOf(const CompiledGraph& graph) const override { return below_.CostOf(graph); }
  int64_t ScratchBytes(absl::Span<const CompiledGraph* const> graphs, int longest_path) const override {
    return below_.ScratchBytes(graphs, longest_path);
  }
  absl::StatusOr<std::unique_ptr<LoadedGraph>> Load(const CompiledGraph& compiled) override {
    ASSIGN_OR_RETURN(std::unique_ptr<LoadedGraph> loaded, below_.Load(compiled));
    graphs_[loaded.get()] = compiled.graph;
    return loaded;
  }
  absl::Status Submit(LoadedGraph& graph, const RunArguments& arguments) override {
    graph_ = &graphs_.at(&graph);
    given_ = arguments.adapters.empty() ? nullptr : arguments.adapters[0];
    if (given_ == nullptr) return below_.Submit(graph, arguments);
    CHECK_EQ(arguments.rows, 1);
    rounded_.assign(given_, given_ + graph_->adapters);
    numbers_.assign(rounded_.size(), {});
    const AdapterProduct* const row[] = {rounded_.data()};
    RunArguments changed = arguments;
    changed.adapters = row;
    return below_.Submit(graph, changed);
  }
  absl::Status Wait() override { return below_.Wait(); }

 private:
  static void RoundAll(std::vector<float>& numbers) {
    for (float& number : numbers) number = HalfToFloat(FloatToHalf(number));
  }

  int PlaceholderOf(const GraphWeight& weight) const {
    for (const Operator& op : graph_->operators) {
      const auto* const linear = std::get_if<Linear>(&op);
      if (linear == nullptr) continue;
      for (const Product& product : linear->products) {
        if (graph_->weights[static_cast<size_t>(product.weight)].spec.name == weight.spec.name) return product.adapter;
      }
    }
    return kNone;
  }

  // y[row] = matrix[row] x, or transposed: the sum of x[row] times matrix[row].
  static std::vector<float> Times(const std::vector<float>& matrix, const std::vector<float>& x, size_t rows, bool transposed) {
    const size_t columns = matrix.size() / rows;
    std::vector<float> y(transposed ? columns : rows);
    for (size_t row = 0; row < rows; ++row) {
      for (size_t i = 0; i < columns; ++i) y[transposed ? i : row] += matrix[row * columns + i] * x[transposed ? row : i];
    }
    return y;
  }

  void Round(const ReferenceDevice::ProductInput& input) {
    const int place = given_ == nullptr ? kNone : PlaceholderOf(input.weight);
    if (place == kNone || given_[place].a == nullptr) return;
    const AdapterProduct& given = given_[place];
    const MatrixSpec& spec = input.weight.spec;
    std::vector<float> x(input.x.row(0), input.x.row(0) + spec.in_features);
    auto& [unit, added] = numbers_[static_cast<size_t>(place)];
    const auto largest = std::max_element(x.begin(), x.end(), [](float a, float b) { return std::fabs(a) < std::fabs(b); });
    unit.assign(x.size(), 0.0f);
    unit[static_cast<size_t>(largest - x.begin())] = 1 / *largest;
    RoundAll(x);
    std::vector<float> inner = Times(WideA(given, spec.in_features), x, static_cast<size_t>(given.rank), /*transposed=*/false);
    RoundAll(inner);
    added = Times(WideB(given, spec.out_features), inner, static_cast<size_t>(given.rank), /*transposed=*/true);
    rounded_[static_cast<size_t>(place)] = {.a = unit.data(), .b = added.data(), .rank = 1, .scale = given.scale};
  }

  ReferenceDevice below_;
  std::map<const LoadedGraph*, Graph> graphs_;
  const Graph* graph_ = nullptr;              // The graph of the current run,
  const AdapterProduct* given_ = nullptr;     // the adapter of the run's row,
  std::vector<AdapterProduct> rounded_;       // and the replacement.
  std::vector<std::pair<std::vector<float>, std::vector<float>>> numbers_;
};

}  // namespace tessera

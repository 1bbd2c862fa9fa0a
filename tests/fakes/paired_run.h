// One graph with its weights in each device's format, a cache in all formats and rows to run, for comparing devices.
//
//   PairedRun run(graph, {.seed = 7, .kv_heads = 2, .head_size = 16});
//   const RowOutputs expected = run.On(reference, Chain(5));      // five rows at positions 0 to 4, in slots 0 to 4
//   EXPECT_EQ(run.On(host, Chain(5)), expected);
//
// Memory is as unfriendly as possible. Slots never written hold NaN. Every array ends with its last number, so that a sanitizer sees an
// access beyond. Rows of inputs and outputs lie an odd distance apart, with marks between rows that must still be there afterwards.
#pragma once

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <vector>

#include "gtest/gtest.h"
#include "tessera/npu/device.h"
#include "tessera/quant/tile_matrix.h"
#include "tessera/tests/fakes/random_blocks.h"

namespace tessera {

struct TestRow {
  int64_t content = 0;          // The row's token. The inputs are a function of `content` alone.
  std::vector<SlotRange> path;  // Ends with the row's own slot.
  const AdapterProduct* adapters = nullptr;
};

// Returns rows [first, first + count) of one text that lies in slots 0, 1, 2, ...
inline std::vector<TestRow> Chain(int count, int first = 0) {
  std::vector<TestRow> rows;
  for (int r = first; r < first + count; ++r) rows.push_back({r, {{0, r + 1}}});
  return rows;
}

using RowOutputs = std::vector<std::vector<float>>;  // By row: the columns of all outputs, one after the other.

inline bool SameBits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

class PairedRun {
 public:
  struct Options {
    uint64_t seed = 1;
    int kv_heads = 1;
    int head_size = 16;
    int slots = 64;
    int row_capacity = 64;
  };
  // Fills one row of an input.
  using InputFunction = std::function<void(int external, int64_t content, float* row, int64_t columns)>;
  static constexpr float kMark = -77.0f;

  PairedRun(const Graph& graph, const Options& options)
      : compiled_(Compile(graph, {.row_capacity = options.row_capacity}).value()), options_(options) {
    uint64_t seed = options.seed;
    for (const GraphWeight& weight : graph.weights) AddWeight(weight, ++seed);
    ForgetCaches();
  }

  const CompiledGraph& compiled() const { return compiled_; }
  void set_input(InputFunction input) { input_ = std::move(input); }
  // Returns a weight's numbers, row-major.
  const float* weight(WeightId id) const { return reinterpret_cast<const float*>(floats_[id].data()); }
  // Returns the inputs of one row.
  std::vector<float> Input(int external, int64_t content) const {
    std::vector<float> row(compiled_.graph.buffers[compiled_.needs.external[external]].columns);
    input_(external, content, row.data(), static_cast<int64_t>(row.size()));
    return row;
  }
  KvView kv(KvFormat format) const {
    const Cache& cache = format == KvFormat::kHalf ? half_ : format == KvFormat::kInt8 ? bytes_ : float_;
    return {cache.keys.get(), cache.values.get(), format, options_.kv_heads, options_.head_size, options_.slots};
  }
  void ForgetCaches() {
    half_ = NewCache(KvFormat::kHalf);
    bytes_ = NewCache(KvFormat::kInt8);
    float_ = NewCache(KvFormat::kFloat);
  }

  // Returns arguments for a device, valid until the next call. Outputs hold marks.
  RunArguments& Prepare(const Device& device, const std::vector<TestRow>& rows) {
    rows_ = rows;
    tokens_.clear(), slots_.clear(), paths_.clear(), adapters_.clear();
    for (const TestRow& row : rows_) {
      tokens_.push_back(static_cast<int32_t>(row.content));
      slots_.push_back(row.path.empty() ? 0 : row.path.back().begin + row.path.back().count - 1);
      paths_.push_back(row.path);
      adapters_.push_back(row.adapters);
    }
    arguments_.rows = static_cast<int>(rows.size());
    BindBuffers();
    BindRopeTables();
    arguments_.weights = device.weight_encoding() == WeightEncoding::kFloat32 ? floats_ : packed_;
    arguments_.tokens = tokens_;
    arguments_.slots = slots_;
    arguments_.paths = paths_;
    arguments_.adapters = adapters_;
    arguments_.kv = kv(device.kv_format());
    return arguments_;
  }

  // Returns the outputs of the run with Prepare's arguments. A lost mark is a test failure.
  RowOutputs Outputs() const {
    RowOutputs outputs(rows_.size());
    for (size_t i = 0; i < buffers_.size(); ++i) {
      const GraphBuffer& buffer = compiled_.graph.buffers[compiled_.needs.external[i]];
      const int64_t stride = arguments_.buffers[i].row_stride;
      for (size_t r = 0; r < rows_.size(); ++r) {
        const float* row = buffers_[i].get() + r * stride;
        if (buffer.kind == BufferKind::kOutput) outputs[r].insert(outputs[r].end(), row, row + buffer.columns);
        for (int64_t c = buffer.columns; r + 1 < rows_.size() && c < stride; ++c) EXPECT_EQ(row[c], kMark) << buffer.name;
      }
    }
    return outputs;
  }

  RowOutputs On(Device& device, const std::vector<TestRow>& rows) {
    const std::unique_ptr<LoadedGraph> graph = device.Load(compiled_).value();
    const absl::Status status = device.Run(*graph, Prepare(device, rows));
    EXPECT_TRUE(status.ok()) << status;
    return Outputs();
  }

 private:
  struct Free {
    void operator()(void* p) const { std::free(p); }
  };
  struct Cache {
    std::unique_ptr<std::byte, Free> keys, values;
  };

  static std::byte* NewBytes(size_t bytes) {
    void* memory = nullptr;
    EXPECT_EQ(posix_memalign(&memory, 64, bytes), 0);
    return static_cast<std::byte*>(memory);
  }

  absl::Span<std::byte> NewWeight(int64_t bytes) {
    weights_.emplace_back(NewBytes(bytes));
    return {weights_.back().get(), static_cast<size_t>(bytes)};
  }

  // Adds weights. Matrices keep a row's variance about constant; vectors, which are norms and biases, lie around one.
  void AddWeight(const GraphWeight& weight, uint64_t seed) {
    const MatrixSpec& spec = weight.spec;
    const int64_t values = spec.in_features * spec.out_features;
    const absl::Span<std::byte> floats = NewWeight(values * static_cast<int64_t>(sizeof(float)));
    float* numbers = reinterpret_cast<float*>(floats.data());
    floats_.push_back(floats);
    if (weight.vector) {
      SeededRandom random(seed);
      for (int64_t i = 0; i < values; ++i) numbers[i] = random.Uniform(0.8f, 1.2f);
      packed_.push_back(floats);
      return;
    }
    const float scale = 1.7f / std::sqrt(static_cast<float>(spec.in_features));
    if (weight.tile.has_value()) return FillTiles(weight, seed, scale, numbers);
    const std::vector<std::byte> gguf = RandomBlocks(spec.format, values, seed, scale);
    InfoOf(spec.format).dequantize(gguf.data(), values, numbers);
    const absl::Span<std::byte> packed = NewWeight(PackedMatrix::BytesFor(spec).value());
    EXPECT_TRUE(PackedMatrix::Pack(spec, gguf, packed).ok());
    packed_.push_back(packed);
  }

  // Fills tiles, and sets `numbers` to the values in the tiles.
  void FillTiles(const GraphWeight& weight, uint64_t seed, float scale, float* numbers) {
    const MatrixSpec& spec = weight.spec;
    SeededRandom random(seed);
    for (int64_t i = 0; i < spec.in_features * spec.out_features; ++i) numbers[i] = scale * random.Uniform(-1.0f, 1.0f);
    const absl::Span<std::byte> tiles = NewWeight(TileMatrix::BytesFor(spec, *weight.tile).value());
    const TileMatrix::Choice choice = {.largest = scale};
    EXPECT_TRUE(TileMatrix::Quantize(spec, *weight.tile, {numbers, spec.out_features, spec.in_features}, choice, tiles).ok());
    const TileMatrix matrix = TileMatrix::Open(spec, *weight.tile, tiles).value();
    for (int64_t row = 0; row < spec.out_features; ++row) matrix.ReadRow(row, numbers + row * spec.in_features);
    packed_.push_back(tiles);
  }

  Cache NewCache(KvFormat format) const {
    constexpr int64_t kLayers = 4;
    const int64_t key_bytes = kLayers * KvView::KeyBytes(format, options_.kv_heads, options_.head_size, options_.slots);
    const int64_t value_bytes = kLayers * KvView::ValueBytes(format, options_.kv_heads, options_.head_size, options_.slots);
    Cache cache;
    cache.keys.reset(NewBytes(key_bytes));
    cache.values.reset(NewBytes(value_bytes));
    std::memset(cache.keys.get(), 0xff, key_bytes);  // NaN in all formats.
    std::memset(cache.values.get(), 0xff, value_bytes);
    return cache;
  }

  void BindBuffers() {
    buffers_.clear();
    arguments_.buffers.clear();
    for (size_t i = 0; i < compiled_.needs.external.size(); ++i) {
      const GraphBuffer& buffer = compiled_.graph.buffers[compiled_.needs.external[i]];
      const int64_t stride = buffer.columns + 3, rows = static_cast<int64_t>(rows_.size());
      const int64_t floats = rows == 0 ? 1 : (rows - 1) * stride + buffer.columns;
      buffers_.push_back(std::make_unique<float[]>(floats));
      std::fill_n(buffers_.back().get(), floats, kMark);
      arguments_.buffers.push_back({buffers_.back().get(), stride});
      for (int64_t r = 0; buffer.kind == BufferKind::kInput && r < rows; ++r) {
        input_(static_cast<int>(i), rows_[r].content, buffers_.back().get() + r * stride, buffer.columns);
      }
    }
  }

  void BindRopeTables() {
    angles_.assign(compiled_.needs.rope_tables, {});
    tables_.clear();
    for (int table = 0; table < compiled_.needs.rope_tables; ++table) {
      for (const TestRow& row : rows_) AddAngles(table, row);
      tables_.push_back(angles_[table].data());
    }
    arguments_.rope_tables = tables_;
  }

  void AddAngles(int table, const TestRow& row) {
    int position = -1, dimensions = 0;
    for (const SlotRange& range : row.path) position += range.count;
    for (const Operator& op : compiled_.graph.operators) {
      const Rope* rope = std::get_if<Rope>(&op);
      if (rope != nullptr && rope->table == table) dimensions = rope->dimensions;
    }
    for (int i = 0; i < dimensions / 2; ++i) {
      const double angle = (position + table) * std::pow(100.0, -2.0 * i / dimensions);
      angles_[table].push_back(static_cast<float>(std::cos(angle)));
      angles_[table].push_back(static_cast<float>(std::sin(angle)));
    }
  }

  const CompiledGraph compiled_;
  const Options options_;
  InputFunction input_ = [](int external, int64_t content, float* row, int64_t columns) {
    SeededRandom random(CounterRandom(1000, content, external));
    for (int64_t c = 0; c < columns; ++c) row[c] = random.Uniform(-1.0f, 1.0f);
  };
  std::vector<std::unique_ptr<std::byte, Free>> weights_;
  std::vector<absl::Span<const std::byte>> packed_, floats_;
  Cache half_, bytes_, float_;
  std::vector<TestRow> rows_;
  std::vector<int32_t> tokens_, slots_;
  std::vector<SlotPath> paths_;
  std::vector<const AdapterProduct*> adapters_;
  std::vector<std::unique_ptr<float[]>> buffers_;
  std::vector<std::vector<float>> angles_;
  std::vector<const float*> tables_;
  RunArguments arguments_;
};

}  // namespace tessera

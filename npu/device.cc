#include "tessera/npu/device.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "tessera/base/status_macros.h"

namespace tessera {
namespace {

constexpr int64_t kWeightAlignment = 64;

template <typename... Parts>
absl::Status Invalid(const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat("arguments: ", parts...));
}

absl::Status CheckCount(const char* what, size_t found, size_t expected) {
  if (found == expected) return absl::OkStatus();
  return Invalid(what, ": found ", found, ", expected ", expected);
}

absl::Status CheckBuffers(const CompiledGraph& graph, const RunArguments& arguments) {
  const std::vector<BufferId>& external = graph.needs.external;
  RETURN_IF_ERROR(CheckCount("buffers", arguments.buffers.size(), external.size()));
  for (size_t i = 0; i < external.size(); ++i) {
    const GraphBuffer& buffer = graph.graph.buffers[external[i]];
    const BoundBuffer& bound = arguments.buffers[i];
    if (bound.data == nullptr && arguments.rows > 0) {
      return Invalid("buffer ", i, " \"", buffer.name, "\": found null, expected memory");
    }
    if (bound.row_stride < buffer.columns) {
      return Invalid("buffer ", i, " \"", buffer.name, "\": row_stride: found ", bound.row_stride,
                     ", expected >= ", buffer.columns);
    }
  }
  return absl::OkStatus();
}

absl::Status CheckWeights(const CompiledGraph& graph, WeightEncoding encoding, const RunArguments& arguments) {
  if (graph.needs.tiles && encoding == WeightEncoding::kPacked) return Invalid("weights: found tiles, expected panels on this device");
  const std::vector<int64_t>& expected = encoding == WeightEncoding::kFloat32 ? graph.needs.float_bytes : graph.needs.packed_bytes;
  RETURN_IF_ERROR(CheckCount("weights", arguments.weights.size(), expected.size()));
  for (size_t i = 0; i < expected.size(); ++i) {
    const absl::Span<const std::byte> bytes = arguments.weights[i];
    const std::string& name = graph.graph.weights[i].spec.name;
    if (static_cast<int64_t>(bytes.size()) != expected[i]) {
      return Invalid("weight ", i, " \"", name, "\": bytes: found ", bytes.size(), ", expected ", expected[i]);
    }
    const uintptr_t misaligned = reinterpret_cast<uintptr_t>(bytes.data()) % kWeightAlignment;
    if (misaligned != 0) return Invalid("weight ", i, " \"", name, "\": address modulo 64: found ", misaligned, ", expected 0");
  }
  return absl::OkStatus();
}

absl::Status CheckTokens(const RunArguments& arguments) {
  RETURN_IF_ERROR(CheckCount("tokens", arguments.tokens.size(), arguments.rows));
  for (int row = 0; row < arguments.rows; ++row) {
    if (arguments.tokens[row] >= 0) continue;
    return Invalid("token of row ", arguments.first_row + row, ": found ", arguments.tokens[row], ", expected >= 0");
  }
  return absl::OkStatus();
}

absl::Status CheckRopeTables(const CompiledGraph& graph, const RunArguments& arguments) {
  const int needed = graph.needs.rope_tables, found = static_cast<int>(arguments.rope_tables.size());
  if (found < needed) return Invalid("rope_tables: found ", found, ", expected ", needed);
  for (int i = 0; i < needed && arguments.rows > 0; ++i) {
    if (arguments.rope_tables[i] == nullptr) return Invalid("rope table ", i, ": found null, expected memory");
  }
  return absl::OkStatus();
}

bool IsOfPlainFloats(BlockFormat format) {
  return format == BlockFormat::kF32 || format == BlockFormat::kF16 || format == BlockFormat::kBF16;
}

absl::Status CheckAdapters(const CompiledGraph& graph, const RunArguments& arguments) {
  if (arguments.adapters.empty()) return absl::OkStatus();
  RETURN_IF_ERROR(CheckCount("adapters", arguments.adapters.size(), arguments.rows));
  const AdapterProduct* checked = nullptr;  // Rows of one task stand side by side and share theirs.
  for (int row = 0; row < arguments.rows; ++row) {
    const AdapterProduct* products = arguments.adapters[row];
    if (products == checked) continue;
    for (int i = 0; products != nullptr && i < graph.graph.adapters; ++i) {
      const AdapterProduct& product = products[i];
      if (product.a == nullptr) continue;
      const auto invalid = [&](const auto&... what) { return Invalid("adapter ", i, " of row ", arguments.first_row + row, what...); };
      if (product.b == nullptr) return invalid(": b: found null, expected memory");
      if (product.rank < 1 || product.rank > kLargestAdapterRank) {
        return invalid(": rank: found ", product.rank, ", expected 1 to ", kLargestAdapterRank);
      }
      if (!std::isfinite(product.scale)) return invalid(": scale: found ", product.scale, ", expected a finite number");
      if (!IsOfPlainFloats(product.format)) return invalid(": format: found ", InfoOf(product.format).name, ", expected F32, F16 or BF16");
    }
    checked = products;
  }
  return absl::OkStatus();
}

absl::Status CheckKvShape(const ArgumentNeeds& needs, const KvView& kv) {
  if (kv.slots() < 1 || kv.slots() % KvView::kSlotsPerBlock != 0) {
    return Invalid("kv: slots: found ", kv.slots(), ", expected a positive multiple of ", KvView::kSlotsPerBlock);
  }
  if (kv.Keys<std::byte>(0, 0) == nullptr || kv.Values<std::byte>(0, 0) == nullptr) {
    return Invalid("kv: found null, expected memory");
  }
  if (kv.heads() < 1) return Invalid("kv: heads: found ", kv.heads(), ", expected >= 1");
  if (kv.head_size() < 1) return Invalid("kv: head_size: found ", kv.head_size(), ", expected >= 1");
  if (kv.format() == KvFormat::kInt8 && kv.head_size() > KvView::kLargestByteHead) {
    return Invalid("kv: head_size: found ", kv.head_size(), ", expected at most ", KvView::kLargestByteHead, " with 8 bits");
  }
  const int64_t columns = static_cast<int64_t>(kv.heads()) * kv.head_size();
  if (needs.key_columns != 0 && columns != needs.key_columns) {
    return Invalid("kv: heads x head_size: found ", columns, ", expected ", needs.key_columns);
  }
  if (needs.head_size == 0) return absl::OkStatus();
  if (kv.head_size() != needs.head_size) return Invalid("kv: head_size: found ", kv.head_size(), ", expected ", needs.head_size);
  if (needs.query_heads % kv.heads() != 0) {
    return Invalid("kv: heads: found ", kv.heads(), ", expected a divisor of the query heads ", needs.query_heads);
  }
  return absl::OkStatus();
}

absl::Status CheckSlots(const RunArguments& arguments) {
  RETURN_IF_ERROR(CheckCount("slots", arguments.slots.size(), arguments.rows));
  for (int row = 0; row < arguments.rows; ++row) {
    const int32_t slot = arguments.slots[row];
    if (slot < 0 || slot >= arguments.kv.slots()) {
      return Invalid("slot of row ", arguments.first_row + row, ": found ", slot, ", expected 0 to ", arguments.kv.slots() - 1);
    }
  }
  return absl::OkStatus();
}

// Checks that positions without a slot (kNoSlot) end before every window.
absl::Status CheckUnheld(int64_t unheld, int64_t length, int row, int64_t longest_window) {
  const int64_t before = length - longest_window;
  if (unheld >= 1 && unheld <= before) return absl::OkStatus();
  return Invalid("path of row ", row, ": found ", unheld, " positions without slots, expected ",
                 before < 1 ? "none" : absl::StrCat("1 to ", before), ", before the window");
}

absl::Status CheckPath(SlotPath path, int row, int slots, int64_t longest_window) {
  int64_t unheld = 0, length = 0;
  if (!path.empty() && path[0].begin == kNoSlot) {
    unheld = path[0].count;
    RETURN_IF_ERROR(CheckUnheld(unheld, PathLength(path), row, longest_window));
    path.remove_prefix(1);
  }
  for (const SlotRange& range : path) {
    if (range.begin < 0 || range.count < 1 || range.count > slots || range.begin > slots - range.count) {
      return Invalid("path of row ", row, ": found ", range.count, " slots from ", range.begin,
                     ", expected at least one, within 0 to ", slots - 1);
    }
    length += range.count;
  }
  if (length < 1 || length > slots) return Invalid("path of row ", row, ": length: found ", length, ", expected 1 to ", slots);
  if (unheld + length <= kAllPositions) return absl::OkStatus();
  return Invalid("path of row ", row, ": positions: found ", unheld + length, ", expected at most ", kAllPositions);
}

absl::Status CheckKv(const ArgumentNeeds& needs, KvFormat format, const RunArguments& arguments) {
  if (needs.key_columns == 0 && needs.head_size == 0) return absl::OkStatus();
  RETURN_IF_ERROR(CheckKvShape(needs, arguments.kv));
  if (arguments.kv.format() != format) {
    return Invalid("kv: format: found ", KvFormatName(arguments.kv.format()), ", expected ", KvFormatName(format));
  }
  if (needs.key_columns != 0) RETURN_IF_ERROR(CheckSlots(arguments));
  if (needs.head_size == 0) return absl::OkStatus();
  RETURN_IF_ERROR(CheckCount("paths", arguments.paths.size(), arguments.rows));
  for (int row = 0; row < arguments.rows; ++row) {
    RETURN_IF_ERROR(CheckPath(arguments.paths[row], arguments.first_row + row, arguments.kv.slots(), needs.longest_window));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status Device::Run(LoadedGraph& graph, const RunArguments& arguments) {
  RETURN_IF_ERROR(Submit(graph, arguments));
  return Wait();
}

absl::Status CheckArguments(const CompiledGraph& graph, WeightEncoding encoding, KvFormat kv_format, const RunArguments& arguments) {
  if (arguments.rows < 0 || arguments.rows > graph.row_capacity) {
    return Invalid("rows: found ", arguments.rows, ", expected 0 to ", graph.row_capacity);
  }
  RETURN_IF_ERROR(CheckBuffers(graph, arguments));
  RETURN_IF_ERROR(CheckWeights(graph, encoding, arguments));
  if (graph.needs.tokens) RETURN_IF_ERROR(CheckTokens(arguments));
  RETURN_IF_ERROR(CheckRopeTables(graph, arguments));
  RETURN_IF_ERROR(CheckAdapters(graph, arguments));
  return arguments.rows == 0 ? absl::OkStatus() : CheckKv(graph.needs, kv_format, arguments);
}

}  // namespace tessera

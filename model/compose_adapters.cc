#include "tessera/model/compose_adapters.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "tessera/base/status_macros.h"
#include "tessera/npu/device.h"

namespace tessera {
namespace {

// The parts that change one matrix.
struct Stack {
  struct Part {
    AdapterProduct product = {};
    double scale = 0;   // The product's scale times the part's scale.
    double share = 1;   // Ratio of the scale to the largest scale.
  };
  int64_t in = 0, out = 0;
  int rank = 0;         // All parts together. 0: no part changes the matrix.
  double scale = 0;     // The largest scale.
  std::vector<Part> parts = {};

  // Returns true if numbers may be copied.
  bool IsPlain() const {
    for (const Part& part : parts) {
      if (part.share != 1 || part.product.format != parts[0].product.format) return false;
    }
    return true;
  }
};

// Makes an error of one place. placeholder: a whole model's adapter names the placeholder by its matrix.
absl::Status WrongPlace(int layer, int placeholder, const absl::AlphaNum& what, const absl::AlphaNum& found, const std::string& expected) {
  return absl::InvalidArgumentError(absl::StrCat("adapter layer ", layer, " ", LoraTargetName(static_cast<LoraTarget>(placeholder)), " ",
                                                 what, ": found ", found, ", expected ", expected));
}

absl::Status AddPart(const AdapterShare& share, int layer, int placeholder, Stack& stack) {
  const AdapterProduct& product = share.adapter->Layer(layer)[static_cast<size_t>(placeholder)];
  if (product.a == nullptr) return absl::OkStatus();
  const LoraShape shape = share.adapter->shape(layer * share.adapter->placeholders() + placeholder);
  if (stack.rank == 0) stack.in = shape.in, stack.out = shape.out;
  if (shape.in != stack.in || shape.out != stack.out) {
    return WrongPlace(layer, placeholder, "matrix", absl::StrCat(shape.in, " x ", shape.out),
                      absl::StrCat(stack.in, " x ", stack.out, ", as another part"));
  }
  stack.rank += product.rank;
  if (stack.rank > kLargestAdapterRank) {
    return WrongPlace(layer, placeholder, "rank of all parts", stack.rank, absl::StrCat("at most ", kLargestAdapterRank));
  }
  const double scale = double{product.scale} * double{share.scale};
  if (stack.parts.empty() || std::abs(scale) > std::abs(stack.scale)) stack.scale = scale;
  stack.parts.push_back({.product = product, .scale = scale});
  return absl::OkStatus();
}

absl::StatusOr<Stack> StackAt(absl::Span<const AdapterShare> parts, int layer, int placeholder) {
  Stack stack;
  for (const AdapterShare& part : parts) RETURN_IF_ERROR(AddPart(part, layer, placeholder, stack));
  const auto scale = static_cast<float>(stack.scale);
  if (!std::isfinite(scale) || (scale == 0 && stack.scale != 0)) {
    return WrongPlace(layer, placeholder, "scale", stack.scale, "a number that 32 bits hold");
  }
  for (Stack::Part& part : stack.parts) part.share = stack.scale == 0 ? 1 : part.scale / stack.scale;
  return stack;
}

void AppendBytes(const void* numbers, int64_t count, BlockFormat format, std::vector<std::byte>& all) {
  const auto* const bytes = static_cast<const std::byte*>(numbers);
  all.insert(all.end(), bytes, bytes + count * InfoOf(format).bytes_per_block);
}

LoraNumbers CopiedNumbers(const Stack& stack) {
  LoraNumbers numbers = {.in = stack.in, .out = stack.out, .rank = stack.rank, .scale = static_cast<float>(stack.scale),
                         .format = stack.parts[0].product.format, .known_finite = true};
  const auto size = static_cast<size_t>(stack.rank) * static_cast<size_t>(InfoOf(numbers.format).bytes_per_block);
  numbers.a.reserve(size * static_cast<size_t>(stack.in));
  numbers.b.reserve(size * static_cast<size_t>(stack.out));
  for (const Stack::Part& part : stack.parts) {
    AppendBytes(part.product.a, part.product.rank * stack.in, numbers.format, numbers.a);
    AppendBytes(part.product.b, part.product.rank * stack.out, numbers.format, numbers.b);
  }
  return numbers;
}

// Writes numbers in FP32, times a share.
void Widen(const void* numbers, int64_t count, BlockFormat format, double share, float* wide) {
  InfoOf(format).dequantize(static_cast<const std::byte*>(numbers), count, wide);
  if (share == 1) return;
  for (int64_t i = 0; i < count; ++i) wide[i] = static_cast<float>(double{wide[i]} * share);
}

LoraMatrices ScaledMatrices(const Stack& stack) {
  LoraMatrices matrices = {.in = stack.in, .out = stack.out, .rank = stack.rank, .scale = static_cast<float>(stack.scale),
                           .a = std::vector<float>(static_cast<size_t>(stack.rank * stack.in)),
                           .b = std::vector<float>(static_cast<size_t>(stack.rank * stack.out))};
  int64_t before = 0;
  for (const Stack::Part& part : stack.parts) {
    const AdapterProduct& product = part.product;
    Widen(product.a, product.rank * stack.in, product.format, 1, matrices.a.data() + before * stack.in);
    Widen(product.b, product.rank * stack.out, product.format, part.share, matrices.b.data() + before * stack.out);
    before += product.rank;
  }
  return matrices;
}

absl::Status CheckOfOneModel(absl::Span<const AdapterShare> parts) {
  CHECK(!parts.empty());
  for (const AdapterShare& part : parts) {
    const LoraAdapter &first = *parts[0].adapter, &adapter = *part.adapter;
    if (adapter.layers() == first.layers() && adapter.placeholders() == first.placeholders()) continue;
    return absl::InvalidArgumentError(absl::StrCat("adapter layers x placeholders: found ", adapter.layers(), " x ",
                                                   adapter.placeholders(), ", expected ", first.layers(), " x ", first.placeholders(),
                                                   ", as the first part"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<LoraAdapter> ComposeAdapters(absl::Span<const AdapterShare> parts) {
  RETURN_IF_ERROR(CheckOfOneModel(parts));
  const LoraAdapter& first = *parts[0].adapter;
  ASSIGN_OR_RETURN(LoraAdapter composed, LoraAdapter::Create(first.layers(), first.placeholders()));
  for (int layer = 0; layer < first.layers(); ++layer) {
    for (int placeholder = 0; placeholder < first.placeholders(); ++placeholder) {
      ASSIGN_OR_RETURN(const Stack stack, StackAt(parts, layer, placeholder));
      if (stack.rank == 0) continue;
      RETURN_IF_ERROR(stack.IsPlain() ? composed.SetNumbers(layer, placeholder, CopiedNumbers(stack))
                                      : composed.Set(layer, placeholder, ScaledMatrices(stack)));
    }
  }
  return composed;
}

absl::StatusOr<LoraPlan> PlanComposedAdapter(absl::Span<const AdapterShare> parts) {
  RETURN_IF_ERROR(CheckOfOneModel(parts));
  const LoraAdapter& first = *parts[0].adapter;
  LoraPlan plan;
  for (int layer = 0; layer < first.layers(); ++layer) {
    for (int placeholder = 0; placeholder < first.placeholders(); ++placeholder) {
      ASSIGN_OR_RETURN(const Stack stack, StackAt(parts, layer, placeholder));
      BlockFormat format = stack.parts.empty() ? BlockFormat::kF16 : stack.parts[0].product.format;
      if (!stack.IsPlain()) {
        const LoraMatrices matrices = ScaledMatrices(stack);
        format = NarrowestFormatFor(matrices.a, matrices.b);
      }
      plan.ranks.push_back(stack.rank);
      plan.number_bytes.push_back(InfoOf(format).bytes_per_block);
    }
  }
  return plan;
}

}  // namespace tessera

// Each architecture in each block format: the fast path's logits against the reference path's, within what its roundings do.
//
// How far the two lie apart is computed for each model, from the reference path alone:
//
// 1. The fast path rounds where the reference path does not (docs/numerics.md): the input of a product with a block format to
//    8 bits in groups of 32, and keys and values to FP16. All else is FP32 on both sides, a thousand times finer. Products with
//    fine products (values, head) round their input 256 times finer than the others: left out.
// 2. A rounding errs by up to half a step, evenly spread, so by step / sqrt(12) in root mean square. A step of 8 bits is a
//    group's largest magnitude / 127. These errors do not depend on the weights, so a product's outputs err by the same part of
//    their size as its inputs: sqrt(mean of largest^2 / mean of x^2 / 12) / 127. RoundingOfInputs computes that for Gaussian
//    inputs (normed rows, mixed values) and for gated ones.
// 3. FP16 has steps of 2^-10 times a power of two. For numbers spread evenly between two powers, the mean of step^2 / 12 over
//    the mean of x^2 is 2^-20 / 28.
// 4. Adding to each weight of a matrix a random number, of a given part of the matrix's root mean square, also moves the outputs
//    by that part of their size. So the reference path with such weights shows what becomes of the roundings on their way
//    through norms, softmax and gates: the expected difference of the logits, in root mean square over all of them.
//
// The fast path is held to that within kMargin, above and below: the noise is one draw, and 2 and 3 take numbers to be spread
// as they only nearly are. A model that is a little wrong must be outside.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "tessera/tests/fakes/architectures.h"
#include "tessera/tests/fakes/loaded_model.h"

namespace tessera {
namespace {

constexpr double kMargin = 1.4;
constexpr int kRows = 24;

// For a group of 32 such numbers rounded to 8 bits: the root mean square of the errors, divided by that of the numbers.
double RoundingOfInputs(const std::function<double(SeededRandom&)>& draw) {
  SeededRandom random(1);
  double largest_squares = 0, squares = 0;
  for (int group = 0; group < 4096; ++group) {
    double largest = 0;
    for (int i = 0; i < 32; ++i) {
      const double x = draw(random);
      squares += x * x / 32;
      largest = std::max(largest, std::fabs(x));
    }
    largest_squares += largest * largest;
  }
  return std::sqrt(largest_squares / squares / 12) / 127;
}

double Gaussian(SeededRandom& random) { return random.Gaussian(); }
double Gated(SeededRandom& random) {
  const double gate = random.Gaussian();
  return gate / (1 + std::exp(-gate)) * random.Gaussian();
}

// The part of its size by which the outputs of a product with this matrix err.
double Noise(absl::string_view tensor, BlockFormat format) {
  static const double kGaussian = RoundingOfInputs(Gaussian), kGated = RoundingOfInputs(Gated), kHalf = std::sqrt(0x1p-20 / 28);
  if (!absl::StartsWith(tensor, "blk.")) return 0;  // The embedding table and the head.
  if (absl::EndsWith(tensor, "attn_v.weight")) return kHalf;
  const double of_inputs = format <= BlockFormat::kBF16 ? 0 : absl::EndsWith(tensor, "ffn_down.weight") ? kGated : kGaussian;
  return absl::EndsWith(tensor, "attn_k.weight") ? std::hypot(of_inputs, kHalf) : of_inputs;
}

// The weights of a model of FP32, with a change to its matrices.
using Change = std::function<void(const std::string& tensor, TensorView<float> weights)>;

std::unique_ptr<ResidentSource> Changed(const LoadedWeights& model, const Change& change) {
  const WeightLayout& layout = model.layout();
  std::vector<int64_t> sizes;
  for (int unit = 0; unit < layout.units(); ++unit) sizes.push_back(layout.UnitBytes(unit));
  std::unique_ptr<ResidentSource> source = Must(ResidentSource::Create(sizes));
  for (int unit = 0; unit < layout.units(); ++unit) {
    Must(FillUnit(model.file(), layout, unit, source->Unit(unit)));
    for (const auto& [tensor, part] : layout.PartsOfUnit(unit)) {
      const MatrixSpec& spec = part->weight.spec;
      float* values = reinterpret_cast<float*>(source->Unit(unit).data() + part->offset);
      if (!part->weight.vector) change(*tensor, {values, spec.out_features, spec.in_features});
    }
  }
  return source;
}

Change AddNoise(BlockFormat format) {
  return [format, random = SeededRandom(2)](const std::string& tensor, TensorView<float> weights) mutable {
    const absl::Span<float> all(weights.data(), weights.rows() * weights.columns());
    double squares = 0;
    for (const float weight : all) squares += weight * weight;
    // Uniform numbers in a range of sqrt(12) have a variance of 1.
    const double range = Noise(tensor, format) * std::sqrt(12 * squares / static_cast<double>(all.size()));
    for (float& weight : all) weight += static_cast<float>(range * (random.Uniform() - 0.5));
  };
}

// Every second output of a matrix is a little too large, as if its scales were read wrong.
void ScaleAFew(const std::string& tensor, TensorView<float> weights) {
  if (tensor != "blk.0.ffn_down.weight") return;
  for (int64_t row = 0; row < weights.rows(); row += 2) {
    for (int64_t i = 0; i < weights.columns(); ++i) weights.row(row)[i] *= 1.06f;
  }
}

// A key head and its queries are turned the wrong way round: the two numbers of each pair have changed places.
Change TurnOneHeadBack(const ModelConfig& config) {
  return [&config](const std::string& tensor, TensorView<float> weights) {
    const bool keys = tensor == "blk.1.attn_k.weight", queries = tensor == "blk.1.attn_q.weight";
    const int heads = keys ? 1 : queries ? config.heads / config.kv_heads : 0;
    const int distance = config.rope_pairs == RopePairs::kAdjacent ? 1 : config.head_size / 2;
    for (int row = 0; row < heads * config.head_size; ++row) {
      if (row / distance % 2 != 0) continue;  // The second of its pair.
      std::swap_ranges(weights.row(row), weights.row(row) + weights.columns(), weights.row(row + distance));
    }
  };
}

// The logits of all rows, one after the other.
std::vector<float> Logits(const LoadedWeights& model, WeightSource* source = nullptr) {
  Machine machine(model, {.slots = 64, .source = source});
  SeededRandom random(3);
  std::vector<TokenId> tokens(kRows);
  for (TokenId& token : tokens) token = static_cast<TokenId>(random.Below(256));
  std::vector<float> all;
  for (const std::vector<float>& row : machine.Extend(machine.cache().NewSequence(), tokens)) {
    all.insert(all.end(), row.begin(), row.end());
  }
  return all;
}

// In root mean square.
double Difference(absl::Span<const float> a, absl::Span<const float> b) {
  double squares = 0;
  for (size_t i = 0; i < a.size(); ++i) squares += (double{a[i]} - b[i]) * (double{a[i]} - b[i]);
  return std::sqrt(squares / static_cast<double>(a.size()));
}

TinyModel ModelOf(const std::string& architecture, BlockFormat format) {
  TinyModel model = {.architecture = architecture, .formats = {format}};
  if (InfoOf(format).values_per_block > 32) model.width = model.feed_forward = 256, model.head_size = 64;
  if (architecture == "gemma3") model.window = 6;
  return model;
}

class EveryFormat : public testing::TestWithParam<const char*> {};

TEST_P(EveryFormat, FastPathErrsByItsRoundingsAndAWrongModelByMore) {
  for (const BlockFormatInfo& format : AllBlockFormats()) {
    if (!format.in_gguf()) continue;
    SCOPED_TRACE(format.name);
    const GgufBuilder builder = TinyModelBuilder(ModelOf(GetParam(), format.format));
    const LoadedWeights reference(builder, WeightEncoding::kFloat32);
    const auto changed = [&reference](const Change& change) { return Logits(reference, Changed(reference, change).get()); };
    const std::vector<float> exact = Logits(reference), fast = Logits(LoadedWeights(builder));
    const double rounding = Difference(changed(AddNoise(format.format)), exact);
    EXPECT_LE(Difference(fast, exact), kMargin * rounding);
    EXPECT_GE(Difference(fast, exact), rounding / kMargin);
    EXPECT_GT(Difference(fast, changed(ScaleAFew)), kMargin * rounding);
    EXPECT_GT(Difference(fast, changed(TurnOneHeadBack(reference.config()))), kMargin * rounding);
  }
}

INSTANTIATE_TEST_SUITE_P(Architectures, EveryFormat, testing::ValuesIn(kArchitectures),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace tessera

#include "tessera/model/files/known_shapes.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <numbers>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tessera/base/elementary.h"
#include "tessera/base/nearest_name.h"
#include "tessera/base/quoted.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/files/config.h"
#include "tessera/model/files/file_type.h"
#include "tessera/model/files/gguf_writer.h"
#include "tessera/model/files/tensor_names.h"

namespace tessera {
namespace {

// If there is a window, the last of each 6 layers has none, and the others turn by a separate base.
constexpr int kWindowPeriod = 6;
constexpr float kWindowRopeBase = 10'000;

// Facts that all sizes of a family share.
struct Family {
  const char* architecture;
  float rope_base;
  float norm_epsilon;
  bool biases = false;      // On queries, keys and values.
  bool head_norms = false;  // Norms on each head of queries and keys.
  bool post_norms = false;
};

struct Shape {
  const char* name;
  const Family* family;
  int width, layers, heads, kv_heads, head_size, feed_forward, vocabulary;
  bool tied_head;
  int context;
  const char* source;
  const char* assumed = "";
  const char* differs = "";
  double slow_factor = 0;    // Slow-down of the pairs that turn slowest (FrequencyFactors); 0: none.
  double linear_factor = 0;  // Divisor of positions in layers without a window; 0: none.
  int window = 0;
};

#include "tessera/model/files/architectures/known_shapes.inc"  // kShapes: a Shape each.

const Shape* FindShape(absl::string_view name) {
  const auto found = std::find_if(std::begin(kShapes), std::end(kShapes), [&](const Shape& shape) { return name == shape.name; });
  return found == std::end(kShapes) ? nullptr : &*found;
}

// or_else: alternatives to a name.
absl::Status UnknownShape(absl::string_view name, absl::string_view or_else) {
  std::vector<std::string> names;
  for (const Shape& shape : kShapes) names.push_back(shape.name);
  const std::string meant = NearestName(name, names);
  return absl::NotFoundError(absl::StrCat("shape: found ", Quoted(name), ", expected one of ", absl::StrJoin(names, ", "), or_else,
                                          meant.empty() ? "" : absl::StrCat("; did you mean ", meant, "?")));
}

void PutMetadata(const Shape& shape, const ShapeFormats& formats, GgufWriter& writer) {
  const Family& family = *shape.family;
  const auto full = [&](absl::string_view key) { return absl::StrCat(family.architecture, ".", key); };
  const auto number = [&](absl::string_view key, int value) { writer.Number(full(key), static_cast<uint32_t>(value)); };
  writer.String("general.architecture", family.architecture).String("general.type", "model").String("general.name", shape.name);
  writer.Number("general.file_type", FileTypeOf(formats.layers));
  writer.Number<uint32_t>("general.quantization_version", 2);  // The version of the block formats.
  number("context_length", shape.context);
  number("embedding_length", shape.width);
  number("block_count", shape.layers);
  number("feed_forward_length", shape.feed_forward);
  number("attention.head_count", shape.heads);
  number("attention.head_count_kv", shape.kv_heads);
  number("attention.key_length", shape.head_size);
  number("attention.value_length", shape.head_size);
  number("rope.dimension_count", shape.head_size);
  number("vocab_size", shape.vocabulary);
  writer.Number(full("attention.layer_norm_rms_epsilon"), family.norm_epsilon).Number(full("rope.freq_base"), family.rope_base);
  if (shape.linear_factor > 0) {
    writer.String(full("rope.scaling.type"), "linear").Number(full("rope.scaling.factor"), static_cast<float>(shape.linear_factor));
  }
  if (shape.window == 0) return;
  number("attention.sliding_window", shape.window);
  number("attention.sliding_window_pattern", kWindowPeriod);
  writer.Number(full("rope.freq_base_swa"), kWindowRopeBase);
}

// Returns the parts of the configuration that decide which tensors there are.
ModelConfig PartsOf(const Shape& shape) {
  ModelConfig config;
  config.width = shape.width;
  config.feed_forward = shape.feed_forward;
  config.heads = shape.heads;
  config.kv_heads = shape.kv_heads;
  config.head_size = shape.head_size;
  config.vocabulary = shape.vocabulary;
  config.query_key_norm = shape.family->head_norms;
  config.post_norms = shape.family->post_norms;
  config.tied_head = shape.tied_head;
  LayerConfig layer;
  layer.biases.query = layer.biases.key = layer.biases.value = shape.family->biases;
  config.layers.assign(static_cast<size_t>(shape.layers), layer);
  return config;
}

BlockFormat FormatOf(const TensorNeed& need, bool tied_head, const ShapeFormats& formats) {
  if (need.vector) return BlockFormat::kF32;
  if (need.name == "output.weight") return formats.head;
  if (need.name == "token_embd.weight") return tied_head ? formats.head : formats.embedding;
  return formats.layers;
}

void PutTensors(const Shape& shape, const ShapeFormats& formats, GgufWriter& writer) {
  for (const TensorNeed& need : AllNeeds(PartsOf(shape))) {
    std::vector<int64_t> sizes = {need.columns};
    if (!need.vector) sizes.push_back(need.rows);
    writer.Tensor(need.name, FormatOf(need, shape.tied_head, formats), std::move(sizes));
  }
  if (shape.slow_factor > 0) writer.Tensor(kRopeFactors, BlockFormat::kF32, {shape.head_size / 2});
}

// Returns one factor per pair, computed as converters compute rope_freqs.weight. Pairs that turn often in the first context keep their
// speed. Pairs that turn less than once are slowed down by the whole factor. Factors between are mixed.
SharedBytes FrequencyFactors(const Shape& shape) {
  constexpr double kFirstContext = 8192, kFewTurns = 1, kManyTurns = 4;  // rope_scaling of config.json, the same in all sizes.
  std::vector<float> factors;
  for (int pair = 0; pair < shape.head_size / 2; ++pair) {
    const double speed = elementary::Pow(double{shape.family->rope_base}, -2.0 * pair / shape.head_size);
    const double turns = kFirstContext * speed / (2 * std::numbers::pi);
    const double kept = std::clamp((turns - kFewTurns) / (kManyTurns - kFewTurns), 0.0, 1.0);
    factors.push_back(static_cast<float>(1 / ((1 - kept) / shape.slow_factor + kept)));
  }
  std::vector<std::byte> bytes(factors.size() * sizeof(float));
  std::memcpy(bytes.data(), factors.data(), bytes.size());
  return SharedBytes(std::move(bytes));
}

}  // namespace

std::vector<KnownShape> KnownShapes() {
  std::vector<KnownShape> shapes;
  for (const Shape& shape : kShapes) shapes.push_back({shape.name, shape.source, shape.assumed, shape.differs});
  return shapes;
}

absl::StatusOr<std::unique_ptr<GgufFile>> OpenKnownShape(absl::string_view name, const ShapeFormats& formats) {
  const Shape* const shape = FindShape(name);
  if (shape == nullptr) return UnknownShape(name, "");
  const std::string path = absl::StrCat("shape ", name);
  GgufWriter writer;
  PutMetadata(*shape, formats, writer);
  PutTensors(*shape, formats, writer);
  const absl::StatusOr<GgufFile::Header> header = writer.HeaderOnly();
  if (!header.ok()) return absl::Status(header.status().code(), absl::StrCat(path, ": ", header.status().message()));
  ASSIGN_OR_RETURN(std::unique_ptr<GgufFile> file, GgufFile::ParseHeaders({*header}, path));
  if (shape->slow_factor > 0) RETURN_IF_ERROR(file->KeepTensor(kRopeFactors, FrequencyFactors(*shape)));
  return file;
}

absl::StatusOr<std::unique_ptr<GgufFile>> OpenShape(const std::string& name_or_path) {
  if (FindShape(name_or_path) != nullptr) return OpenKnownShape(name_or_path);
  struct stat status;
  if (absl::EndsWith(name_or_path, ".gguf") || stat(name_or_path.c_str(), &status) == 0) return GgufFile::Open(name_or_path);
  return UnknownShape(name_or_path, ", or the path of a GGUF file");
}

}  // namespace tessera

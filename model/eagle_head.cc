#include "tessera/model/eagle_head.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "tessera/base/elementary.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/text_file.h"
#include "tessera/model/internal/eagle_weights.h"
#include "tessera/tensor/reference_ops.h"

namespace tessera {
namespace {

constexpr int64_t kLongestConfiguration = int64_t{1} << 20;
constexpr int64_t kAlone = 1 << 16;   // Products in attention below this number run on one thread, without waking others.

// Returns a view of rows x columns numbers without content.
TensorView<float> Room(std::vector<float>& numbers, int64_t rows, int64_t columns) {
  numbers.resize(static_cast<size_t>(rows * columns));
  return {numbers.data(), rows, columns};
}

TensorView<float> ViewOf(std::vector<float>& numbers, int64_t rows) {
  return {numbers.data(), rows, rows == 0 ? 0 : static_cast<int64_t>(numbers.size()) / rows};
}

// Sums in eight parts, so that the compiler may use vectors of any width up to eight with the same bits.
float Dot(const float* a, const float* b, int64_t size) {
  constexpr int64_t kSums = 8;
  float sums[kSums] = {};
  int64_t i = 0;
  for (; i + kSums <= size; i += kSums) {
    for (int64_t s = 0; s < kSums; ++s) sums[s] += a[i + s] * b[i + s];
  }
  for (; i < size; ++i) sums[i % kSums] += a[i] * b[i];
  float all = 0;
  for (const float sum : sums) all += sum;
  return all;
}

void Norm(TensorView<const float> x, const std::vector<float>& weight, float epsilon, TensorView<float> y) {
  reference::RmsNorm(x, weight, epsilon, /*groups=*/1, y);
}

// The slots that a row attends to, in order.
struct SlotsOf {
  SlotsOf(const EagleHead::Row& row, int own) : row(row), own(own) {}
  int64_t count() const { return row.prefix + static_cast<int64_t>(row.path.size()) + 1; }
  int64_t operator[](int64_t i) const {
    if (i < row.prefix) return i;
    const auto in_path = static_cast<size_t>(i - row.prefix);
    return in_path < row.path.size() ? row.path[in_path] : own;
  }
  const EagleHead::Row& row;
  const int own;
};

// Keys and values of one head, slot by slot.
struct HeadOfSlots {
  const float* keys;
  const float* values;
  int64_t stride;
  int64_t size;
};

// out = softmax(query . keys / sqrt(size)) values. weights: room for a number per slot.
void AttendHead(const float* query, const HeadOfSlots& of, const SlotsOf& slots, float* weights, float* out) {
  const auto scale = static_cast<float>(1 / std::sqrt(static_cast<double>(of.size)));
  const int64_t count = slots.count();
  float largest = -HUGE_VALF;
  for (int64_t i = 0; i < count; ++i) {
    weights[i] = scale * Dot(query, of.keys + slots[i] * of.stride, of.size);
    largest = std::max(largest, weights[i]);
  }
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) {
    weights[i] = static_cast<float>(elementary::Exp(double{weights[i]} - double{largest}));
    sum += weights[i];
  }
  std::fill_n(out, of.size, 0.0f);
  for (int64_t i = 0; i < count; ++i) {
    const float* const value = of.values + slots[i] * of.stride;
    const auto share = static_cast<float>(weights[i] / sum);
    for (int64_t d = 0; d < of.size; ++d) out[d] += share * value[d];
  }
}

// silu(gate) * up, in the place of gate.
void GateBySilu(std::vector<float>& gate, const std::vector<float>& up) {
  for (size_t i = 0; i < gate.size(); ++i) {
    const double g = gate[i];
    gate[i] = static_cast<float>(g / (1 + elementary::Exp(-g)) * up[i]);
  }
}

// The file's configuration: its text and path.
struct NamedText { std::string path, text; };
absl::StatusOr<NamedText> ReadConfiguration(const std::string& tensors) {
  const std::string beside = tensors + ".json";
  const std::string in_folder = (std::filesystem::path(tensors).parent_path() / "config.json").string();
  for (const std::string& path : {beside, in_folder}) {
    std::error_code unknown;
    if (!std::filesystem::exists(path, unknown)) continue;
    ASSIGN_OR_RETURN(std::string text, ReadTextFile(path, kLongestConfiguration));
    return NamedText{path, std::move(text)};
  }
  return absl::NotFoundError(absl::StrCat(tensors, ": found no configuration, expected ", beside, " or ", in_folder));
}

}  // namespace

void EagleMemory::Truncate(int slots) {
  CHECK(slots >= 0 && slots <= slots_) << slots;
  slots_ = slots;
  for (std::vector<float>* numbers : {&keys_, &values_}) numbers->resize(static_cast<size_t>(slots) * static_cast<size_t>(width_));
}

void EagleMemory::EraseFirst(int count) {
  CHECK(count >= 0 && count <= slots_) << count;
  slots_ -= count;
  const auto gone = static_cast<int64_t>(count) * width_;
  for (std::vector<float>* numbers : {&keys_, &values_}) numbers->erase(numbers->begin(), numbers->begin() + gone);
}

int64_t EagleMemory::bytes() const { return static_cast<int64_t>((keys_.capacity() + values_.capacity()) * sizeof(float)); }

EagleHead::EagleHead(EagleShape shape, RopeTable rope, std::unique_ptr<EagleWeights> weights, std::vector<TokenId> tokens)
    : shape_(std::move(shape)), rope_(std::move(rope)), weights_(std::move(weights)), tokens_(std::move(tokens)) {}

EagleHead::~EagleHead() = default;

absl::StatusOr<std::shared_ptr<const EagleHead>> EagleHead::Open(const std::string& path, const ModelConfig& target) {
  std::error_code unknown;
  const bool is_folder = std::filesystem::is_directory(path, unknown);
  const std::string tensors = is_folder ? (std::filesystem::path(path) / "model.safetensors").string() : path;
  ASSIGN_OR_RETURN(const std::unique_ptr<SafetensorsFile> file, SafetensorsFile::Open(tensors));
  ASSIGN_OR_RETURN(const NamedText configuration, ReadConfiguration(tensors));
  ASSIGN_OR_RETURN(std::shared_ptr<const EagleHead> head, Read(*file, configuration.text, configuration.path, target));
  RETURN_IF_ERROR(file->CheckUnchanged());
  return head;
}

absl::StatusOr<std::shared_ptr<const EagleHead>> EagleHead::Read(const SafetensorsFile& file, absl::string_view configuration,
                                                                 absl::string_view source, const ModelConfig& target) {
  ASSIGN_OR_RETURN(EagleShape shape, ReadEagleShape(configuration, source, target));
  ASSIGN_OR_RETURN(std::unique_ptr<EagleWeights> weights, EagleWeights::Read(file, target, &shape));
  ASSIGN_OR_RETURN(std::vector<TokenId> tokens, ReadEagleTokens(file, shape.vocabulary, target.vocabulary));
  absl::StatusOr<RopeTable> rope = RopeTable::Create({.dimensions = shape.head_size, .base = shape.rope_base});
  if (!rope.ok()) return absl::Status(rope.status().code(), absl::StrCat(source, ": ", rope.status().message()));
  return std::shared_ptr<const EagleHead>(new EagleHead(std::move(shape), *std::move(rope), std::move(weights), std::move(tokens)));
}

int64_t EagleHead::bytes() const { return weights_->bytes() + static_cast<int64_t>(tokens_.size() * sizeof(TokenId)); }

bool EagleHead::has_embeddings() const { return weights_->embeddings.matrix.has_value(); }

void EagleHead::Embed(TokenId token, float* out) const { weights_->embeddings.matrix->ReadRow(token, out); }

absl::Status EagleHead::Fuse(TensorView<const float> states, TensorView<float> features, ThreadPool& pool, EagleMemory& memory) const {
  return MatMul(*weights_->fuse.matrix, states, features, pool, memory.work_.scratch);
}

absl::Status EagleHead::Run(absl::Span<const Row> rows, EagleMemory& memory, TensorView<float> out, ThreadPool& pool) const {
  const int before = memory.slots();
  const absl::Status status = RunRows(rows, memory, out, pool);
  if (!status.ok()) memory.Truncate(before);
  return status;
}

absl::Status EagleHead::RunRows(absl::Span<const Row> rows, EagleMemory& memory, TensorView<float> out, ThreadPool& pool) const {
  EagleMemory::Work& work = memory.work_;
  const auto count = static_cast<int64_t>(rows.size());
  if (count == 0) return absl::OkStatus();
  RETURN_IF_ERROR(Project(rows, memory, pool));
  Attend(rows, memory, pool);
  const TensorView<float> added = Room(work.added, count, shape_.width);
  RETURN_IF_ERROR(MatMul(*weights_->output.matrix, ViewOf(work.mixed, count), added, pool, work.scratch));
  for (int64_t r = 0; r < count; ++r) {
    for (int i = 0; i < shape_.width; ++i) out.row(r)[i] = rows[static_cast<size_t>(r)].feature[i] + added.row(r)[i];
  }
  return FeedForward(memory, out, pool);
}

// Computes the rows' queries, and stores the rows' keys and values in new slots.
absl::Status EagleHead::Project(absl::Span<const Row> rows, EagleMemory& memory, ThreadPool& pool) const {
  EagleMemory::Work& work = memory.work_;
  const auto count = static_cast<int64_t>(rows.size());
  const int width = shape_.width, before = memory.slots();
  const TensorView<float> input = Room(work.input, count, 2 * width), angles = Room(work.cos_sin, count, shape_.head_size);
  for (int64_t r = 0; r < count; ++r) {
    const Row& row = rows[static_cast<size_t>(r)];
    Norm({row.embedding, 1, width}, weights_->input_norm, shape_.norm_epsilon, {input.row(r), 1, width});
    Norm({row.feature, 1, width}, weights_->hidden_norm, shape_.norm_epsilon, {input.row(r) + width, 1, width});
    rope_.Fill(row.position, {angles.row(r), static_cast<size_t>(shape_.head_size)});
  }
  memory.width_ = shape_.keys();
  const auto size = static_cast<size_t>(before + count) * static_cast<size_t>(memory.width_);
  memory.keys_.resize(size), memory.values_.resize(size);
  memory.slots_ = before + static_cast<int>(count);
  const int64_t first = int64_t{before} * memory.width_;
  const TensorView<float> queries = Room(work.queries, count, shape_.queries());
  const TensorView<float> keys(memory.keys_.data() + first, count, memory.width_);
  const TensorView<float> values(memory.values_.data() + first, count, memory.width_);
  RETURN_IF_ERROR(MatMul(*weights_->query.matrix, input, queries, pool, work.scratch));
  RETURN_IF_ERROR(MatMul(*weights_->key.matrix, input, keys, pool, work.scratch));
  RETURN_IF_ERROR(MatMul(*weights_->value.matrix, input, values, pool, work.scratch));
  reference::RopeHalves(queries, shape_.heads, angles, queries);
  reference::RopeHalves(keys, shape_.kv_heads, angles, keys);
  return absl::OkStatus();
}

// Computes each head of each row as a whole on one thread.
void EagleHead::Attend(absl::Span<const Row> rows, EagleMemory& memory, ThreadPool& pool) const {
  EagleMemory::Work& work = memory.work_;
  const auto count = static_cast<int64_t>(rows.size());
  const int heads = shape_.heads, size = shape_.head_size, first = memory.slots() - static_cast<int>(count);
  const TensorView<float> queries = ViewOf(work.queries, count), mixed = Room(work.mixed, count, shape_.queries());
  int64_t longest = 0, products = 0;
  for (const Row& row : rows) {
    const int64_t seen = SlotsOf(row, /*own=*/0).count();
    longest = std::max(longest, seen), products += seen * shape_.queries();
  }
  const TensorView<float> scores = Room(work.scores, pool.threads(), longest);
  const auto attend_share = [&](int worker, int workers) {
    const Share share = ShareOf(static_cast<long>(count) * heads, worker, workers);
    for (long i = share.begin; i < share.end; ++i) {
      const long r = i / heads, head = i % heads, place = head / (heads / shape_.kv_heads) * size;
      const HeadOfSlots of = {memory.keys_.data() + place, memory.values_.data() + place, memory.width_, size};
      AttendHead(queries.row(r) + head * size, of, SlotsOf(rows[static_cast<size_t>(r)], first + static_cast<int>(r)), scores.row(worker),
                 mixed.row(r) + head * size);
    }
  };
  if (products <= kAlone) return attend_share(0, 1);
  pool.Run([&](int worker) { attend_share(worker, pool.threads()); });
}

// Adds the output of the feed-forward part to the rows.
absl::Status EagleHead::FeedForward(EagleMemory& memory, TensorView<float> out, ThreadPool& pool) const {
  EagleMemory::Work& work = memory.work_;
  const int64_t count = out.rows();
  const TensorView<float> normed = Room(work.normed, count, shape_.width), added = Room(work.added, count, shape_.width);
  const TensorView<float> gate = Room(work.gate, count, shape_.feed_forward), up = Room(work.up, count, shape_.feed_forward);
  Norm(out, weights_->post_norm, shape_.norm_epsilon, normed);
  RETURN_IF_ERROR(MatMul(*weights_->gate.matrix, normed, gate, pool, work.scratch));
  RETURN_IF_ERROR(MatMul(*weights_->up.matrix, normed, up, pool, work.scratch));
  GateBySilu(work.gate, work.up);
  RETURN_IF_ERROR(MatMul(*weights_->down.matrix, gate, added, pool, work.scratch));
  for (int64_t r = 0; r < count; ++r) {
    for (int i = 0; i < shape_.width; ++i) out.row(r)[i] += added.row(r)[i];
  }
  return absl::OkStatus();
}

absl::Status EagleHead::Logits(TensorView<const float> out, TensorView<float> logits, ThreadPool& pool, EagleMemory& memory) const {
  const TensorView<float> normed = Room(memory.work_.normed, out.rows(), shape_.width);
  Norm(out, weights_->norm, shape_.norm_epsilon, normed);
  return MatMul(*weights_->head.matrix, normed, logits, pool, memory.work_.scratch);
}

}  // namespace tessera

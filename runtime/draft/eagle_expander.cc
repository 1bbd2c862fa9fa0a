#include "tessera/runtime/draft/eagle_expander.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "glog/logging.h"
#include "tessera/base/elapsed.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/files/tensor_names.h"
#include "tessera/quant/packed_matrix.h"

namespace tessera {
namespace {

constexpr int kTogether = 128;        // Rows of the sequence per pass of the head.
constexpr int kMeasuredRows = 64;     // Larger passes read a prompt.

// Reads a row of the embedding table from the panel that holds the row.
absl::Status ReadRow(const TensorPart& panel, WeightEncoding encoding, absl::Span<const std::byte> bytes, int64_t row,
                     TensorView<float> out) {
  if (encoding == WeightEncoding::kFloat32) {
    const auto size = static_cast<size_t>(out.columns()) * sizeof(float);
    std::memcpy(out.data(), bytes.data() + static_cast<size_t>(row) * size, size);
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const PackedMatrix matrix, PackedMatrix::Open(panel.weight.spec, bytes));
  matrix.ReadRow(row, out.data());
  return absl::OkStatus();
}

}  // namespace

TokenEmbeddings EmbeddingsOf(const LoadedModel& model) {
  return [&model, table = EmbeddingNeed(model.config()).name](absl::Span<const TokenId> tokens, TensorView<float> out) -> absl::Status {
    const float scale = model.config().embedding_scale;
    for (size_t i = 0; i < tokens.size(); ++i) {
      const TensorPart panel = model.layout().PanelOf(table, tokens[i]);
      const UnitPart wanted = {panel.unit, panel.offset, panel.bytes};
      ASSIGN_OR_RETURN(const std::vector<WeightLease> leases, model.weights().AcquireParts({&wanted, 1}));
      const TensorView<float> row = out.Rows(static_cast<int64_t>(i), 1);
      RETURN_IF_ERROR(ReadRow(panel, model.layout().encoding(), leases[0].bytes(), tokens[i] - panel.first_row, row));
      for (int64_t c = 0; c < row.columns(); ++c) row.data()[c] *= scale;
    }
    return absl::OkStatus();
  };
}

EagleExpander::Options EagleExpander::OptionsFor(const EngineCore& core) {
  return {.embeddings = EmbeddingsOf(core.model()), .pool = &core.pool(), .clock = core.options().clock, .timeline = core.timeline()};
}

EagleExpander::EagleExpander(std::shared_ptr<const EagleHead> head, Options options)
    : head_(std::move(head)), options_(std::move(options)), clock_(GivenOrRealClock(options_.clock)), width_(head_->shape().width) {
  CHECK(options_.pool != nullptr && options_.most_tokens >= 1);
  CHECK(head_->has_embeddings() || options_.embeddings != nullptr);
}

absl::Status EagleExpander::Begin(absl::Span<const TokenId> text) {
  CHECK(!text.empty());
  ForgetTree();
  text_.assign(text.begin(), text.end());
  // Rows that the last sequence had, too. The root's row is computed again, since its output is not kept.
  size_t same = 0;
  while (same < rows_.size() && rows_[same].index < Root() && text_[static_cast<size_t>(rows_[same].index)] == rows_[same].token) ++same;
  rows_.resize(same);
  memory_.Truncate(static_cast<int>(same));
  ForgetOtherText();
  return absl::OkStatus();
}

void EagleExpander::ForgetOtherText() {
  const int known = std::clamp(Root() - features_begin_, 0, static_cast<int>(feature_tokens_.size()));
  feature_tokens_.resize(static_cast<size_t>(known));
  features_.resize(feature_tokens_.size() * static_cast<size_t>(width_));
  // The newest hidden states count, back to the first token that differs from the sequence.
  int same = known;
  const auto begin = static_cast<size_t>(features_begin_);
  while (same > 0 && feature_tokens_[static_cast<size_t>(same) - 1] == text_[begin + static_cast<size_t>(same) - 1]) --same;
  ForgetFeatures(features_begin_ + same);
}

const float* EagleExpander::FeatureOf(int index) const {
  const int place = index - features_begin_;
  return place >= 0 && place < static_cast<int>(feature_tokens_.size()) ? &features_[static_cast<size_t>(place * width_)] : nullptr;
}

void EagleExpander::ForgetFeatures(int before) {
  const int gone = std::clamp(before - features_begin_, 0, static_cast<int>(feature_tokens_.size()));
  feature_tokens_.erase(feature_tokens_.begin(), feature_tokens_.begin() + gone);
  features_.erase(features_.begin(), features_.begin() + gone * width_);
  features_begin_ += gone;
}

absl::StatusOr<std::vector<TopTokens>> EagleExpander::Expand(const TokenTree& tree, absl::Span<const int> nodes, int most) {
  TimelineScope scope(options_.timeline, Zone::kDraft, 0);
  const int64_t began = clock_.NowNanos(), rows_before = text_rows_ + tree_rows_;
  if (std::find(nodes.begin(), nodes.end(), TokenTree::kRoot) != nodes.end()) {
    CHECK_EQ(tree[TokenTree::kRoot].token, text_.back());
    RETURN_IF_ERROR(ComputeText());
  }
  const int slots = memory_.slots();
  const size_t outs = outs_.size();
  absl::Status computed = ComputeNodes(tree, nodes);
  absl::StatusOr<std::vector<TopTokens>> said = computed.ok() ? Say(nodes, most) : computed;
  if (!said.ok()) {
    memory_.Truncate(slots);
    outs_.resize(outs);
    for (const int node : nodes) nodes_.erase(node);
    return said;
  }
  const int64_t rows = text_rows_ + tree_rows_ - rows_before;
  scope.SetDetail(static_cast<int32_t>(rows));
  if (rows >= 1 && rows <= kMeasuredRows) {
    costs_.AddPass({.rows = static_cast<int>(rows)}, ElapsedSeconds(began, clock_.NowNanos()));
  }
  return said;
}

// Computes rows of all tokens with known features, up to the root.
absl::Status EagleExpander::ComputeText() {
  CHECK_EQ(memory_.slots(), held());
  const int next = rows_.empty() ? 1 : rows_.back().index + 1;
  const int end = std::min(Root(), features_begin_ + static_cast<int>(feature_tokens_.size())) + 1;
  const int first = std::max({next, features_begin_ + 1, end - options_.most_tokens});
  for (int begin = first; begin < end; begin += kTogether) {
    RETURN_IF_ERROR(ComputeSome(begin, std::min(end, begin + kTogether)));
    if (held() <= options_.most_tokens) continue;
    // A quarter of the rows goes at a time, since the other rows move.
    const int gone = held() - std::max(options_.most_tokens * 3 / 4, 1);
    memory_.EraseFirst(gone);
    rows_.erase(rows_.begin(), rows_.begin() + gone);
  }
  if (!rows_.empty()) ForgetFeatures(rows_.back().index - 1);
  return absl::OkStatus();
}

absl::Status EagleExpander::ComputeSome(int first, int end) {
  const auto count = static_cast<size_t>(end - first);
  const absl::Span<const TokenId> tokens = absl::MakeConstSpan(text_).subspan(static_cast<size_t>(first), count);
  std::vector<EagleHead::Row> rows(count);
  for (size_t i = 0; i < count; ++i) {
    const int before = first + static_cast<int>(i) - 1;   // The token's number in the sequence is the row's position.
    rows[i] = {.feature = FeatureOf(before), .position = before, .prefix = memory_.slots() + static_cast<int>(i)};
  }
  RETURN_IF_ERROR(Run(tokens, absl::MakeSpan(rows), new_outs_));
  for (size_t i = 0; i < count; ++i) rows_.push_back({first + static_cast<int>(i), tokens[i]});
  last_out_.assign(new_outs_.end() - width_, new_outs_.end());
  text_rows_ += static_cast<int64_t>(count);
  return absl::OkStatus();
}

// Computes rows of all `nodes` except the root. Leaves out nodes whose parent's output is not known, since the model has not told the
// hidden states before the root.
absl::Status EagleExpander::ComputeNodes(const TokenTree& tree, absl::Span<const int> nodes) {
  std::vector<int> able;
  for (const int node : nodes) {
    if (node != TokenTree::kRoot && OutOf(tree[node].parent) != nullptr) able.push_back(node);
  }
  if (able.empty()) return absl::OkStatus();
  std::vector<TokenId> tokens(able.size());
  std::vector<std::vector<int>> paths(able.size());
  std::vector<EagleHead::Row> rows(able.size());
  const int first = memory_.slots();
  for (size_t i = 0; i < able.size(); ++i) {
    const TokenTree::Node& node = tree[able[i]];
    tokens[i] = node.token;
    if (node.parent != TokenTree::kRoot) paths[i] = PathOf(node.parent);
    rows[i] = {.feature = OutOf(node.parent), .position = Root() - 1 + node.depth, .prefix = held(), .path = paths[i]};
  }
  RETURN_IF_ERROR(Run(tokens, absl::MakeSpan(rows), new_outs_));
  outs_.insert(outs_.end(), new_outs_.begin(), new_outs_.end());
  for (size_t i = 0; i < able.size(); ++i) nodes_[able[i]] = {first + static_cast<int>(i), tree[able[i]].parent};
  tree_rows_ += static_cast<int64_t>(able.size());
  return absl::OkStatus();
}

std::vector<int> EagleExpander::PathOf(int node) const {
  std::vector<int> path;
  for (; node != TokenTree::kRoot; node = nodes_.at(node).parent) path.push_back(nodes_.at(node).slot);
  std::reverse(path.begin(), path.end());
  return path;
}

absl::Status EagleExpander::Run(absl::Span<const TokenId> tokens, absl::Span<EagleHead::Row> rows, std::vector<float>& out) {
  const auto count = static_cast<int64_t>(rows.size());
  embedded_.resize(static_cast<size_t>(count * width_));
  out.resize(static_cast<size_t>(count * width_));
  const TensorView<float> embedded(embedded_.data(), count, width_);
  if (!head_->has_embeddings()) RETURN_IF_ERROR(options_.embeddings(tokens, embedded));
  for (int64_t i = 0; i < count; ++i) {
    if (head_->has_embeddings()) head_->Embed(tokens[static_cast<size_t>(i)], embedded.row(i));
    rows[static_cast<size_t>(i)].embedding = embedded.row(i);
  }
  return head_->Run(rows, memory_, {out.data(), count, width_}, *options_.pool);
}

const float* EagleExpander::OutOf(int node) const {
  if (node == TokenTree::kRoot) return KnowsRoot() ? last_out_.data() : nullptr;
  const auto found = nodes_.find(node);
  return found == nodes_.end() ? nullptr : &outs_[static_cast<size_t>(found->second.slot - held()) * static_cast<size_t>(width_)];
}

absl::StatusOr<std::vector<TopTokens>> EagleExpander::Say(absl::Span<const int> nodes, int most) {
  std::vector<TopTokens> said(nodes.size());
  std::vector<size_t> places;
  new_outs_.clear();
  for (size_t i = 0; i < nodes.size(); ++i) {
    const float* const out = OutOf(nodes[i]);
    if (out == nullptr) continue;
    new_outs_.insert(new_outs_.end(), out, out + width_);
    places.push_back(i);
  }
  const auto count = static_cast<int64_t>(places.size());
  const int64_t vocabulary = head_->shape().vocabulary;
  logits_.resize(static_cast<size_t>(count * vocabulary));
  const TensorView<float> logits(logits_.data(), count, vocabulary);
  RETURN_IF_ERROR(head_->Logits({new_outs_.data(), count, width_}, logits, *options_.pool, memory_));
  for (int64_t i = 0; i < count; ++i) {
    said[places[static_cast<size_t>(i)]] = Likeliest({logits.row(i), static_cast<size_t>(vocabulary)}, most);
  }
  return said;
}

// Returns the likeliest tokens. Numbers beyond FP32 give no distribution: then the result is empty.
TopTokens EagleExpander::Likeliest(absl::Span<const float> logits, int most) const {
  TopTokens top;
  for (const TopToken& entry : TopTokensOf(logits, most)) {
    if (entry.probability > 0 && entry.probability <= 1) top.push_back({head_->TokenOf(entry.token), entry.probability});
  }
  return top;
}

absl::Status EagleExpander::Commit(const TokenTree& /*tree*/, absl::Span<const TokenId> emitted) {
  ForgetTree();
  text_.insert(text_.end(), emitted.begin(), emitted.end());
  return absl::OkStatus();
}

void EagleExpander::ForgetTree() {
  memory_.Truncate(held());
  nodes_.clear();
  outs_.clear();
}

void EagleExpander::BeginPass(int rows) { told_.assign(static_cast<size_t>(rows) * static_cast<size_t>(head_->shape().fused()), 0.0f); }

void EagleExpander::Take(int index, int row, absl::Span<const float> state) {
  CHECK_EQ(static_cast<int64_t>(state.size()), width_);
  const int64_t place = static_cast<int64_t>(row) * head_->shape().fused() + index * width_;
  CHECK_LE(place + width_, static_cast<int64_t>(told_.size()));
  std::copy(state.begin(), state.end(), told_.begin() + place);
}

void EagleExpander::EndPass(int first, absl::Span<const TokenId> tokens, absl::Span<const int> rows) {
  CHECK_EQ(tokens.size(), rows.size());
  const int end = features_begin_ + static_cast<int>(feature_tokens_.size());
  // Otherwise there is a gap, or all known features are outdated.
  const bool goes_on = first >= features_begin_ && first <= end;
  const int kept = goes_on ? first - features_begin_ : 0;
  if (!goes_on && first > end && rows.empty()) return;
  if (!goes_on) features_begin_ = first;
  feature_tokens_.resize(static_cast<size_t>(kept));
  features_.resize(feature_tokens_.size() * static_cast<size_t>(width_));
  if (rows.empty()) return;
  const auto fused = static_cast<size_t>(head_->shape().fused());
  std::vector<float> states;
  for (const int row : rows) {
    CHECK_LE((static_cast<size_t>(row) + 1) * fused, told_.size());
    states.insert(states.end(), told_.begin() + static_cast<int64_t>(row * fused), told_.begin() + static_cast<int64_t>((row + 1) * fused));
  }
  const auto count = static_cast<int64_t>(rows.size());
  const TimelineScope scope(options_.timeline, Zone::kDraft, static_cast<int32_t>(count));
  features_.resize(features_.size() + static_cast<size_t>(count * width_));
  const absl::Status done = head_->Fuse({states.data(), count, static_cast<int64_t>(fused)},
                                        {features_.data() + kept * width_, count, width_}, *options_.pool, memory_);
  feature_tokens_.insert(feature_tokens_.end(), tokens.begin(), tokens.end());
  const int now = static_cast<int>(feature_tokens_.size());
  // If memory ended, all features are dropped, as if nothing had been told.
  ForgetFeatures(features_begin_ + (done.ok() ? now - options_.most_tokens : now));
}

int64_t EagleExpander::bytes() const {
  const auto floats = [](const std::vector<float>& numbers) { return static_cast<int64_t>(numbers.capacity() * sizeof(float)); };
  return head_->bytes() + memory_.bytes() + floats(features_) + floats(told_) + floats(outs_) + floats(embedded_) + floats(logits_) +
         floats(new_outs_) + floats(last_out_) + static_cast<int64_t>(text_.capacity() * sizeof(TokenId));
}

// A vector may have capacity for twice its size.
int64_t EagleExpander::MostBytes(const EagleShape& shape, int most_tokens) {
  const int64_t text = int64_t{2} * (int64_t{most_tokens} + kTogether + kMeasuredRows) * (2 * shape.keys() + shape.width);
  const int64_t pass = int64_t{2} * kDefaultRowCapacity * shape.fused();
  const int64_t trees = int64_t{kMeasuredRows} * (shape.vocabulary + 8 * int64_t{shape.width});
  return (text + pass + trees) * static_cast<int64_t>(sizeof(float));
}

}  // namespace tessera

#include "tessera/spec/drafters/calibrated_tree.h"

#include <algorithm>

#include "glog/logging.h"
#include "tessera/base/half.h"
#include "tessera/base/random.h"

namespace tessera {
namespace {

constexpr TokenId kTokens = 1 << 24;   // Tokens that fit in three bytes. Vocabularies are far smaller.

uint64_t HashOf(absl::Span<const TokenId> text) {
  uint64_t hash = 0;
  for (const TokenId token : text) hash = MixBits(hash ^ static_cast<uint64_t>(token));
  return hash;
}

TokenId TokenOf(uint32_t key) { return static_cast<TokenId>(key >> 8); }

}  // namespace

uint32_t CalibratedTree::KeyOf(TokenId before, TokenId token) {
  return static_cast<uint32_t>(token) << 8 | static_cast<uint32_t>(MixBits(static_cast<uint64_t>(before)) & 0xFF);
}

CalibratedTree::Sample CalibratedTree::Sampled(uint32_t key, const TopTokens& top) {
  Sample sample = {.key = key, .successors = {}, .probabilities = {}};
  size_t count = 0;
  for (const TopToken& entry : top) {
    const uint16_t probability = FloatToHalf(std::min(entry.probability, 1.0f));
    if (count == kSuccessors) break;
    if (entry.token < 0 || entry.token >= kTokens || !(HalfToFloat(probability) > 0)) continue;
    for (int byte = 0; byte < 3; ++byte) sample.successors[count][byte] = static_cast<uint8_t>(entry.token >> (8 * byte));
    sample.probabilities[count++] = probability;
  }
  return sample;
}

const CalibratedTree::Sample* CalibratedTree::Find(TokenId before, TokenId token) const {
  const auto by_token = [](const Sample& sample, TokenId token) { return TokenOf(sample.key) < token; };
  auto end = std::lower_bound(samples_.begin(), samples_.end(), token + 1, by_token);
  const Sample* last = nullptr;
  for (; end != samples_.begin() && TokenOf((end - 1)->key) == token; --end) {
    const Sample& sample = *(end - 1);
    if (sample.key == KeyOf(before, token)) return &sample;
    if (last == nullptr) last = &sample;
  }
  return last;
}

void CalibratedTree::Begin(absl::Span<const TokenId> text) {
  const bool goes_on = text.size() >= learnt_length_ && HashOf(text.first(learnt_length_)) == learnt_text_;
  if (!goes_on) {
    std::vector<Sample>().swap(samples_);
    learnt_length_ = 0;
    learnt_text_ = HashOf({});
  }
  text_.assign(text.begin(), text.end());
  before_root_ = text.size() > 1 ? text[text.size() - 2] : 0;
}

void CalibratedTree::LearnPrompt(int first, absl::Span<const TopTokens> top) {
  CHECK(first >= 0 && first + top.size() <= text_.size()) << "no part of the text";
  std::vector<Sample> samples;
  for (size_t place = std::max<size_t>(first, learnt_length_); place < first + top.size(); ++place) {
    const TopTokens& after = top[place - first];
    if (after.empty() || text_[place] < 0 || text_[place] >= kTokens) continue;
    samples.push_back(Sampled(KeyOf(place > 0 ? text_[place - 1] : 0, text_[place]), after));
  }
  samples_.reserve(samples_.size() + samples.size());  // Not more: memory held counts.
  samples_.insert(samples_.end(), samples.begin(), samples.end());
  std::stable_sort(samples_.begin(), samples_.end(), [](const Sample& a, const Sample& b) { return TokenOf(a.key) < TokenOf(b.key); });
  learnt_length_ = std::max(learnt_length_, first + top.size());
  learnt_text_ = HashOf(absl::MakeConstSpan(text_).first(learnt_length_));
}

absl::Status CalibratedTree::Propose(const DraftBudget& budget, TokenTree& tree) {
  struct Found {
    int parent;            // In `found`; -1 for the root.
    TokenId token;
    float probability, path_probability;
    int node;
  };
  std::vector<Found> found;
  const auto search = [&](int parent, TokenId before, TokenId token, float path_probability) {
    const Sample* const sample = Find(before, token);
    for (int i = 0; sample != nullptr && i < kSuccessors && sample->probabilities[i] != 0; ++i) {
      const std::array<uint8_t, 3>& bytes = sample->successors[i];
      const float probability = HalfToFloat(sample->probabilities[i]);
      found.push_back({parent, bytes[0] | bytes[1] << 8 | bytes[2] << 16, probability, path_probability * probability, 0});
    }
  };
  const TokenId root = tree[TokenTree::kRoot].token;
  if (budget.max_depth >= 1) search(-1, before_root_, root, 1);
  const int firsts = static_cast<int>(found.size());
  for (int i = 0; i < firsts && budget.max_depth >= kDepth; ++i) search(i, root, found[i].token, found[i].path_probability);

  std::vector<int> order(found.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
  // A child is no likelier than the parent, and comes after the parent if equal.
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return found[a].path_probability > found[b].path_probability; });
  const int most = tree.size() + budget.max_nodes;
  for (const int i : order) {
    if (tree.size() >= most) break;
    found[i].node = tree.Add(found[i].parent < 0 ? TokenTree::kRoot : found[found[i].parent].node, found[i].token, found[i].probability);
  }
  return absl::OkStatus();
}

void CalibratedTree::Commit(const TokenTree& tree, const Verdict& verdict) {
  std::vector<TokenId>().swap(text_);
  const size_t emitted = verdict.emitted.size();
  if (emitted > 0) before_root_ = emitted > 1 ? verdict.emitted[emitted - 2] : tree[TokenTree::kRoot].token;
}

// Counts three parts: the list that grows, the samples of a prompt that are added to the list, and the memory of sorting.
int64_t CalibratedTree::MostBytes(int64_t tokens) {
  return tokens * static_cast<int64_t>(5 * sizeof(Sample) + 2 * sizeof(TokenId));
}

int64_t CalibratedTree::bytes() const {
  return static_cast<int64_t>(text_.capacity() * sizeof(TokenId) + samples_.capacity() * sizeof(Sample));
}

}  // namespace tessera

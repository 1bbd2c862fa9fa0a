#include "tessera/spec/drafters/prompt_lookup.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "tessera/base/random.h"

namespace tessera {

struct PromptLookup::Places {
  using ByKey = absl::flat_hash_map<uint64_t, int>;
  std::vector<ByKey> of_length;   // [key length - 1]: where the text went on after a key, last.
};

PromptLookup::PromptLookup(const Options& options)
    : options_(options), places_(new Places{std::vector<Places::ByKey>(static_cast<size_t>(options.longest_key))}) {}
PromptLookup::~PromptLookup() = default;

uint64_t PromptLookup::KeyEndingAt(size_t end, int length) const {
  uint64_t key = 0;
  for (size_t i = end - length; i < end; ++i) key = MixBits(key ^ static_cast<uint64_t>(text_[i]));
  return key;
}

// Notes a place once a token follows the place, so a key's latest place is never the end of the text.
void PromptLookup::Append(TokenId token) {
  const int most = static_cast<int>(std::min<size_t>(options_.longest_key, text_.size()));
  for (int length = 1; length <= most; ++length) {
    places_->of_length[length - 1][KeyEndingAt(text_.size(), length)] = static_cast<int>(text_.size());
  }
  text_.push_back(token);
}

void PromptLookup::Begin(absl::Span<const TokenId> text) {
  text_.clear();
  for (Places::ByKey& places : places_->of_length) places.clear();
  for (const TokenId token : text) Append(token);
}

absl::Status PromptLookup::Propose(const DraftBudget& budget, TokenTree& tree) {
  const int most = static_cast<int>(std::min<size_t>(options_.longest_key, text_.size()));
  for (int length = most; length >= 1; --length) {
    const Places::ByKey& places = places_->of_length[length - 1];
    const auto found = places.find(KeyEndingAt(text_.size(), length));
    if (found == places.end()) continue;
    const size_t begin = found->second,
                 end = std::min<size_t>(text_.size(), begin + std::min({options_.length, budget.max_nodes, budget.max_depth}));
    int node = TokenTree::kRoot;
    for (size_t i = begin; i < end; ++i) node = tree.Add(node, text_[i], length > 1 ? 0.8f : 0.5f);
    return absl::OkStatus();
  }
  return absl::OkStatus();
}

void PromptLookup::Commit(const TokenTree& /*tree*/, const Verdict& verdict) {
  for (const TokenId token : verdict.emitted) Append(token);
}

// A table doubles when 7/8 full, a list when full. For a moment both the old and the new one exist.
int64_t PromptLookup::MostBytes(const Options& options, int64_t tokens) {
  constexpr int64_t kEntryBytes = sizeof(std::pair<uint64_t, int>) + 1;
  const int64_t table = 3 * (tokens * 8 / 7 + 8) * kEntryBytes;
  return options.longest_key * table + 3 * tokens * static_cast<int64_t>(sizeof(TokenId));
}

int64_t PromptLookup::bytes() const {
  int64_t bytes = static_cast<int64_t>(text_.capacity() * sizeof(TokenId));
  for (const Places::ByKey& places : places_->of_length) {
    bytes += static_cast<int64_t>(places.capacity() * (sizeof(std::pair<uint64_t, int>) + 1));
  }
  return bytes;
}

}  // namespace tessera

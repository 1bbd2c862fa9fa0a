#include "tessera/runtime/engine/prefix_index.h"

#include <algorithm>
#include <utility>

namespace tessera {

int CommonPrefix(absl::Span<const TokenId> a, absl::Span<const TokenId> b) {
  const size_t most = std::min(a.size(), b.size());
  return static_cast<int>(std::mismatch(a.begin(), a.begin() + most, b.begin()).first - a.begin());
}

std::unique_ptr<CachedText> ForkPrefix(const CachedText& text, int length) {
  length = std::min(length, text.held());
  if (length <= 0) return nullptr;
  absl::StatusOr<std::unique_ptr<CachedText>> fork = text.Fork(length);
  if (!fork.ok()) return nullptr;
  (*fork)->MakeExtendable();
  if ((*fork)->held() < length) return nullptr;  // The text's windows are given up.
  return *std::move(fork);
}

void PrefixIndex::Keep(std::unique_ptr<CachedText> text, AdapterKey adapter) {
  text->Truncate(text->held());
  if (text->length() == 0) return;
  for (auto entry = entries_.begin(); entry != entries_.end(); ++entry) {
    if (entry->adapter != adapter) continue;
    const int common = CommonPrefix(entry->text->tokens(), text->tokens());
    if (common == text->length() && ForkPrefix(*entry->text, common) != nullptr) {
      return entries_.splice(entries_.begin(), entries_, entry);
    }
    if (common < entry->text->length() || ForkPrefix(*text, common) == nullptr) continue;
    entries_.erase(entry);
    break;
  }
  entries_.push_front({std::move(text), adapter});
}

int PrefixIndex::Longest(absl::Span<const TokenId> tokens, AdapterKey adapter) const {
  int longest = 0;
  for (const Entry& entry : entries_) {
    if (entry.adapter == adapter) longest = std::max(longest, CommonPrefix(entry.text->tokens(), tokens));
  }
  return std::min(longest, static_cast<int>(tokens.size()) - 1);
}

std::unique_ptr<CachedText> PrefixIndex::Take(absl::Span<const TokenId> tokens, AdapterKey adapter) {
  // Tries the longest prefix first, and the next one if the windows of the longest are given up.
  std::vector<std::pair<int, std::list<Entry>::iterator>> found;
  for (auto entry = entries_.begin(); entry != entries_.end(); ++entry) {
    if (entry->adapter == adapter) found.emplace_back(CommonPrefix(entry->text->tokens(), tokens), entry);
  }
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  for (const auto& [common, entry] : found) {
    const int length = std::min(common, static_cast<int>(tokens.size()) - 1);
    if (length <= 0) break;
    if (std::unique_ptr<CachedText> begun = ForkPrefix(*entry->text, length); begun != nullptr) {
      entries_.splice(entries_.begin(), entries_, entry);
      return begun;
    }
  }
  return nullptr;
}

void PrefixIndex::Abandon() {
  for (Entry& entry : entries_) entry.text->Abandon();
}

int64_t PrefixIndex::held() const {
  int64_t held = 0;
  for (const Entry& entry : entries_) held += entry.text->held();
  return held;
}

bool PrefixIndex::EvictOldest() {
  if (entries_.empty()) return false;
  entries_.pop_back();
  return true;
}

}  // namespace tessera

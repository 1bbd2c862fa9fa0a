// Texts written with drafters that a fuzz input spells. The texts must equal those of plain decoding.
//
//   DraftedTexts texts(bytes);             // a model, drafters of the registry and a history, as the bytes spell them
//   texts.WriteAll();                      // each step is checked
//   texts.trees() == again.trees();        // for the same bytes
#pragma once

#include <algorithm>
#include <iterator>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "tessera/spec/drafters/composite_drafter.h"
#include "tessera/spec/drafters/suffix_drafter.h"
#include "tessera/spec/speculation/drafter_registry.h"
#include "tessera/tests/fuzz/draft_checks.h"

// Exists only under the address sanitizer.
extern "C" size_t __sanitizer_get_current_allocated_bytes() __attribute__((weak));

namespace tessera {

// Returns the allocated bytes; 0 where allocations are not counted.
inline int64_t AllocatedBytes() {
  return __sanitizer_get_current_allocated_bytes == nullptr ? 0 : static_cast<int64_t>(__sanitizer_get_current_allocated_bytes());
}

// Lists as for --speculate.
inline constexpr const char* kDrafterLists[] = {"auto",       "lookup", "suffix",        "recycling",
                                                "calibrated", "reuse",  "suffix,lookup", "recycling,calibrated,reuse"};

// Zeros, which follow the end of an input, spell the first entry of each list: a step that drafts.
inline int SpellContext(FuzzBytes& bytes) {
  static constexpr int kTokens[] = {16, 8, 24, 40};
  return kTokens[bytes.Below(4)];
}

inline DraftBudget SpellBudget(FuzzBytes& bytes) {
  static constexpr int kNodes[] = {12, 0, 1, 2, 3, 7, 23, 31}, kDepths[] = {1 << 20, 0, 1, 2, 3, 4, 6, 12};
  const int nodes = kNodes[bytes.Below(8)];
  return {.max_nodes = nodes, .max_depth = kDepths[bytes.Below(8)]};
}

// Returns a node that may be added to the tree below `text`: the model's next token after a node, or any other token.
inline TokenTree::Node SpellNode(FuzzBytes& bytes, const SpelledModel& model, const Text& text, const TokenTree& tree) {
  static constexpr float kProbabilities[] = {0.5f,  1.0f,   0.9f,   0.25f,
                                             0.01f, 0.997f, 1e-30f, std::numeric_limits<float>::denorm_min()};
  const int parent = tree.size() - 1 - bytes.Below(std::min(tree.size(), 256)), other = bytes.Below(model.vocabulary() + 1);
  const TokenId token = other > 0 ? other - 1 : model.Next(Joined(text, tree.PathTo(parent))).token;
  const float probability = kProbabilities[bytes.Below(8)];
  return {token, parent, tree[parent].depth + 1, probability, bytes.Below(3)};
}

// Returns some nodes, with the parents of all: input for Pick.
inline std::vector<int> SpellSome(FuzzBytes& bytes, const TokenTree& tree) {
  std::vector<bool> chosen(tree.size(), true);
  std::vector<int> nodes;
  for (int node = 1; node < tree.size(); ++node) {
    chosen[node] = chosen[tree[node].parent] && bytes.Below(4) < 3;
    if (chosen[node]) nodes.push_back(node);
  }
  return nodes;
}

// Drafts the tokens that the bytes spell, and fails when the bytes say so.
class SpelledDrafter : public Drafter {
 public:
  SpelledDrafter(FuzzBytes& bytes, const SpelledModel& model) : bytes_(bytes), model_(model) {}
  absl::string_view name() const override { return "spelled"; }
  void Begin(absl::Span<const TokenId> text) override { text_.assign(text.begin(), text.end()); }
  absl::Status Propose(const DraftBudget& budget, TokenTree& tree) override {
    if (bytes_.Below(8) == 7) return absl::UnavailableError("as it was spelled");
    for (int left = bytes_.Below(std::min(budget.max_nodes, 6) + 1); left > 0; --left) {
      const TokenTree::Node node = SpellNode(bytes_, model_, text_, tree);
      if (node.depth <= budget.max_depth) tree.Add(node.parent, node.token, node.probability);
    }
    return absl::OkStatus();
  }
  void Commit(const TokenTree& /*tree*/, const Verdict& verdict) override { text_ = Joined(std::move(text_), verdict.emitted); }
  int64_t bytes() const override { return 0; }

 private:
  FuzzBytes& bytes_;
  const SpelledModel& model_;
  Text text_;
};

// Opens a store with so little room that old texts are evicted. The store's folder does not exist, and nothing is saved.
inline std::shared_ptr<HistoryStore> OpenSmallHistory(const SpelledModel& model) {
  auto store = HistoryStore::Open("no/such/folder", "fuzz", {.sum = {{1}}, .size = model.vocabulary()},
                                  {.max_bytes = int64_t{64} << 10, .keep_prompts = true});
  CHECK(store.ok()) << store.status();
  return *std::move(store);
}

class DraftedTexts {
 public:
  explicit DraftedTexts(FuzzBytes& bytes)
      : bytes_(bytes), model_(bytes), size_{.context = SpellContext(bytes), .vocabulary = model_.vocabulary()},
        store_(bytes.Below(2) == 1 ? OpenSmallHistory(model_) : nullptr) {
    Change([&] { MakeDrafter(); });
  }

  void WriteAll() {
    for (int left = 1 + bytes_.Below(3); left > 0; --left) Write(model_.Prompt(bytes_, size_.context / 2));
  }

  const std::string& trees() const { return trees_; }
  const SpelledModel& model() const { return model_; }
  Drafter& drafter() { return *drafter_; }

 private:
  // An index below kLists selects one of kDrafterLists.
  static constexpr int kLists = std::size(kDrafterLists), kShortMemory = kLists, kWithSpelled = kLists + 1, kAll = kLists + 2;
  static constexpr int64_t kObjects = 2048;   // Memory that bytes() leaves out: an object, and empty containers.

  void MakeDrafter() {
    std::vector<std::unique_ptr<Drafter>> drafters;
    const int which = bytes_.Below(kAll);
    if (which == kShortMemory) {
      const int most = 1 + bytes_.Below(24);
      drafters.push_back(std::make_unique<SuffixDrafter>(SuffixDrafter::Options{.history = store_, .max_tokens = most}));
      most_bytes_ = most * SuffixAutomaton::kMostBytesPerToken;
    } else {
      const char* const list = kDrafterLists[which < kLists ? which : 0];
      const DrafterRegistry registry = DrafterRegistry::BuiltIn(store_);
      drafters = *registry.Make(list, size_);
      most_bytes_ = (*registry.MostBytes(list))(size_);
      if (which == kWithSpelled) drafters.push_back(std::make_unique<SpelledDrafter>(bytes_, model_));
    }
    for (const std::unique_ptr<Drafter>& drafter : drafters) members_.push_back(drafter.get());
    drafter_ = drafters.size() == 1 ? std::move(drafters[0]) : std::make_unique<CompositeDrafter>(std::move(drafters));
  }

  // Runs `work`, which changes the drafter's data, and no other lasting data.
  void Change(absl::FunctionRef<void()> work) {
    const int64_t before = AllocatedBytes();
    work();
    held_ += AllocatedBytes() - before;
    int64_t said = 0;
    for (const Drafter* const member : members_) said += member->bytes();
    CHECK_LE(said, most_bytes_) << drafter_->name() << " says it holds more than the registry's bound";
    // A composite also holds the last proposals.
    if (members_.size() == 1) CHECK_LE(held_, said + kObjects) << drafter_->name() << " holds more than it says";
  }

  void Write(const Text& prompt) {
    text_ = prompt;
    Change([&] { drafter_->Begin(text_); });
    if (bytes_.Below(4) < 3) LearnPrompt();
    while (static_cast<int>(text_.size()) < size_.context && Step()) {
    }
    if (store_ != nullptr) Finish(prompt, absl::MakeConstSpan(text_).subspan(prompt.size()));
  }

  void LearnPrompt() {
    const int most = std::max(drafter_->needs().top_of_prompt, 1), first = bytes_.Below(static_cast<int>(text_.size()));
    std::vector<TopTokens> top(text_.size() - first - bytes_.Below(static_cast<int>(text_.size()) - first));
    for (size_t i = 0; i < top.size(); ++i) {
      if (bytes_.Below(8) < 7) top[i] = TopTokensOf(model_.LogitsAfter(absl::MakeConstSpan(text_).first(first + i + 1)), most);
    }
    Change([&] { drafter_->LearnPrompt(first, top); });
  }

  // False if the text ends.
  bool Step() {
    const DraftBudget budget = SpellBudget(bytes_);
    TokenTree before(text_.back());
    if (bytes_.Below(8) == 7) AddNodes(before);   // Nodes of another drafter.
    TokenTree tree = before;
    const absl::Status status = drafter_->Propose(budget, tree);
    CHECK(status.ok()) << status;
    CheckProposal(tree, before, budget, model_.vocabulary());
    AppendTree(tree, trees_);
    const int change = bytes_.Below(8);
    if (change & 1) tree = tree.Pick(SpellSome(bytes_, tree));
    if (change & 2) AddNodes(tree);
    Verdict verdict = VerifyAsPlain(tree, model_, text_, size_.context);
    AddTop(tree, model_, text_, tree.size() - bytes_.Below(tree.size()), drafter_->needs().top_of_rows, verdict);
    const bool ended = model_.Next(Joined(text_, absl::MakeConstSpan(verdict.emitted).first(verdict.emitted.size() - 1))).last;
    Change([&] { drafter_->Commit(tree, verdict); });
    text_ = Joined(std::move(text_), verdict.emitted);
    if (store_ != nullptr && bytes_.Below(16) == 15) Finish({}, text_);   // Another stream is done.
    return !ended;
  }

  void AddNodes(TokenTree& tree) {
    for (int left = 1 + bytes_.Below(3); left > 0; --left) {
      const TokenTree::Node node = SpellNode(bytes_, model_, text_, tree);
      tree.Add(node.parent, node.token, node.probability, node.source);
    }
  }

  void Finish(absl::Span<const TokenId> prompt, absl::Span<const TokenId> answer) {
    store_->Add(prompt, answer);
    CHECK_LE(store_->bytes(), int64_t{64} << 10);
  }

  FuzzBytes& bytes_;
  const SpelledModel model_;
  const DraftingSize size_;
  const std::shared_ptr<HistoryStore> store_;
  std::unique_ptr<Drafter> drafter_;
  std::vector<const Drafter*> members_;   // The members of the drafter; the drafter itself, if alone.
  int64_t most_bytes_ = 0, held_ = 0;     // By the registry, and as allocated.
  Text text_;
  std::string trees_;
};

}  // namespace tessera

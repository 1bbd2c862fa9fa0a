// Proves that a row's result depends on its own tokens alone. Runs random programs over sequences, drafts and passes. Every logit must have
// the same bits as when the tokens run one at a time, in order, on one thread.
//
//   Logbook book;
//   EXPECT_EQ(RandomProgram({.seed = TestSeed(), .steps = 500}).Run(machine, book), "");    // or the first difference, in words
//   EXPECT_EQ(book.CompareWithPlain(oracle), "");
//
// A step is one of: begin a sequence, fork one at a random length, truncate or release one, or (two in three) a pass. A pass mixes rows of
// up to three sequences: random cuts of their texts, and draft trees with siblings and chains behind the cuts. Drafts are then accepted or
// rejected. A pass's rows come in random order. Random rows are asked for logits, some again with logits of the next pass. A pass is walked
// in a random way (random_walk.h). Programs may share a logbook: then the programs must agree with each other, too. Where layers keep only
// a window, a sequence that is cut back beyond the window is computed again from its first token. Thread-compatible.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "tessera/base/random.h"
#include "tessera/tests/fakes/loaded_model.h"
#include "tessera/tests/fakes/random_walk.h"

namespace tessera {

// Returns $TESSERA_TEST_SEED, or a fixed number. Tests print the seed with each failure.
inline uint64_t TestSeed() {
  const char* seed = std::getenv("TESSERA_TEST_SEED");
  return seed != nullptr ? std::strtoull(seed, nullptr, 10) : 20;
}

// The results so far for each token path.
class Logbook {
 public:
  using Text = std::vector<TokenId>;

  // Returns an empty string, or the difference between the logits and earlier logits of the same text.
  std::string Note(const Text& text, const std::vector<float>& logits) {
    const auto [known, added] = noted_.emplace(text, logits);
    return added ? "" : Difference(text, logits, known->second);
  }

  // Like Note, for the state of the text's last row after this number of layers.
  std::string NoteState(int layer, const Text& text, absl::Span<const float> state) {
    const auto [known, added] = states_.emplace(std::pair(layer, text), std::vector<float>(state.begin(), state.end()));
    if (added || absl::MakeConstSpan(known->second) == state) return "";
    return absl::StrFormat("state after %d layers; tokens %s", layer, absl::StrJoin(text, " "));
  }

  // Computes every text anew, one token per pass. Texts come in the order of their tokens, so that each prefix is computed once.
  std::string CompareWithPlain(Machine& oracle) const {
    const KvCache::SequenceId sequence = oracle.cache().NewSequence();
    Text current;
    std::string difference;
    for (const auto& [text, logits] : noted_) {
      size_t same = 0;
      while (same < current.size() && same + 1 < text.size() && current[same] == text[same]) ++same;
      oracle.cache().Truncate(sequence, static_cast<int>(same));
      std::vector<float> plain;
      for (size_t i = same; i < text.size(); ++i) plain = oracle.Extend(sequence, {&text[i], 1})[0];
      current = text;
      difference = Difference(text, logits, plain);
      if (!difference.empty()) break;
    }
    oracle.cache().Release(sequence);
    return difference;
  }

  size_t texts() const { return noted_.size(); }

 private:
  static std::string Difference(const Text& text, const std::vector<float>& found, const std::vector<float>& expected) {
    if (found.size() == expected.size() && std::memcmp(found.data(), expected.data(), found.size() * sizeof(float)) == 0) return "";
    size_t i = 0;
    while (i + 1 < found.size() && std::memcmp(&found[i], &expected[i], sizeof(float)) == 0) ++i;
    return absl::StrFormat("logit %d: found %a, expected %a; tokens %s", i, found[i], expected[i], absl::StrJoin(text, " "));
  }

  std::map<Text, std::vector<float>> noted_;
  std::map<std::pair<int, Text>, std::vector<float>> states_;
};

class RandomProgram {
 public:
  struct Options {
    uint64_t seed = 0;
    int steps = 0;
    int longest = 40;     // Tokens of a sequence, drafts not counted.
    int sequences = 5;    // At once.
    bool shuffle = true;  // Shuffles the rows of a pass, so that a row may come before rows that it attends to.
  };
  explicit RandomProgram(const Options& options) : options_(options), random_(options.seed) {}

  // Returns an empty string, or the first difference. Sequences are released in the end.
  std::string Run(Machine& machine, Logbook& book) {
    machine_ = &machine, book_ = &book;
    walk_.emplace(random_, machine.runner());
    std::string difference;
    for (step_ = 0; step_ < options_.steps && difference.empty(); ++step_) difference = Step();
    while (!sequences_.empty()) Release(0);
    return difference.empty() ? "" : absl::StrCat("seed ", options_.seed, " step ", step_ - 1, ": ", difference);
  }

  int64_t rows() const { return rows_computed_; }
  int restored() const { return restored_; }  // Sequences that were computed again.
  int64_t stops() const { return walk_->stops(); }   // Stops of passes between layers, and rows dropped at these stops.
  int64_t drops() const { return walk_->drops(); }

 private:
  struct Sequence {
    KvCache::SequenceId id;
    std::vector<TokenId> tokens;
    int story;                    // The story that the sequence's tokens follow.
  };
  struct Row {
    std::vector<TokenId> text;    // The row's own token last.
    KvCache::Paths paths;
    KvCache::SequenceId draft = kNoDraft;   // The sequence of the row's draft, which may be dropped.
    static constexpr KvCache::SequenceId kNoDraft = -1;
  };
  struct Draft {                  // A node of a draft tree.
    size_t owner;                 // Index of the sequence that the draft extends.
    Sequence sequence;
  };
  struct Asked { std::vector<TokenId> text; int row; };   // A row of a pass that was kept.

  KvCache& cache() { return machine_->cache(); }
  size_t Any(size_t count) { return static_cast<size_t>(random_.Below(static_cast<int64_t>(count))); }

  // Stories 0 and 1 have the same prefix, and so do 2 and 3.
  TokenId TokenOf(int story, size_t position) const {
    const uint64_t name = position < 10 ? story / 2 : story + 100;
    return static_cast<TokenId>(CounterRandom(1, name, position) % machine_->config().vocabulary);
  }
  // Returns a plausible wrong draft.
  TokenId OtherToken(size_t position) const {
    return static_cast<TokenId>(CounterRandom(2, 0, position) % machine_->config().vocabulary);
  }

  std::string Step() {
    const int64_t kind = random_.Below(12);
    if (sequences_.empty() || kind == 0) {
      Begin();
    } else if (kind == 1) {
      Fork(Any(sequences_.size()));
    } else if (kind == 2) {
      Truncate(sequences_[Any(sequences_.size())]);
    } else if (kind == 3 && sequences_.size() > 2) {
      Release(Any(sequences_.size()));
    } else {
      return Pass();
    }
    return "";
  }

  void Begin() {
    if (static_cast<int>(sequences_.size()) == options_.sequences) Release(Any(sequences_.size()));
    sequences_.push_back({cache().NewSequence(), {}, static_cast<int>(Any(4))});
  }
  void Fork(size_t index) {
    const Sequence from = sequences_[index];
    const int length = static_cast<int>(random_.Below(static_cast<int64_t>(from.tokens.size()) + 1));
    Sequence fork = {Must(cache().Fork(from.id, length)), from.tokens, static_cast<int>(Any(4))};
    fork.tokens.resize(length);
    if (static_cast<int>(sequences_.size()) == options_.sequences) Release(Any(sequences_.size()));
    sequences_.push_back(std::move(fork));
  }
  void Truncate(Sequence& sequence) {
    sequence.tokens.resize(Any(sequence.tokens.size() + 1));
    cache().Truncate(sequence.id, static_cast<int>(sequence.tokens.size()));
  }
  void Release(size_t index) {
    cache().Release(sequences_[index].id);
    sequences_.erase(sequences_.begin() + static_cast<std::ptrdiff_t>(index));
  }

  std::string Pass() {
    constexpr int kMostCut = 14, kMostDrafts = 6;  // Rows of one part.
    rows_.clear();
    drafts_.clear();
    const size_t first = Any(sequences_.size()), parts = std::min<size_t>(1 + Any(3), sequences_.size());
    for (size_t part = 0; part < parts; ++part) {
      Sequence& sequence = sequences_[(first + part) % sequences_.size()];
      if (sequence.tokens.size() >= static_cast<size_t>(options_.longest)) Truncate(sequence);
      if (!cache().CanExtend(sequence.id)) Restore(sequence);
    }
    Must(cache().MakeRoom(static_cast<int>(parts) * (kMostCut + kMostDrafts)));
    for (size_t part = 0; part < parts; ++part) {
      const size_t owner = (first + part) % sequences_.size();
      const int64_t kind = random_.Below(3);  // A cut, a draft tree, or both.
      if (kind != 1) AddCut(sequences_[owner], kMostCut);
      if (kind != 0) AddDrafts(owner, kMostDrafts);
    }
    const bool shuffled = options_.shuffle && random_.Below(2) == 0;
    if (shuffled) Shuffle(rows_);
    const std::string difference = Compute(/*in_order=*/!shuffled);
    Settle();
    return difference;
  }

  void Restore(Sequence& sequence) {
    ++restored_;
    cache().Truncate(sequence.id, 0);
    machine_->Extend(sequence.id, sequence.tokens);
  }

  void AddCut(Sequence& sequence, int most) {
    const size_t left = options_.longest - std::min<size_t>(options_.longest, sequence.tokens.size());
    const size_t count = std::min<size_t>(1 + Any(random_.Below(4) == 0 ? most : 4), left);
    for (size_t i = 0; i < count; ++i) AddRow(sequence, TokenOf(sequence.story, sequence.tokens.size()));
  }

  // Adds drafts. Each node hangs on the sequence or on an earlier node.
  void AddDrafts(size_t owner, int most) {
    const size_t begin = drafts_.size(), nodes = 1 + Any(most);
    for (size_t node = 0; node < nodes; ++node) {
      const size_t parent = Any(node + 1);
      const Sequence& from = parent == node ? sequences_[owner] : drafts_[begin + parent].sequence;
      Sequence draft = {Must(cache().Fork(from.id, cache().Length(from.id))), from.tokens, from.story};
      const size_t position = draft.tokens.size();
      AddRow(draft, random_.Below(3) > 0 ? TokenOf(draft.story, position) : OtherToken(position));
      rows_.back().draft = draft.id;
      drafts_.push_back({owner, std::move(draft)});
    }
  }

  void AddRow(Sequence& sequence, TokenId token) {
    Must(cache().Extend(sequence.id, 1));
    sequence.tokens.push_back(token);
    rows_.push_back({sequence.tokens, cache().PathsOf(sequence.id, static_cast<int>(sequence.tokens.size()))});
  }

  template <typename T>
  void Shuffle(std::vector<T>& values) {
    for (size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[Any(i)]);
  }

  // Runs the rows, with some rows wanted, and compares the logits of some wanted rows, asked for in any order.
  std::string Compute(bool in_order) {
    std::vector<PassRow> rows;
    std::string state_difference;
    RandomWalk::About about = {.in_order = in_order};
    about.on_state = [&](int layer, int row, absl::Span<const float> state) {
      if (state_difference.empty()) state_difference = book_->NoteState(layer, rows_[static_cast<size_t>(row)].text, state);
    };
    for (const Row& row : rows_) {
      rows.push_back({row.text.back(), row.paths, nullptr});
      about.may_go.push_back(row.draft != Row::kNoDraft);
    }
    std::vector<int> chosen, wanted;
    for (size_t i = 0; i < rows_.size(); ++i) {
      const bool picked = random_.Below(3) > 0;
      if (picked) chosen.push_back(static_cast<int>(i));
      if (picked || random_.Below(2) > 0) wanted.push_back(static_cast<int>(i));
    }
    HiddenRows done = walk_->Run(rows, cache(), wanted, about);
    rows_computed_ += static_cast<int64_t>(rows.size());
    ForgetDropped();
    Shuffle(chosen);
    std::vector<RowOf> asked;
    std::vector<const std::vector<TokenId>*> texts;
    for (const int row : chosen) asked.push_back({&done, row}), texts.push_back(&rows_[static_cast<size_t>(row)].text);
    for (const Asked& again : asked_again_) asked.push_back({&kept_, again.row}), texts.push_back(&again.text);
    const std::string difference = absl::StrCat(state_difference, CompareLogits(asked, texts));
    asked_again_.clear();
    if (!chosen.empty() && random_.Below(4) == 0) {   // Logits of this row are asked for with those of the next pass.
      Must(done.Keep());
      kept_ = std::move(done);
      asked_again_.push_back({rows_[static_cast<size_t>(chosen[0])].text, chosen[0]});
    }
    return difference;
  }

  std::string CompareLogits(absl::Span<const RowOf> asked, const std::vector<const std::vector<TokenId>*>& texts) {
    const int64_t vocabulary = machine_->config().vocabulary, count = static_cast<int64_t>(asked.size());
    std::vector<float> logits(static_cast<size_t>(count * vocabulary));
    Must(machine_->runner().Logits(asked, TensorView<float>(logits.data(), count, vocabulary)));
    for (int64_t i = 0; i < count; ++i) {
      const std::string difference =
          book_->Note(*texts[static_cast<size_t>(i)], {&logits[i * vocabulary], &logits[i * vocabulary] + vocabulary});
      if (!difference.empty()) return absl::StrCat("row ", asked[i].row, " of ", rows_.size(), ": ", difference);
    }
    return "";
  }

  // Forgets drafts that were dropped in the pass: such drafts cannot become text.
  void ForgetDropped() {
    for (size_t row = 0; row < rows_.size(); ++row) {
      if (!walk_->dropped()[row]) continue;
      const auto draft = std::find_if(drafts_.begin(), drafts_.end(), [&](const Draft& d) { return d.sequence.id == rows_[row].draft; });
      cache().Release(draft->sequence.id);
      drafts_.erase(draft);
    }
  }

  // Accepts at most one draft of each sequence, which becomes the sequence, and rejects the others.
  void Settle() {
    Shuffle(drafts_);
    std::vector<bool> decided(sequences_.size(), false);
    for (Draft& draft : drafts_) {
      if (!decided[draft.owner] && random_.Below(2) == 0) std::swap(sequences_[draft.owner], draft.sequence);
      decided[draft.owner] = true;
      cache().Release(draft.sequence.id);
    }
  }

  const Options options_;
  SeededRandom random_;
  Machine* machine_ = nullptr;
  Logbook* book_ = nullptr;
  int step_ = 0;
  int64_t rows_computed_ = 0;
  int restored_ = 0;
  std::vector<Sequence> sequences_;
  std::vector<Row> rows_;
  std::vector<Draft> drafts_;
  std::optional<RandomWalk> walk_;
  HiddenRows kept_;                    // Rows of an earlier pass,
  std::vector<Asked> asked_again_;     // and rows of that pass whose logits are asked for with the next pass.
};

}  // namespace tessera

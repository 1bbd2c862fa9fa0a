// Tokens that the sequences of one set have written so far. Each sequence drafts from the others: samples of one problem often agree.
//
//   const auto room = std::make_shared<SharedHistory::Room>(/*tokens=*/1 << 14);       // for all sets together
//   const auto history = std::make_shared<SharedHistory>(room);                        // of one set
//   const int a = history->BeginText(), b = history->BeginText();
//   for (const TokenId token : {5, 6, 7}) history->Add(a, token);
//   history->Add(b, 5);
//   DraftFollowers({&history->texts(), history->PlaceOf(b)}, {}, {.max_nodes = 7}, tree);          // 6 7 below the root 5
//
// A text here is a sequence without its prompt, which is common to all. So where two texts begin with the same tokens, the texts agree from
// there. A text stays a source after its end, until the set goes. The program gives each sequence a set (GenerateOptions::siblings). The
// drafter "siblings" adds the sequence's tokens and drafts from the set (siblings_drafter.h). Drafts decide no token, so a sequence does
// not depend on its set.
//
// Memory is bounded by the room, at most kMostBytesPerToken per token of the room; a set without texts takes none. Where there is no more
// room, a set forgets the older half of each of its texts. If a set is too small for that, the text that finds no room is left out from
// there on, and nothing is drafted for that text.
// Threads: one at a time: the thread that drives the sequences (stepper.h).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tessera/base/token.h"
#include "tessera/spec/costs/draft_learning.h"
#include "tessera/spec/drafters/history/suffix_automaton.h"

namespace tessera {

class SharedHistory {
 public:
  // Bounds the tokens of all sets together.
  class Room {
   public:
    explicit Room(int64_t tokens) : left_(tokens) {}   // At least 0.
    int64_t left() const { return left_; }

   private:
    friend class SharedHistory;
    int64_t left_;
  };
  // The automaton's bytes, and the token in its text's list. The list grows to twice its size: for a moment both lists exist.
  static constexpr int64_t kMostBytesPerToken = SuffixAutomaton::kMostBytesPerToken + 3 * static_cast<int64_t>(sizeof(TokenId));
  // Returns the usual room of all sets of a program together, for sequences with a context of this length.
  static int64_t UsualRoom(int context);

  explicit SharedHistory(std::shared_ptr<Room> room);
  ~SharedHistory();   // Gives the room back.
  SharedHistory(const SharedHistory&) = delete;
  SharedHistory& operator=(const SharedHistory&) = delete;

  static constexpr int kNoText = -1;
  // Begins an empty text and returns its number. Takes room for two tokens. Returns kNoText if there is no room. kNoText may be passed as a
  // text: such a text is left out.
  int BeginText();
  // Appends the next token of a text. REQUIRES: `token` is of the vocabulary; `text` was returned by BeginText.
  void Add(int text, TokenId token);

  // Returns all texts, each after a kSeparator until its first tokens are forgotten.
  const SuffixAutomaton& texts() const { return texts_; }
  // Returns the longest end of the text that was followed by a token before, in this or another text; the root if there is none. REQUIRES:
  // as Add. Valid until the next call of BeginText or Add.
  SuffixAutomaton::Cursor PlaceOf(int text) const;

  // Returns the learning about drafters that all sequences of the set share. The first caller brings its learning `so_far`, and others with
  // the same list of drafters go on from there. Takes the room of some tokens. Null without room, and for another list of drafters: such a
  // sequence learns for itself. Valid as long as the set.
  DraftLearning* LearningOf(absl::Span<const absl::string_view> drafters, const DraftLearning& so_far);

  int64_t tokens() const { return held_; }   // Room in use, in tokens.
  int64_t bytes() const;

 private:
  struct Text {
    std::vector<TokenId> tokens = {};        // Without forgotten tokens.
    int end = SuffixAutomaton::kRoot;        // State in texts_; kNone: the text is left out.
  };
  bool Take(int64_t tokens);                 // From the room; false if there is not enough.
  void ForgetHalf();
  void Append(Text& text, TokenId token);

  const std::shared_ptr<Room> room_;
  SuffixAutomaton texts_;
  std::vector<Text> all_;
  std::unique_ptr<DraftLearning> learning_;
  std::string learners_;                     // The list of drafters that learning_ is for.
  int64_t held_ = 0;
};

}  // namespace tessera

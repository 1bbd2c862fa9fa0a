// What texts of one set have written so far, for each to draft from the others: samples of one problem often say the same.
//
//   const auto room = std::make_shared<SharedHistory::Room>(/*tokens=*/1 << 14);       // for all sets together
//   const auto history = std::make_shared<SharedHistory>(room);                        // of one set
//   const int a = history->BeginText(), b = history->BeginText();
//   for (const TokenId token : {5, 6, 7}) history->Add(a, token);
//   history->Add(b, 5);
//   DraftFollowers({&history->texts(), history->PlaceOf(b)}, {}, {.max_nodes = 7}, tree);          // 6 7 below the root 5
//
// A text is what was written after the prompt, which all of them have before them; so where two begin with the same tokens, they agree from
// there. It stays a source when it has ended, until the set goes. The program gives each text its set (GenerateOptions::siblings), whose
// drafter "siblings" adds to it and drafts from it (siblings_drafter.h). Drafts decide no token, so a text does not depend on its set.
// Memory is bounded by the room, at most kMostBytesPerToken for each of its tokens; a set without texts takes none. Where there is no more
// room, a set forgets the older half of each of its texts; if it is too small for that, the text that finds none is left out from there on,
// and nothing is drafted for it.
// Threads: one at a time: the thread that drives the texts (stepper.h).
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
  // How many tokens sets may have together.
  class Room {
   public:
    explicit Room(int64_t tokens) : left_(tokens) {}   // At least 0.
    int64_t left() const { return left_; }

   private:
    friend class SharedHistory;
    int64_t left_;
  };
  // The automaton's, and the token in its text, whose list grows to twice its size: for a moment there are both.
  static constexpr int64_t kMostBytesPerToken = SuffixAutomaton::kMostBytesPerToken + 3 * static_cast<int64_t>(sizeof(TokenId));
  // The room that texts of so long a context are given, for all sets of a program together.
  static int64_t UsualRoom(int context);

  explicit SharedHistory(std::shared_ptr<Room> room);
  ~SharedHistory();   // Gives its room back.
  SharedHistory(const SharedHistory&) = delete;
  SharedHistory& operator=(const SharedHistory&) = delete;

  static constexpr int kNoText = -1;
  // A text that has written nothing so far: its number. It takes room for two tokens; kNoText where there is none, which may be given for
  // a text: it is left out.
  int BeginText();
  // The next token of a text, which must be one of the vocabulary. REQUIRES: `text` is what BeginText returned.
  void Add(int text, TokenId token);

  // What all have written, each after a kSeparator while its beginning is not forgotten.
  const SuffixAutomaton& texts() const { return texts_; }
  // The longest end of the text after which it, or another one, went on before; the root if there is none. REQUIRES: as Add. Valid until
  // the next call of BeginText or Add.
  SuffixAutomaton::Cursor PlaceOf(int text) const;

  // What is learnt of drafters for all texts of the set: the first that asks brings what it knows, and others with the same list of
  // drafters go on with that. It takes the room of some tokens. Null where there is none, or where the list is another: such a text learns
  // for itself. Valid as long as the set.
  DraftLearning* LearningOf(absl::Span<const absl::string_view> drafters, const DraftLearning& so_far);

  int64_t tokens() const { return held_; }   // Room that it takes, in tokens.
  int64_t bytes() const;

 private:
  struct Text {
    std::vector<TokenId> tokens = {};        // Those that are not forgotten.
    int end = SuffixAutomaton::kRoot;        // In texts_. kNone: it is left out.
  };
  bool Take(int64_t tokens);                 // From the room; false if there is not enough.
  void ForgetHalf();
  void Append(Text& text, TokenId token);

  const std::shared_ptr<Room> room_;
  SuffixAutomaton texts_;
  std::vector<Text> all_;
  std::unique_ptr<DraftLearning> learning_;
  std::string learners_;                     // Whose it is.
  int64_t held_ = 0;
};

}  // namespace tessera

// Finds earlier places of a text's last tokens: the suffix automaton of a text that grows.
//
//   SuffixAutomaton automaton({.max_tokens = 8192});
//   for (const TokenId token : {1, 2, 3, 1, 2}) automaton.Extend(token);
//   automaton.Match();                                       // 1 2, the longest end of the text that stood in it before: length 2
//   automaton[automaton.Match().state].latest;               // 2: where it ended, so the text went on with tokens()[2]
//   SuffixAutomaton::Cursor cursor;                          // the same of another text, which leaves this one as it is
//   for (const TokenId token : {7, 2, 3}) cursor = automaton.Move(cursor, token);   // 2 3, length 2
//
//   SuffixAutomaton texts({});                               // of several texts that grow side by side, each from its own end
//   int a = SuffixAutomaton::kRoot, b = SuffixAutomaton::kRoot;
//   for (const TokenId token : {1, 2, 3}) a = texts.Extend(a, token);
//   b = texts.Extend(texts.Extend(b, 7), 2);                 // 7 2: its longest end that another text has is 2
//   texts.Next(texts.Shorter({b, 2}).state, 3);              // a state: a went on with 3
//
// A state stands for all strings that end at the same places of the text (Blumer et al. 1985; for several texts 1987). `length` is the
// length of the longest such string. `link` is the state of the longest suffix of such a string that also ends at other places. There are
// at most two states and three edges per token. Edges lie in one table, (state, token) to state, rather than in a map per state.
//
// Places of several texts are counted over all tokens in the order of the Extend calls. So the token after a place may be another text's.
// Only tokens()[latest] is always the token that followed. Extend and Move take O(1), amortized over a text, for tokens of a fixed set. A
// full automaton stays as it is: for more text, begin a new one with the newest part.
// Threads: const calls may run at once; Extend and Clear alone.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "tessera/base/token.h"

namespace tessera {

class SuffixAutomaton {
 public:
  static constexpr int kRoot = 0;   // The empty string.
  static constexpr int kNone = -1;
  // The worst text at its worst moment takes: two states of 24 bytes in a vector twice as large (96), three edges of 17 bytes in a table
  // that has just doubled at seven eighths (117), the table of half the size before (58), and the token (8). Usual texts take about 110.
  static constexpr int64_t kMostBytesPerToken = 280;

  struct Options {
    int max_tokens = 1 << 16;
    // A token ends strings of many lengths. Places and counts are kept for this many of the longest states. Without this bound, a text of
    // one repeated token would cost the square of its length.
    int most_links = 32;
  };

  // Places are ends: the number of tokens up to the string's last token.
  struct State {
    int length = 0;
    int link = kNone;
    int earliest = 0;               // The first end.
    int latest = 0;                 // The last end that was followed by a token; 0 if none was.
    int count = 0;                  // Number of ends.
    TokenId newest = kNoToken;      // The follower that came for the first time most recently.
  };

  // A string of `length` tokens in a state: link's length < length <= the state's.
  struct Cursor {
    int state = kRoot;
    int length = 0;
  };

  explicit SuffixAutomaton(const Options& options);
  ~SuffixAutomaton();

  void Clear();                     // Gives all memory back.
  bool full() const { return static_cast<int64_t>(tokens_.size()) >= options_.max_tokens; }
  bool Extend(TokenId token);       // False, and nothing done, if full. Any token except kNoToken.
  // Like Extend above, for one of several texts. end: kRoot for a text that begins, else the result of the last call for this text. Returns
  // the new end, the state of the whole text; kNone, and nothing done, if full. An end stays valid while texts grow, until Clear. Do not
  // use Match with several texts.
  int Extend(int end, TokenId token);

  // Returns the longest end of the text that also stood earlier in the text. For one text alone.
  Cursor Match() const;
  // Returns the longest end of `cursor` and `token` that the text has. A cursor stays valid while the text grows, until Clear.
  Cursor Move(Cursor cursor, TokenId token) const;
  // Returns the next shorter end that stands at more places; the root in the end.
  Cursor Shorter(Cursor cursor) const;

  int Next(int state, TokenId token) const;   // kNone if the text has no such string.
  bool IsFollowed(int state) const { return states_[static_cast<size_t>(state)].newest != kNoToken; }   // By any token.
  // Calls `visit` for at most `most` of the tokens that followed. A token whose first occurrence there is more recent comes earlier.
  void VisitNext(int state, int most, absl::FunctionRef<void(TokenId token, int next)> visit) const;

  const State& operator[](int state) const { return states_[static_cast<size_t>(state)]; }
  absl::Span<const TokenId> tokens() const { return tokens_; }
  int states() const { return static_cast<int>(states_.size()); }
  int edges() const;
  int64_t bytes() const;

 private:
  static constexpr TokenId kNoToken = INT32_MIN;
  struct Edge {
    int next;
    TokenId older;                  // The next older edge of the same state: a list through the table.
  };
  struct Edges;                     // Defined in the .cc file, which alone needs the hash table.
  static uint64_t Key(int state, TokenId token) { return static_cast<uint64_t>(state) << 32 | static_cast<uint32_t>(token); }
  bool AddEdge(int state, TokenId token, int next);   // False if there is one.
  int StateOf(int parent, TokenId token);             // For the longest string of `parent` and the token after it, on its own.
  int Clone(int state, int length);
  Cursor Settled(Cursor cursor) const;                // In the present state of its string.

  const Options options_;
  std::vector<TokenId> tokens_;
  std::vector<State> states_;
  const std::unique_ptr<Edges> edges_;
  int last_ = kRoot;                // The whole text.
};

}  // namespace tessera

// Computes the logits that streams need after a pass, in rounds. Each round is one call of the head for all streams.
//
//   PassLogits logits(core);                                      // for all passes: its memory stays
//   logits.Give(streams, hidden_rows, clock, cancel, hold);       // until none of them wants more
//   logits.rounds();                                              // what the head took, to be learnt and shared out
//
// A round has at most EngineCore::logits_at_once() + 1 rows. The streams' forecasts follow after the last round; only the likeliest tokens
// of forecasts are kept. Logits of forecasts have a buffer of their own, so the logits of chosen tokens stay. An error of one stream
// concerns that stream alone; an error of the head is the error of the pass.
//
// Threads: as the core, which is held, except while streams are given logits: callbacks may use other sessions of the engine.
#pragma once

#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "tessera/model/hidden_rows.h"
#include "tessera/runtime/engine/core.h"
#include "tessera/runtime/scheduler/stream.h"
#include "tessera/runtime/session/step_clock.h"

namespace tessera {

// Gives the logits of passes to streams.
class PassLogits {
 public:
  explicit PassLogits(EngineCore& core) : core_(core) {}

  // A stream of the pass, and the work done for that stream.
  struct Member {
    Stream* stream = nullptr;
    absl::Status status = {};     // The error of choosing tokens so far, or OK.
    int first_round = 0;          // The first round with logits for the stream.
    int first_rows = 0;           // Rows of logits in that round,
    int later_rows = 0;           // and in later rounds.
    // Forecast rows, and the seconds of the forecasts' logits with the choice of the likeliest tokens.
    int ahead_rows = 0;
    double ahead_seconds = 0;
  };
  // Returns the pass's error or OK, and sets a status per member. cancel: may be null. REQUIRES: no other pass runs meanwhile
  // (EngineCore::PassMark).
  absl::Status Give(absl::Span<Member> members, const HiddenRows& pass, const StepClock& clock, const std::atomic<bool>* cancel,
                    EngineCore::Hold& hold);

  // Since the last Give began: rounds of the head, by rows and seconds; rows and seconds of choosing top tokens.
  struct Round { int rows; double seconds; };
  const std::vector<Round>& rounds() const { return rounds_; }
  const std::vector<Round>& rounds_ahead() const { return rounds_ahead_; }   // Rounds for forecasts, not counted in rounds().
  int top_rows() const { return top_rows_; }
  double top_seconds() const { return top_seconds_; }

 private:
  struct Share { Member* member; size_t begin, end; int top; };   // Rows of the round.
  void Ask(absl::Span<Member> members);
  void FindTop(const StepClock& clock);
  // Finds the likeliest tokens of each row of logits, as many as `tops` says for the row. Skips rows whose entry of `tops` is 0.
  void TopOf(absl::Span<const float> logits, absl::Span<const int> tops, absl::Span<TopTokens> top);
  TensorView<const float> LogitsOf(const Share& share) const;
  void ChooseAhead();
  void GiveRound();
  absl::Status GiveAhead(absl::Span<Member> members, const HiddenRows& pass, const StepClock& clock, const std::atomic<bool>* cancel);

  EngineCore& core_;
  std::vector<int> rows_;          // In this round.
  std::vector<Share> shares_;
  std::vector<float> logits_;
  std::vector<TopTokens> top_;
  std::vector<Round> rounds_, rounds_ahead_;
  std::vector<float> logits_ahead_;
  int top_rows_ = 0;
  double top_seconds_ = 0;
};

}  // namespace tessera

// Gives streams the logits that they want of a pass, in rounds: one call of the head per round for all of them.
//
//   PassLogits logits(core);                                      // for all passes: its memory stays
//   logits.Give(streams, hidden_rows, clock, cancel, hold);       // until none of them wants more
//   logits.rounds();                                              // what the head took, to be learnt and shared out
//
// A round has at most EngineCore::logits_at_once() + 1 rows. Then come the forecasts that streams want, of which the likeliest tokens alone
// are kept; they lie elsewhere, so what tokens were chosen from stays. An error of one stream is its own; an error of the head is that of
// the pass.
// Threads: those of the core, which is held, but while streams are given logits: what they call may use other sessions of the engine.
#pragma once

#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "tessera/model/hidden_rows.h"
#include "tessera/runtime/engine/core.h"
#include "tessera/runtime/scheduler/stream.h"
#include "tessera/runtime/session/step_clock.h"

namespace tessera {

class PassLogits {
 public:
  explicit PassLogits(EngineCore& core) : core_(core) {}

  struct Member {
    Stream* stream = nullptr;
    absl::Status status = {};     // What its choosing came to so far.
    int first_round = 0;          // In which it got logits first.
    int first_rows = 0;           // Logits that it got then,
    int later_rows = 0;           // and in rounds after that.
    int ahead_rows = 0;           // Forecasts that it got, and what these took, with the choice of their likeliest tokens.
    double ahead_seconds = 0;
  };
  // The pass's error, or OK, with a status per member. cancel: may be null. REQUIRES: no other pass
  // is run meanwhile (EngineCore::PassMark).
  absl::Status Give(absl::Span<Member> members, const HiddenRows& pass, const StepClock& clock, const std::atomic<bool>* cancel,
                    EngineCore::Hold& hold);

  // Since the last Give began: rounds of the head, by rows and seconds; and choosing top tokens.
  struct Round { int rows; double seconds; };
  const std::vector<Round>& rounds() const { return rounds_; }
  const std::vector<Round>& rounds_ahead() const { return rounds_ahead_; }   // Those for forecasts, which are not among the others.
  int top_rows() const { return top_rows_; }
  double top_seconds() const { return top_seconds_; }

 private:
  struct Share { Member* member; size_t begin, end; int top; };   // Rows of the round.
  void Ask(absl::Span<Member> members);
  void FindTop(const StepClock& clock);
  // The likeliest tokens of rows of logits, as many as tops says of each; not looked at where that is 0.
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

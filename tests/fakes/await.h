// Waits for a condition, and never for a time: a busy machine makes a wait longer, and changes no outcome.
//
//   EXPECT_TRUE(Await([&] { return held.asked().size() == 3; }));     // false once the deadline has passed without
//   Dawdle(random.Below(200));                                        // in a race, every outcome of which must be right
//
// A test in which an event must not happen waits for a sign that every possible event has happened. Such a sign is a thread that is asleep
// (thread_state.h), or a counter at its final value.
#pragma once

#include <chrono>
#include <cstdint>
#include <thread>

#include "absl/functional/function_ref.h"

namespace tessera {

// A deadline far away, and the pause between two looks at a condition.
class Patience {
 public:
  explicit Patience(std::chrono::seconds most = std::chrono::seconds(60)) : most_(most) {}

  // Lets other threads go on for a moment. False once the deadline has passed, counted from the first pause.
  bool Pause() {
    const auto now = std::chrono::steady_clock::now();
    if (pauses_++ == 0) begin_ = now;
    if (pauses_ < kTurnsBeforeSleep) std::this_thread::yield();
    else std::this_thread::sleep_for(std::chrono::microseconds(200));
    return now - begin_ < most_;
  }

 private:
  static constexpr int kTurnsBeforeSleep = 200;   // At first the thread only yields: most conditions hold soon.

  const std::chrono::seconds most_;
  std::chrono::steady_clock::time_point begin_;
  int pauses_ = 0;
};

// Checks until the condition holds. False if the deadline passes first.
inline bool Await(absl::FunctionRef<bool()> condition, std::chrono::seconds most = std::chrono::seconds(60)) {
  Patience patience(most);
  while (!condition()) {
    if (!patience.Pause()) return condition();
  }
  return true;
}

// Computes `steps` steps of about a microsecond each. In races, this varies the moment of arrival while other threads go on.
inline void Dawdle(int64_t steps) {
  volatile uint64_t state = 1;
  for (int64_t i = 0; i < 500 * steps; ++i) state = state * 6364136223846793005u + 1;
}

}  // namespace tessera

// Texts that a stepper writes with a small model, the texts of a session alone, and the ends of both.
//
//   const auto engine = SmallEngine();
//   const auto stepper = Must(Stepper::Create(*engine, {}));
//   Answers answers;
//   StreamOptions options = TextNumber(3);
//   options.on_end = answers.Keep(3);                                     // a second end is a failure of the test
//   stepper->Submit(std::move(options));
//   Must(stepper->Run());
//   EXPECT_EQ(answers.texts[3].tokens, Alone(TextNumber(3)).tokens);
//
// Thread-compatible.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>

#include "tessera/runtime/engine/engine.h"
#include "tessera/runtime/scheduler/decode_loop.h"
#include "tessera/runtime/scheduler/stream.h"
#include "tessera/tests/fakes/tiny_engine.h"

namespace tessera {

inline std::unique_ptr<Engine> SmallEngine(int context = 256, int rows = 32) {
  return TinyEngine({.layers = 2, .writes_letters = true},
                    {.compute = {.threads = 2, .row_capacity = rows}, .cache = {.context = context}});
}

// Writes the text by a session alone, in a new engine.
inline Generation Alone(const StreamOptions& options) {
  const auto engine = SmallEngine();
  const auto session = Must(engine->NewSession());
  Must(session->Append(options.prompt));
  GenerateOptions text = options.text;
  text.speculator = nullptr;
  return Must(Generate(*session, Must(Sampler::Create(options.sampling)), text));
}

inline StreamOptions TextNumber(int number, int tokens = 20) {
  return {.prompt = RandomTokens(5 + 7 * number % 40, number),
          .sampling = {.temperature = number % 2 == 0 ? 0.0f : 0.8f, .seed = static_cast<uint64_t>(number)},
          .text = {.max_tokens = tokens, .ignore_end = true}};
}

struct Answers {
  std::map<int, Generation> texts;
  std::map<int, absl::Status> errors;

  std::function<void(const absl::StatusOr<Generation>&)> Keep(int number) {
    return [this, number](const absl::StatusOr<Generation>& result) {
      EXPECT_TRUE(texts.count(number) + errors.count(number) == 0) << "ended twice: " << number;
      if (result.ok()) texts[number] = *result;
      else errors[number] = result.status();
    };
  }
};

}  // namespace tessera

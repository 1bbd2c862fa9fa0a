// Makes a draft's recording that no model made: random texts, and distributions that are right as often as their probabilities say.
//
//   const DraftRecording near = MadeUpDraft({.likeliest = 0.8}), far = MadeUpDraft({.likeliest = 0.5, .seed = 2});
//
// Each position has six candidates. Their probabilities are drawn about `likeliest`, and the true token is drawn by these probabilities. So
// a policy that trusts the probabilities is right, and a draft with a larger `likeliest` is better.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "tessera/apps/lab/papers/record/draft_recording.h"
#include "tessera/base/random.h"

namespace tessera {

struct MadeUp {
  float likeliest = 0.8f;   // The first candidate's probability, on average.
  uint64_t seed = 1;
  int texts = 2;            // Per set.
  int tokens = 60;          // Per text.
};

inline DraftedText MadeUpText(const MadeUp& made_up, SeededRandom& random) {
  constexpr int kCandidates = 6;
  DraftedText text = {.prompt_sha256 = std::string(64, 'b'), .prompt_tokens = 100, .tokens = {static_cast<TokenId>(random.Below(1000))}};
  while (static_cast<int>(text.tokens.size()) < made_up.tokens) {
    float left = 1, drawn = static_cast<float>(random.Uniform());
    TokenId next = 1000;   // None of the candidates.
    TopTokens said;
    for (int i = 0; i < kCandidates; ++i) {
      const float share = i == 0 ? std::clamp(made_up.likeliest + random.Uniform(-0.15f, 0.15f), 0.05f, 0.95f) : 0.6f;
      const float most = said.empty() ? 1 : said.back().probability;
      said.push_back({static_cast<TokenId>(random.Below(100)) + 100 * i, std::min(share * left, most)});
      left -= said.back().probability;
      if (drawn >= 0 && drawn < said.back().probability) next = said.back().token;
      drawn -= said.back().probability;
    }
    text.said.push_back(std::move(said));
    text.tokens.push_back(next);
  }
  for (int written = 1; written < made_up.tokens; written += text.retrieval.back().accepted + 1) {
    text.retrieval.push_back({.drafted = 4, .accepted = std::min(1, made_up.tokens - written - 1)});
  }
  return text;
}

inline DraftRecording MadeUpDraft(const MadeUp& made_up) {
  SeededRandom random(made_up.seed);
  DraftRecording recording = {.command = "none", .model = "none.gguf", .model_sha256 = std::string(64, 'a'), .draft = "none.gguf",
                              .draft_sha256 = std::string(64, 'c'), .most_tokens = made_up.tokens};
  for (const char* set : kLeverSets) {
    for (int i = 0; i < made_up.texts; ++i) {
      recording.texts.push_back(MadeUpText(made_up, random));
      recording.texts.back().set = set;
      recording.texts.back().id = absl::StrCat(i);
    }
  }
  return recording;
}

}  // namespace tessera

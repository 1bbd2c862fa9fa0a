// Makes recordings that no model made: a text or two of each task, with drafts that come true as often as a test wants.
//
//   const SdnpuRecordings recordings = MadeUpRecordings();
//
// The "+ours" drafters accept more than plain drafts, and lookup drafts less than the automaton. All write the same texts. All drafts are
// rejected: in each text two miss a token, three have a synonym, the others are redundant.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tessera/apps/lab/papers/sdnpu/sdnpu_systems.h"

namespace tessera {

inline std::vector<RecordedPass> MadeUpPasses(int tokens, int drafted, int accepted) {
  std::vector<RecordedPass> passes;
  for (int written = 1; written < tokens; written += passes.back().accepted + 1) {
    passes.push_back({drafted, std::min(accepted, tokens - written - 1)});
  }
  return passes;
}

inline Recording MadeUpRecording(std::string drafter, int drafted, int accepted) {
  Recording recording = {.drafter = std::move(drafter), .command = "none", .model = "none.gguf", .model_sha256 = std::string(64, 'a')};
  for (const char* task : kSdnpuTasks) {
    for (int text = 0; text < 2; ++text) {
      const int tokens = 40 + 20 * text;
      const std::vector<RecordedPass> passes = MadeUpPasses(tokens, drafted, accepted);
      recording.texts.push_back({.task = task,
                                 .id = absl::StrCat(text),
                                 .prompt_sha256 = std::string(64, 'b'),
                                 .prompt_tokens = 600 + 300 * text,
                                 .tokens = tokens,
                                 .passes = passes,
                                 .missing = 2,
                                 .synonym = 3,
                                 .redundant = static_cast<int>(passes.size()) - 5});
    }
  }
  return recording;
}

inline SdnpuRecordings MadeUpRecordings() {
  return {{MadeUpRecording("sam", 12, 2), MadeUpRecording("sam+ours", 16, 4), MadeUpRecording("lookup", 6, 1),
           MadeUpRecording("lookup+ours", 8, 2)}};
}

}  // namespace tessera

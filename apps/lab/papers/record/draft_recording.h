// What a draft model says after every token of texts that its target writes: enough to grow any tree again, without either model.
//
//   ASSIGN_OR_RETURN(const DraftRecording recording, ReadDraftRecording("near.jsonl"));
//   for (const DraftedText& text : recording.texts) Print(text.tokens[1], text.said[0]);   // what came, and what was expected there
//   RecordedExpander draft(times);                                                          // recorded_expander.h
//
// Texts are greedy, so they are the same whatever is drafted: the target writes each once. said[i] is what the draft says after tokens[i],
// given the prompt and all tokens up to that one: its candidates, as they were.
//
// The rule off the path (kOffPathRule). A tree also has nodes that do not become text. What the draft would say after these is not
// recorded; they are answered by what it said after as many tokens of the text. No such answer can be accepted, so acceptance is all real
// decoding. What it bears on is which nodes a rule expands and verifies, and so what a pass costs. `wrong` says how far the rule is from
// the draft: after the likeliest candidate that did not come, how probable the next one was on average, and how probable the rule has it.
//
// A file is JSON lines, recorded by tessera_reproduce record_draft: the first says what was recorded, each other is a text. In "said" stand
// for each token but the last candidates and probabilities in turn. Files are hostile until checked. Plain data: thread-safe.
//
//   {"command":"tessera_reproduce record_draft ...","model":"m.gguf","model_sha256":"9f86...","draft":"d.gguf","draft_sha256":"60bd...",
//    "most_tokens":128,"candidates":8,"off_path":"distribution of the same position",
//    "wrong_nodes":900,"wrong_said":0.61,"wrong_by_rule":0.64}                                                         (one line)
//   {"set":"gsm8k","id":"1","prompt_sha256":"60bd...","prompt_tokens":97,"tokens":[7042,30,198],"said":[[30,0.8,284,0.1],[198,0.99]],
//    "retrieval":[[9,1],[0,0]]}                                                                                        (one line)
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tessera/apps/lab/papers/record/recording.h"
#include "tessera/base/token.h"
#include "tessera/spec/trees/top_tokens.h"

namespace tessera {

inline constexpr char kOffPathRule[] = "distribution of the same position";
inline constexpr const char* kLeverSets[] = {"gsm8k", "humaneval", "mbpp", "mt_bench"};
inline constexpr float kLeastRecorded = 1e-3f;   // Candidates that are less likely are left out.

struct DraftedText {
  std::string set = {};                      // One of kLeverSets.
  std::string id = {};                       // The record's in its data file.
  std::string prompt_sha256 = {};            // The hash of the prompt's text as the models got it.
  int prompt_tokens = 0;
  std::vector<TokenId> tokens = {};          // Written; the first is the prompt's own pass's.
  std::vector<TopTokens> said = {};          // One fewer than tokens.
  std::vector<RecordedPass> retrieval = {};  // What SAM decoding did with the same text ("sam" of recording.h).
};

struct DraftRecording {
  std::string command = {};                        // That records it again.
  std::string model = {}, model_sha256 = {};       // The target: the file's name, and its bytes'.
  std::string draft = {}, draft_sha256 = {};
  int most_tokens = 128;                           // In a text.
  int candidates = 8;                              // Per node, at most.
  // After the likeliest candidate that did not come: so many times, the mean probability of the likeliest token there, and of what
  // kOffPathRule takes in its place.
  struct Wrong { int64_t nodes = 0; double said = 0, by_rule = 0; } wrong = {};
  std::vector<DraftedText> texts = {};

  bool Has(absl::string_view set) const;
  // The share of tokens, of one set or of all for an empty name, that were the draft's likeliest. 0 without any.
  double HitShare(absl::string_view set) const;
};

// InvalidArgument (source, line, field, found, expected) for what is no recording: as ParseRecording, and for what is said that is no
// distribution: not in (0, 1], not falling, a token twice, more than 1 together, more candidates than recorded, another number of answers
// than tokens but one, or another rule off the path. Those of ReadFileToString (base/file.h) for files.
absl::StatusOr<DraftRecording> ParseDraftRecording(absl::string_view text, absl::string_view source);
absl::StatusOr<DraftRecording> ReadDraftRecording(const std::string& path);
std::string DraftRecordingText(const DraftRecording& recording);

// Those committed with the code (apps/lab/papers/record/drafts): "near", a draft that agrees with its target often, and "far", one that
// does less. NotFound for another name, and where there are none.
absl::StatusOr<DraftRecording> BuiltInDraftRecording(absl::string_view name);

}  // namespace tessera

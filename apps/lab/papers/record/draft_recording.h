// A recording of a draft model's answers after every token of texts that its target writes: enough to grow any tree again, without either
// model.
//
//   ASSIGN_OR_RETURN(const DraftRecording recording, ReadDraftRecording("near.jsonl"));
//   for (const DraftedText& text : recording.texts) Print(text.tokens[1], text.said[0]);   // what came, and what was expected there
//   RecordedExpander draft(times);                                                          // recorded_expander.h
//
// Texts are greedy, so texts do not depend on drafts: the target writes each text once. said[i] is the draft's answer after tokens[i],
// given the prompt and all tokens up to tokens[i]: its unchanged candidates.
//
// The rule off the path (kOffPathRule). A tree also has nodes that do not become text. The draft's answers after such nodes are not
// recorded; the recorded answer at the same position of the text takes their place. No such answer can be accepted, so acceptance is all
// real decoding. The rule only affects which nodes a policy expands and verifies, and thereby the cost of a pass. `wrong` says how far the
// rule is from the draft. After the likeliest candidate that did not come, `wrong` has the mean probability of the next likeliest token, by
// the draft and by the rule.
//
// A file is JSON lines, recorded by tessera_reproduce record_draft: the first describes the recording, each other is a text. "said" has,
// for each token except the last, candidates and probabilities in turn. Files are hostile until checked. Plain data: thread-safe.
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
inline constexpr float kLeastRecorded = 1e-3f;   // Less likely candidates are left out.

struct DraftedText {
  std::string set = {};                      // One of kLeverSets.
  std::string id = {};                       // The record's in its data file.
  std::string prompt_sha256 = {};            // The hash of the prompt's text as given to the models.
  int prompt_tokens = 0;
  std::vector<TokenId> tokens = {};          // Written tokens; the first is from the prompt's own pass.
  std::vector<TopTokens> said = {};          // One fewer than tokens.
  std::vector<RecordedPass> retrieval = {};  // The passes of SAM decoding with the same text ("sam" of recording.h).
};

struct DraftRecording {
  std::string command = {};                        // The command that records this again.
  std::string model = {}, model_sha256 = {};       // The target: the file's name, and its hash.
  std::string draft = {}, draft_sha256 = {};
  int most_tokens = 128;                           // In a text.
  int candidates = 8;                              // Per node, at most.
  // After the likeliest candidate that did not come: the number of such nodes, and two mean probabilities there. `said`: of the draft's
  // likeliest token. `by_rule`: of the token that kOffPathRule takes instead.
  struct Wrong { int64_t nodes = 0; double said = 0, by_rule = 0; } wrong = {};
  std::vector<DraftedText> texts = {};

  bool Has(absl::string_view set) const;
  // Returns the share of tokens that were the draft's likeliest, of one set or of all for an empty name. 0 without any.
  double HitShare(absl::string_view set) const;
};

// Reads a recording. InvalidArgument (source, line, field, found, expected) for text that is no recording. Errors are as of ParseRecording,
// and also: an answer that is no distribution, another number of answers than tokens less one, or another rule off the path. An answer is
// no distribution if a probability is outside (0, 1] or larger than the one before, if a token appears twice, if the sum exceeds 1, or if
// there are more candidates than recorded. For files: also the errors of ReadFileToString (base/file.h).
absl::StatusOr<DraftRecording> ParseDraftRecording(absl::string_view text, absl::string_view source);
absl::StatusOr<DraftRecording> ReadDraftRecording(const std::string& path);
std::string DraftRecordingText(const DraftRecording& recording);

// Returns a recording that is committed with the code (apps/lab/papers/record/drafts): "near", a draft that agrees with its target often,
// and "far", one that does less. NotFound for another name, and in a build without recordings.
absl::StatusOr<DraftRecording> BuiltInDraftRecording(absl::string_view name);

}  // namespace tessera

#include "tessera/apps/lab/papers/record/record_drafts.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tessera/base/status_macros.h"

namespace tessera {
namespace {

float Likeliest(const TopTokens& said) { return said.empty() ? 0 : said[0].probability; }

// Returns the candidates that a file keeps.
TopTokens Kept(TopTokens said) {
  while (!said.empty() && said.back().probability < kLeastRecorded) said.pop_back();
  return said;
}

void AddMean(double value, int64_t count, double& mean) { mean += (value - mean) / static_cast<double>(count); }

}  // namespace

absl::StatusOr<DraftRecorder> DraftRecorder::Create(Engine& target, Expander& draft, const RecordLimits& limits) {
  ASSIGN_OR_RETURN(TextRecorder recorder, TextRecorder::Create(target, "sam", limits));
  return DraftRecorder(std::move(recorder), draft);
}

absl::StatusOr<DraftedText> DraftRecorder::Drafted(const WrittenAnswer& answer, DraftRecording& recording) {
  DraftedText text = {.id = answer.text.id,
                      .prompt_sha256 = answer.text.prompt_sha256,
                      .prompt_tokens = answer.text.prompt_tokens,
                      .tokens = answer.tokens,
                      .retrieval = answer.text.passes};
  std::vector<TokenId> read = answer.prompt;
  read.push_back(answer.tokens.front());
  RETURN_IF_ERROR(draft_->Begin(read));
  float after_wrong = -1;   // The likeliest token's probability after a wrong token. Below 0: not asked.
  for (size_t i = 0; i + 1 < answer.tokens.size(); ++i) {
    TokenTree tree(answer.tokens[i]);
    ASSIGN_OR_RETURN(std::vector<TopTokens> said, draft_->Expand(tree, {TokenTree::kRoot}, recording.candidates));
    if (after_wrong >= 0) {
      ++recording.wrong.nodes;
      AddMean(after_wrong, recording.wrong.nodes, recording.wrong.said);
      AddMean(Likeliest(said[0]), recording.wrong.nodes, recording.wrong.by_rule);
      after_wrong = -1;
    }
    const TokenId next = answer.tokens[i + 1];
    const auto wrong = std::find_if(said[0].begin(), said[0].end(), [&](const TopToken& other) { return other.token != next; });
    if (wrong != said[0].end() && wrong->probability > 0) {
      const int node = tree.Add(TokenTree::kRoot, wrong->token, std::min(wrong->probability, 1.0f));
      ASSIGN_OR_RETURN(const std::vector<TopTokens> after, draft_->Expand(tree, {node}, 1));
      after_wrong = Likeliest(after[0]);
    }
    text.said.push_back(Kept(std::move(said[0])));
    RETURN_IF_ERROR(draft_->Commit(tree, {next}));
  }
  return text;
}

absl::Status DraftRecorder::Record(const PromptCategory& set, absl::FunctionRef<void()> written, DraftRecording& recording) {
  ASSIGN_OR_RETURN(const std::vector<WrittenAnswer> answers, target_.Record(set, written));
  for (const WrittenAnswer& answer : answers) {
    ASSIGN_OR_RETURN(DraftedText text, Drafted(answer, recording));
    text.set = set.name;
    recording.texts.push_back(std::move(text));
  }
  return absl::OkStatus();
}

}  // namespace tessera

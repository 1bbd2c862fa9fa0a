#include "tessera/runtime/scale/judge_scorer.h"

#include <limits>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/types/span.h"
#include "tessera/base/elementary.h"
#include "tessera/base/quoted.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"
#include "tessera/model/text/encode_behind.h"
#include "tessera/runtime/engine/core.h"
#include "tessera/runtime/scale/internal/text_reader.h"

namespace tessera {
namespace {

absl::Status CheckPlaces(absl::string_view question) {
  for (const absl::string_view place : {kJudgeProblem, kJudgeAnswer}) {
    if (absl::StrContains(question, place)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("judge's question: found no ", place, ", expected the places ", kJudgeProblem, " and ", kJudgeAnswer));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<JudgeScorer>> JudgeScorer::Create(Engine& engine, const Options& options) {
  RETURN_IF_ERROR(CheckPlaces(options.question));
  if (CoreOf(engine).motion() != nullptr) {
    return WrongUsage("scorer", "judge with an engine that switches graphs", "one with the graphs it began with");
  }
  ASSIGN_OR_RETURN(Conversation conversation, Conversation::Create(engine.model().gguf(), options.conversation));
  std::unique_ptr<JudgeScorer> judge(new JudgeScorer(engine, options, std::move(conversation)));
  RETURN_IF_ERROR(judge->FindWords(options));
  return judge;
}

JudgeScorer::JudgeScorer(Engine& engine, const Options& options, Conversation conversation)
    : tokenizer_(engine.tokenizer()), question_(options.question), conversation_(std::move(conversation)),
      reader_(std::make_unique<TextReader>(SharedCoreOf(engine))), logits_(static_cast<size_t>(engine.config().vocabulary)) {}

JudgeScorer::~JudgeScorer() = default;

absl::Status JudgeScorer::FindWords(const Options& options) {
  std::vector<TokenId> question;   // Any question: all questions end alike.
  if (!conversation_.raw()) {
    conversation_.Reset();
    conversation_.AddUser("?");
    // Score returns the error if the template refuses the question.
    question = conversation_.Tokens(tokenizer_).value_or(std::vector<TokenId>());
  }
  const auto first = [&](const std::string& word) {
    if (conversation_.raw()) return tokenizer_.Encode(absl::StrCat(" ", word), {.continues = true});
    return EncodeAnswer(tokenizer_, question, word);
  };
  const std::vector<TokenId> yes = first(options.yes), no = first(options.no);
  if (yes.empty() || no.empty() || yes[0] == no[0]) {
    return absl::InvalidArgumentError(absl::StrCat("judge's words: found ", Quoted(options.yes), " and ", Quoted(options.no),
                                                   ", which do not begin with a token each, expected two that do"));
  }
  yes_ = yes[0];
  no_ = no[0];
  return absl::OkStatus();
}

std::string JudgeScorer::TextOf(absl::Span<const TokenId> tokens) const {
  std::string text;
  for (const TokenId token : tokens) text += tokenizer_.Piece(token);
  return text;
}

absl::StatusOr<std::vector<TokenId>> JudgeScorer::Question(const SampleText& sample) {
  const std::string problem = sample.problem.empty() ? TextOf(sample.prompt) : std::string(sample.problem);
  const std::string answer = sample.text.empty() ? TextOf(sample.tokens) : std::string(sample.text);
  const std::string question = absl::StrReplaceAll(question_, {{kJudgeProblem, problem}, {kJudgeAnswer, answer}});
  // Special tokens in a sample's text are not read as special.
  if (conversation_.raw()) return tokenizer_.Encode(question, {.add_bos = true});
  conversation_.Reset();
  conversation_.AddUser(question);
  return conversation_.Tokens(tokenizer_);
}

absl::StatusOr<double> JudgeScorer::Score(const SampleText& sample) {
  ASSIGN_OR_RETURN(const std::vector<TokenId> tokens, Question(sample));
  if (tokens.empty()) return absl::InvalidArgumentError("judge's question: found no tokens, expected some");
  if (tokens.size() > static_cast<size_t>(reader_->core().context())) return std::numeric_limits<double>::quiet_NaN();
  RETURN_IF_ERROR(reader_->ReadLogits(tokens, absl::MakeSpan(logits_)));
  const double yes = double{logits_[static_cast<size_t>(yes_)]}, no = double{logits_[static_cast<size_t>(no_)]};
  return 1 / (1 + elementary::Exp(no - yes));
}

}  // namespace tessera

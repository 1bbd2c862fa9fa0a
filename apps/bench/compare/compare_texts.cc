#include "tessera/apps/bench/compare/compare_texts.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tessera/apps/cli/flag_error.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"

namespace tessera {
namespace {

// Kinds of messages: a token with the token's logits, bit by bit; or the end of a sequence, with figures and the reason's name.
enum Kind { kToken, kEndOfText };

template <typename T>
absl::string_view BytesOf(const T& value) { return absl::string_view(reinterpret_cast<const char*>(&value), sizeof(value)); }

template <typename T>
T ReadFront(const Message& message) {
  T value;
  std::memcpy(&value, message.bytes.data(), sizeof(value));
  return value;
}

std::vector<float> LogitsOf(const Message& message) {
  std::vector<float> logits((message.bytes.size() - sizeof(TokenId)) / sizeof(float));
  std::memcpy(logits.data(), message.bytes.data() + sizeof(TokenId), logits.size() * sizeof(float));
  return logits;
}

std::string ReasonOf(const Message& message) { return message.bytes.substr(sizeof(TextFigures)); }

double Distance(float a, float b) {
  const double distance = std::abs(static_cast<double>(a) - static_cast<double>(b));
  return std::isnan(distance) ? std::numeric_limits<double>::infinity() : distance;
}

void CompareLogits(const std::vector<float>& a, const std::vector<float>& b, TextDifference& difference) {
  double widest = -1;
  difference.logits = static_cast<int64_t>(std::min(a.size(), b.size()));
  for (int64_t i = 0; i < difference.logits; ++i) {
    if (std::memcmp(&a[i], &b[i], sizeof(float)) == 0) continue;
    ++difference.logits_different;
    if (Distance(a[i], b[i]) <= widest) continue;
    widest = Distance(a[i], b[i]);
    difference.widest = static_cast<TokenId>(i);
    difference.widest_a = a[i];
    difference.widest_b = b[i];
  }
}

// Returns the difference of two messages. REQUIRES: both are messages about the same place, and not equal.
TextDifference DifferenceOf(const Message& a, const Message& b) {
  TextDifference difference;
  if (a.kind == kToken) difference.a = ReadFront<TokenId>(a);
  else difference.reason_a = ReasonOf(a);
  if (b.kind == kToken) difference.b = ReadFront<TokenId>(b);
  else difference.reason_b = ReasonOf(b);
  if (a.kind == kToken && b.kind == kToken) CompareLogits(LogitsOf(a), LogitsOf(b), difference);
  return difference;
}

// Whether two messages are equal. Ends of sequences are equal if the reasons are equal; the figures may differ.
bool Equal(const Message& a, const Message& b) {
  return a.kind == b.kind && (a.kind == kToken ? a.bytes == b.bytes : ReasonOf(a) == ReasonOf(b));
}

void AddFigures(const Message& end, TextFigures& figures) {
  const TextFigures more = ReadFront<TextFigures>(end);
  figures.passes += more.passes;
  figures.rows += more.rows;
}

absl::StatusOr<std::optional<Message>> NextOf(ForkedRun& run, const char* name) {
  absl::StatusOr<std::optional<Message>> message = run.Next();
  if (message.ok()) return message;
  const absl::Status& status = message.status();
  const std::string said = ShownMessage(status);
  if (IsWrongUsage(status)) return ForField(name, absl::Status(status.code(), said));
  return absl::Status(status.code(), absl::StrCat(said, " (--", name, ")"));
}

absl::StatusOr<std::unique_ptr<ForkedRun>> Start(const TextProducer& writer) {
  return ForkedRun::Start([&writer](MessageSender& messages) {
    TextSender sender(messages);
    return writer(sender);
  });
}

std::string Chosen(const char* name, const std::optional<TokenId>& token, const std::string& reason) {
  return token.has_value() ? absl::StrCat(name, " chose ", *token) : absl::StrCat(name, " had ended (", reason, ")");
}

}  // namespace

absl::Status TextSender::Token(TokenId token, absl::Span<const float> logits) {
  const absl::string_view bits(reinterpret_cast<const char*>(logits.data()), logits.size() * sizeof(float));
  return sender_.Send(kToken, absl::StrCat(BytesOf(token), bits));
}

absl::Status TextSender::EndOfText(const Generation& generation) {
  const TextFigures figures = {generation.passes, generation.rows};
  return sender_.Send(kEndOfText, absl::StrCat(BytesOf(figures), FinishReasonName(generation.reason)));
}

absl::StatusOr<Comparison> CompareTexts(const TextProducer& a, const TextProducer& b) {
  ASSIGN_OR_RETURN(const std::unique_ptr<ForkedRun> run_a, Start(a));
  ASSIGN_OR_RETURN(const std::unique_ptr<ForkedRun> run_b, Start(b));
  Comparison comparison;
  int64_t token = 0;
  while (true) {
    ASSIGN_OR_RETURN(const std::optional<Message> from_a, NextOf(*run_a, "a"));
    ASSIGN_OR_RETURN(const std::optional<Message> from_b, NextOf(*run_b, "b"));
    if (from_a.has_value() != from_b.has_value()) return absl::InternalError("the two wrote different numbers of texts");
    if (!from_a.has_value()) return comparison;
    if (!Equal(*from_a, *from_b)) {
      comparison.difference = DifferenceOf(*from_a, *from_b);
      comparison.difference->prompt = comparison.prompts;
      comparison.difference->token = token;
      return comparison;
    }
    if (from_a->kind == kToken) {
      ++comparison.tokens;
      ++token;
    } else {
      AddFigures(*from_a, comparison.a);
      AddFigures(*from_b, comparison.b);
      ++comparison.prompts;
      token = 0;
    }
  }
}

std::string DifferenceLine(const TextDifference& difference) {
  std::string line = absl::StrCat("prompt ", difference.prompt + 1, ", token ", difference.token, ": ",
                                  Chosen("a", difference.a, difference.reason_a), ", ", Chosen("b", difference.b, difference.reason_b));
  if (difference.logits > 0) {
    absl::StrAppend(&line, "; ", difference.logits_different, " of ", difference.logits, " logits differ");
  }
  if (difference.logits_different > 0) {
    absl::StrAppendFormat(&line, ", most that of token %d: %.9g and %.9g", difference.widest, difference.widest_a, difference.widest_b);
  }
  return line;
}

}  // namespace tessera

#include "tessera/model/text/jinja/internal/lexer.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "tessera/base/quoted.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/text/jinja/internal/characters.h"
#include "tessera/model/text/jinja/internal/fail.h"
#include "tessera/model/text/jinja/internal/literals.h"

namespace tessera::jinja {
namespace {

constexpr absl::string_view kLongOperators[] = {"//", "**", "==", "!=", ">=", "<="};
constexpr absl::string_view kOperators = "+-/*%~[](){}<>=.:|,;";

// Converts line breaks of all systems to \n; drops one at the end.
std::string Normalized(absl::string_view source) {
  std::string lines;
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i] == '\r' && i + 1 < source.size() && source[i + 1] == '\n') continue;
    lines.push_back(source[i] == '\r' ? '\n' : source[i]);
  }
  if (absl::EndsWith(lines, "\n")) lines.pop_back();
  return lines;
}

class Lexer {
 public:
  explicit Lexer(absl::string_view source) : source_(source) {}

  absl::StatusOr<std::vector<Token>> Run() {
    while (at_ < source_.size()) RETURN_IF_ERROR(AtLine(line_, Next()));
    Add(Token::Kind::kEnd);
    return std::move(tokens_);
  }

 private:
  absl::string_view rest() const { return source_.substr(at_); }
  Token& Add(Token::Kind kind, std::string text = {}) { return tokens_.emplace_back(Token{kind, line_, std::move(text)}); }

  void Advance(size_t bytes) {
    line_ += static_cast<int>(std::count(source_.begin() + at_, source_.begin() + at_ + bytes, '\n'));
    at_ += bytes;
    if (bytes > 0) line_starting_ = source_[at_ - 1] == '\n';
  }

  void AddData(absl::string_view text) {
    if (!text.empty()) Add(Token::Kind::kData, std::string(text));
  }

  // Returns the text up to the tag at `tag`, without the white space that the tag removes.
  absl::string_view Before(size_t tag, char sign, bool block) const {
    absl::string_view text = source_.substr(at_, tag - at_);
    if (sign == '-') return text.substr(0, text.size() - TrailingSpace(text));
    if (sign == '+' || !block) return text;
    const size_t newline = text.rfind('\n');
    const size_t begin = newline == absl::string_view::npos ? 0 : newline + 1;
    if (begin == 0 && !line_starting_) return text;
    const bool blank = LeadingSpace(text.substr(begin)) == text.size() - begin;
    return blank ? text.substr(0, begin) : text;
  }

  // Returns the bytes of a tag's end at the start of `text`: `end`, with the sign and the removed white space. 0: none.
  size_t EndHere(absl::string_view text, absl::string_view end) const {
    const bool print = end == "}}";
    if (text.size() > end.size() && text[0] == '-' && absl::StartsWith(text.substr(1), end)) {
      return 1 + end.size() + LeadingSpace(text.substr(1 + end.size()));
    }
    if (!print && text.size() > end.size() && text[0] == '+' && absl::StartsWith(text.substr(1), end)) return 1 + end.size();
    if (!absl::StartsWith(text, end)) return 0;
    return end.size() + (!print && absl::StartsWith(text.substr(end.size()), "\n") ? 1 : 0);
  }

  absl::Status Next() {
    size_t tag = at_;
    while (true) {
      tag = source_.find('{', tag);
      if (tag == absl::string_view::npos || tag + 1 >= source_.size()) tag = absl::string_view::npos;
      if (tag == absl::string_view::npos || absl::StrContains("{%#", source_.substr(tag + 1, 1))) break;
      ++tag;
    }
    if (tag == absl::string_view::npos) {
      AddData(rest());
      Advance(rest().size());
      return absl::OkStatus();
    }
    const char kind = source_[tag + 1];
    const char sign = tag + 2 < source_.size() ? source_[tag + 2] : ' ';
    AddData(Before(tag, sign, kind != '{'));
    Advance(tag - at_);
    if (const size_t raw = kind == '%' ? RawHere() : 0; raw > 0) return Raw(raw);
    Advance(sign == '-' || sign == '+' ? 3 : 2);
    if (kind == '#') return Comment();
    return Code(kind == '{');
  }

  absl::Status Comment() {
    for (size_t end = at_; (end = source_.find("#}", end)) != absl::string_view::npos; ++end) {
      const bool sign = end > at_ && (source_[end - 1] == '-' || source_[end - 1] == '+');
      const size_t begin = sign ? end - 1 : end;
      Advance(begin - at_);
      Advance(EndHere(rest(), "#}"));
      return absl::OkStatus();
    }
    return Fail("found a comment without its end, expected #}");
  }

  // Skips "{%", a sign, and white space around `word`. Returns 0 if another tag stands here.
  size_t WordOfTag(absl::string_view text, absl::string_view word) const {
    size_t size = 2;
    if (size < text.size() && (text[size] == '-' || text[size] == '+')) ++size;
    size += LeadingSpace(text.substr(std::min(size, text.size())));
    if (!absl::StartsWith(text.substr(std::min(size, text.size())), word)) return 0;
    size += word.size();
    return size + LeadingSpace(text.substr(size));
  }

  // Returns the bytes of {% raw %} here; 0: another tag. Unlike other blocks, {% raw %} keeps the line break behind it.
  size_t RawHere() const {
    const size_t word = WordOfTag(rest(), "raw");
    if (word == 0) return 0;
    const absl::string_view end = rest().substr(word);
    if (absl::StartsWith(end, "%}")) return word + 2;
    return absl::StartsWith(end, "-%}") ? word + 3 + LeadingSpace(end.substr(3)) : 0;
  }

  absl::Status Raw(size_t begin) {
    Advance(begin);
    for (size_t tag = at_; (tag = source_.find("{%", tag)) != absl::string_view::npos; ++tag) {
      const size_t word = WordOfTag(source_.substr(tag), "endraw");
      const size_t end = word == 0 ? 0 : EndHere(source_.substr(tag + word), "%}");
      if (end == 0) continue;
      AddData(Before(tag, source_[tag + 2], /*block=*/true));
      Advance(tag + word + end - at_);
      return absl::OkStatus();
    }
    return Fail("found {% raw %} without its end, expected {% endraw %}");
  }

  absl::Status Code(bool print) {
    Add(print ? Token::Kind::kPrintBegin : Token::Kind::kBlockBegin);
    open_.clear();
    while (at_ < source_.size()) {
      const size_t end = open_.empty() ? EndHere(rest(), print ? "}}" : "%}") : 0;
      if (end > 0) {
        Add(print ? Token::Kind::kPrintEnd : Token::Kind::kBlockEnd);
        Advance(end);
        return absl::OkStatus();
      }
      if (const size_t space = LeadingSpace(rest()); space > 0) Advance(space);
      else RETURN_IF_ERROR(Word());
    }
    return absl::OkStatus();  // The parser finds the end of the template where it expects more.
  }

  absl::Status Word() {
    const char first = rest()[0];
    const bool after_dot = at_ > 0 && source_[at_ - 1] == '.';
    if (absl::ascii_isdigit(static_cast<unsigned char>(first))) {
      ASSIGN_OR_RETURN(const NumberLiteral number, ReadNumber(rest(), /*may_be_float=*/!after_dot));
      Add(Token::Kind::kNumber).number = number.value;
      Advance(number.size);
    } else if (absl::ascii_isalpha(static_cast<unsigned char>(first)) || first == '_') {
      size_t size = 1;
      while (size < rest().size() && (absl::ascii_isalnum(static_cast<unsigned char>(rest()[size])) || rest()[size] == '_')) ++size;
      Add(Token::Kind::kName, std::string(rest().substr(0, size)));
      Advance(size);
    } else if (first == '\'' || first == '"') {
      ASSIGN_OR_RETURN(StringLiteral string, ReadString(rest()));
      Add(Token::Kind::kString, std::move(string.text));
      Advance(string.size);
    } else {
      return Operator();
    }
    return absl::OkStatus();
  }

  absl::Status Operator() {
    absl::string_view found = rest().substr(0, 1);
    for (const absl::string_view longer : kLongOperators) {
      if (absl::StartsWith(rest(), longer)) found = longer;
    }
    if (found.size() == 1 && !absl::StrContains(kOperators, found)) {
      const absl::string_view character = rest().substr(0, CharacterAt(rest(), 0).size);
      return Fail("found the character ", Quoted(character), ", expected an expression");
    }
    RETURN_IF_ERROR(Balance(found));
    Add(Token::Kind::kOperator, std::string(found));
    Advance(found.size());
    return absl::OkStatus();
  }

  // Checks brackets: a tag does not end inside brackets.
  absl::Status Balance(absl::string_view found) {
    if (found == "(" || found == "[" || found == "{") {
      open_.push_back(found == "(" ? ')' : found == "[" ? ']' : '}');
    } else if (found == ")" || found == "]" || found == "}") {
      if (open_.empty() || open_.back() != found[0]) return Fail("found ", found, " without the bracket that it closes");
      open_.pop_back();
    }
    return absl::OkStatus();
  }

  const absl::string_view source_;
  size_t at_ = 0;
  int line_ = 1;
  bool line_starting_ = true;
  std::string open_;  // The open brackets.
  std::vector<Token> tokens_;
};

}  // namespace

absl::StatusOr<std::vector<Token>> Tokenize(absl::string_view source) {
  const std::string lines = Normalized(source);
  return Lexer(lines).Run();
}

}  // namespace tessera::jinja

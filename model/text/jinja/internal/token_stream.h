// The tokens of a template, read one after the other.
//
//   if (stream.TakeName("if")) ...
//   RETURN_IF_ERROR(stream.ExpectOperator(")"));
//
// Thread-compatible.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tessera/model/text/jinja/internal/lexer.h"

namespace tessera::jinja {

class TokenStream {
 public:
  explicit TokenStream(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}  // REQUIRES: the last is kEnd.

  const Token& current() const { return tokens_[at_]; }
  const Token& next() const { return tokens_[std::min(at_ + 1, tokens_.size() - 1)]; }
  int line() const { return current().line; }
  bool Is(Token::Kind kind) const { return current().kind == kind; }
  bool IsName(absl::string_view name) const { return Is(Token::Kind::kName) && current().text == name; }
  bool IsOperator(absl::string_view text) const { return Is(Token::Kind::kOperator) && current().text == text; }
  void Skip() { at_ = std::min(at_ + 1, tokens_.size() - 1); }
  bool TakeName(absl::string_view name) { return Take(IsName(name)); }
  bool TakeOperator(absl::string_view text) { return Take(IsOperator(text)); }

  absl::Status ExpectName(absl::string_view name) { return TakeName(name) ? absl::OkStatus() : Unexpected(name); }
  absl::Status ExpectOperator(absl::string_view text) { return TakeOperator(text) ? absl::OkStatus() : Unexpected(text); }
  absl::Status Expect(Token::Kind kind);
  absl::StatusOr<std::string> ExpectAnyName();

  // Returns the error "line 3: found '%}', expected an expression".
  absl::Status Unexpected(absl::string_view expected) const;

 private:
  bool Take(bool is) {
    if (is) Skip();
    return is;
  }

  std::vector<Token> tokens_;
  size_t at_ = 0;
};

}  // namespace tessera::jinja

#include "tessera/model/text/jinja/internal/token_stream.h"

#include "tessera/base/quoted.h"
#include "tessera/model/text/jinja/internal/fail.h"

namespace tessera::jinja {
namespace {

std::string NameOf(Token::Kind kind) {
  switch (kind) {
    case Token::Kind::kData: return "the template's own text";
    case Token::Kind::kPrintBegin: return "{{";
    case Token::Kind::kPrintEnd: return "}}";
    case Token::Kind::kBlockBegin: return "{%";
    case Token::Kind::kBlockEnd: return "%}";
    case Token::Kind::kName: return "a name";
    case Token::Kind::kString: return "a string";
    case Token::Kind::kNumber: return "a number";
    case Token::Kind::kOperator: return "an operator";
    case Token::Kind::kEnd: return "the end of the template";
  }
  return "";
}

}  // namespace

absl::Status TokenStream::Expect(Token::Kind kind) {
  if (!Is(kind)) return Unexpected(NameOf(kind));
  Skip();
  return absl::OkStatus();
}

absl::StatusOr<std::string> TokenStream::ExpectAnyName() {
  if (!Is(Token::Kind::kName)) return Unexpected("a name");
  std::string name = current().text;
  Skip();
  return name;
}

absl::Status TokenStream::Unexpected(absl::string_view expected) const {
  const bool quoted = Is(Token::Kind::kName) || Is(Token::Kind::kString) || Is(Token::Kind::kOperator);
  return AtLine(line(), Fail("found ", quoted ? Quoted(current().text) : NameOf(current().kind), ", expected ", expected));
}

}  // namespace tessera::jinja

#include "tessera/model/text/jinja/template.h"

#include <utility>

#include "tessera/base/status_macros.h"
#include "tessera/model/text/jinja/internal/characters.h"
#include "tessera/model/text/jinja/internal/fail.h"
#include "tessera/model/text/jinja/internal/interpreter.h"
#include "tessera/model/text/jinja/internal/parser.h"

namespace tessera::jinja {

absl::StatusOr<Template> Template::Parse(absl::string_view source) {
  if (source.size() > kMaxBytes) return Fail("found a template of ", source.size(), " bytes, expected at most ", kMaxBytes);
  for (size_t at = 0; at < source.size();) {
    const Character character = CharacterAt(source, at);
    if (character.size == 1 && character.code >= 0x80) return Fail("found a byte at ", at, " that is no UTF-8, expected UTF-8");
    at += character.size;
  }
  ASSIGN_OR_RETURN(Syntax syntax, jinja::Parse(source));
  return Template(std::make_shared<const Syntax>(std::move(syntax)));
}

absl::StatusOr<std::vector<Piece>> Template::Render(const Variables& variables, const RenderOptions& options) const {
  ASSIGN_OR_RETURN(const Text text, Interpreter(*syntax_, variables, options).Run());
  return text.Pieces();
}

const std::vector<std::string>& Template::names() const { return syntax_->names; }

}  // namespace tessera::jinja

#include "tessera/model/text/jinja/template.h"

#include <algorithm>
#include <utility>

#include "tessera/base/status_macros.h"
#include "tessera/model/text/jinja/internal/characters.h"
#include "tessera/model/text/jinja/internal/fail.h"
#include "tessera/model/text/jinja/internal/interpreter.h"
#include "tessera/model/text/jinja/internal/parser.h"

namespace tessera::jinja {

bool IsRefusal(const absl::Status& status) { return status.GetPayload(kRefusal).has_value(); }

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

bool Template::MayRead(absl::string_view name) const {
  return std::binary_search(syntax_->may_read.begin(), syntax_->may_read.end(), name);
}

}  // namespace tessera::jinja

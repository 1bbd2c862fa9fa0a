#include "tessera/apps/show/quoted_piece.h"

#include "tessera/base/json_writer.h"
#include "tessera/base/quoted.h"

namespace tessera {

std::string QuotedPiece(absl::string_view piece) {
  JsonWriter json;
  json.String(piece);
  return PrintableLine(json.text());   // JSON leaves U+007F to U+009F unescaped.
}

}  // namespace tessera

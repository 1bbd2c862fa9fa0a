#include "tessera/apps/show/text_beginning.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "tessera/base/quoted.h"

namespace tessera {

std::string TextBeginning(absl::string_view text) {
  constexpr size_t kMost = 60;
  size_t end = std::min(text.size(), kMost);
  while (end > 0 && end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;   // Within a character.
  return absl::StrCat(PrintableLine(text.substr(0, end)), end < text.size() ? "..." : "");
}

}  // namespace tessera

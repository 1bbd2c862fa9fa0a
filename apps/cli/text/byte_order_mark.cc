#include "tessera/apps/cli/text/byte_order_mark.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace tessera {

absl::Status DropByteOrderMark(absl::string_view source, std::string* text) {
  constexpr absl::string_view kUtf8 = "\xEF\xBB\xBF", kBigUtf32("\0\0\xFE\xFF", 4);
  if (absl::StartsWith(*text, kUtf8)) text->erase(0, kUtf8.size());
  const bool other = absl::StartsWith(*text, "\xFF\xFE") || absl::StartsWith(*text, "\xFE\xFF") || absl::StartsWith(*text, kBigUtf32);
  if (!other) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(source, ": found the byte order mark of UTF-16 or UTF-32, expected text in UTF-8"));
}

}  // namespace tessera

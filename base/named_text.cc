#include "tessera/base/named_text.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tessera/base/file.h"

namespace tessera {

std::vector<std::string> NamesOf(absl::Span<const NamedText> texts) {
  std::vector<std::string> names;
  for (const NamedText& text : texts) names.push_back(text.name);
  return names;
}

absl::StatusOr<std::string> ReadNamedText(absl::string_view kind, const std::string& name_or_path,
                                          absl::Span<const NamedText> built_in, int64_t max_bytes) {
  for (const NamedText& text : built_in) {
    if (name_or_path == text.name) return text.text;
  }
  absl::StatusOr<std::string> text = ReadFileToString(name_or_path, max_bytes);
  if (absl::IsNotFound(text.status())) {
    return absl::NotFoundError(absl::StrCat(kind, ": found \"", name_or_path, "\", expected a file or one of ",
                                            absl::StrJoin(NamesOf(built_in), ", ")));
  }
  return text;
}

}  // namespace tessera

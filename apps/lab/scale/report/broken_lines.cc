#include "tessera/apps/lab/scale/report/broken_lines.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tessera/base/table.h"

namespace tessera {

std::vector<std::string> BrokenLines(absl::string_view text, size_t most) {
  if (ShownWidth(text) <= most) return {std::string(text)};
  std::vector<std::string> lines;
  for (const absl::string_view word : absl::StrSplit(text, ' ')) {
    if (!lines.empty() && ShownWidth(lines.back()) + 1 + ShownWidth(word) <= most) {
      absl::StrAppend(&lines.back(), " ", word);
    } else {
      lines.emplace_back(word);
    }
  }
  return lines;
}

}  // namespace tessera

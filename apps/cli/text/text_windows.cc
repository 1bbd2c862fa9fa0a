#include "tessera/apps/cli/text/text_windows.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "tessera/apps/cli/flags/engine_flags.h"
#include "tessera/apps/cli/flags/flags.h"
#include "tessera/base/status_macros.h"

namespace tessera {

absl::Status CheckWindowFlags() {
  RETURN_IF_ERROR(CheckFlagRange("window", FLAGS_window, 2, 1 << 20));
  return CheckFlagRange("max_windows", FLAGS_max_windows, 0, 1 << 30);
}

absl::StatusOr<TextWindows> WindowsOf(const Tokenizer& tokenizer, const std::string& text) {
  const std::vector<TokenId> tokens = tokenizer.Encode(text);
  const bool add_bos = tokenizer.adds_bos() && tokenizer.bos().has_value();
  const size_t of_text = static_cast<size_t>(FLAGS_window - (add_bos ? 1 : 0));
  TextWindows windows;
  for (size_t begin = 0; begin + of_text <= tokens.size(); begin += of_text) {
    if (FLAGS_max_windows > 0 && windows.size() == static_cast<size_t>(FLAGS_max_windows)) break;
    std::vector<TokenId> window;
    if (add_bos) window.push_back(*tokenizer.bos());
    const auto first = tokens.begin() + static_cast<std::ptrdiff_t>(begin);
    window.insert(window.end(), first, first + static_cast<std::ptrdiff_t>(of_text));
    windows.push_back(std::move(window));
  }
  if (!windows.empty()) return windows;
  return absl::InvalidArgumentError(absl::StrCat("text: found ", tokens.size(), " tokens, expected at least ", of_text,
                                                 ", a window (--window)"));
}

}  // namespace tessera

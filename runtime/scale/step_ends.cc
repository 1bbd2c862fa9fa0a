#include "tessera/runtime/scale/step_ends.h"

#include <string>

#include <glog/logging.h>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"

namespace tessera {

std::vector<int> StepEnds(const Tokenizer& tokenizer, absl::Span<const TokenId> tokens, absl::string_view delimiter) {
  CHECK(!tokens.empty()) << "no tokens";
  const int last = static_cast<int>(tokens.size()) - 1;
  std::vector<int> ends;
  if (!delimiter.empty()) {
    std::string step;   // The text since the last end.
    for (int i = 0; i <= last; ++i) {
      const size_t before = step.size();
      step += tokenizer.Piece(tokens[static_cast<size_t>(i)]);
      // A delimiter may begin in an earlier token.
      const size_t from = before < delimiter.size() ? 0 : before - delimiter.size() + 1;
      if (!absl::StrContains(absl::string_view(step).substr(from), delimiter)) continue;
      if (!absl::StripAsciiWhitespace(step).empty()) ends.push_back(i);
      step.clear();
    }
    if (!ends.empty() && absl::StripAsciiWhitespace(step).empty()) return ends;
  }
  ends.push_back(last);
  return ends;
}

}  // namespace tessera

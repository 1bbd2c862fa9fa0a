#include "tessera/runtime/chat/message_lines.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace tessera {
namespace {

constexpr absl::string_view kQuotes = "\"\"\"";

}  // namespace

bool MessageLines::Add(absl::string_view line, std::string* message) {
  if (open_) return AddRest(line, message);
  if (!absl::ConsumePrefix(&line, kQuotes)) {
    *message = std::string(line);
    return true;
  }
  open_ = true;
  has_line_ = false;
  text_.clear();
  return line.empty() ? false : AddRest(line, message);
}

bool MessageLines::AddRest(absl::string_view line, std::string* message) {
  const bool ends = absl::ConsumeSuffix(&line, kQuotes);
  if (!ends || !line.empty()) {
    absl::StrAppend(&text_, has_line_ ? "\n" : "", line);
    has_line_ = true;
  }
  if (!ends) return false;
  open_ = false;
  *message = text_;
  return true;
}

}  // namespace tessera

#include "tessera/model/text/jinja/internal/text_functions.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "tessera/base/status_macros.h"
#include "tessera/model/text/jinja/internal/characters.h"
#include "tessera/model/text/jinja/internal/fail.h"
#include "tessera/model/text/jinja/internal/search.h"

namespace tessera::jinja {

absl::StatusOr<Value> Stripped(Runtime& runtime, const Text& text, const Value& set, bool left, bool right) {
  if (!set.is_none() && !set.is_text()) return Fail("found ", TypeName(set), " as characters to strip, expected text");
  const absl::string_view bytes = text.bytes();
  RETURN_IF_ERROR(runtime.Scan(bytes.size()));
  if (!set.is_none()) {
    size_t product = 0;
    if (__builtin_mul_overflow(bytes.size(), set.text().size(), &product)) product = SIZE_MAX / 2;
    RETURN_IF_ERROR(runtime.Step(product / 64));
  }
  const size_t begin = !left ? 0 : set.is_none() ? LeadingSpace(bytes) : LeadingOf(bytes, set.text().bytes());
  const absl::string_view rest = bytes.substr(begin);
  const size_t end = bytes.size() - (!right ? 0 : set.is_none() ? TrailingSpace(rest) : TrailingOf(rest, set.text().bytes()));
  return runtime.New(text.Part(begin, end));
}

absl::StatusOr<Value> Replaced(Runtime& runtime, const Text& text, const Text& from, const Text& to, int64_t count) {
  RETURN_IF_ERROR(runtime.Scan(text.size() + from.size()));
  const std::string& bytes = text.bytes();
  const Search search(from.bytes());
  Text out;
  size_t at = 0;
  while (count != 0) {
    // An empty text is found between all characters, and at the end.
    const size_t found = search.First(bytes, at);
    if (found == Search::kNowhere) break;
    RETURN_IF_ERROR(runtime.Charge(to));
    RETURN_IF_ERROR(runtime.Step());
    out.AppendPart(text, at, found);
    out.Append(to);
    --count;
    at = found + from.size();
    if (!from.empty()) continue;
    if (at == bytes.size()) break;
    const size_t size = CharacterAt(bytes, at).size;
    out.AppendPart(text, at, at + size);
    at += size;
  }
  out.AppendPart(text, at, bytes.size());
  return runtime.New(std::move(out));
}

absl::StatusOr<std::vector<Text>> Lines(Runtime& runtime, const Text& text, bool keep_ends) {
  std::vector<Text> lines;
  const std::string& bytes = text.bytes();
  RETURN_IF_ERROR(runtime.Scan(text.size()));
  size_t begin = 0;
  for (size_t at = 0; at < bytes.size();) {
    const auto [code, size] = CharacterAt(bytes, at);
    const size_t end = at;
    at += size;
    if (!IsLineBreak(code)) continue;
    if (code == '\r' && at < bytes.size() && bytes[at] == '\n') ++at;
    lines.push_back(text.Part(begin, keep_ends ? at : end));
    RETURN_IF_ERROR(runtime.Step());
    RETURN_IF_ERROR(runtime.Charge(lines.back()));
    begin = at;
  }
  if (begin < bytes.size()) lines.push_back(text.Part(begin, bytes.size()));
  return lines;
}

absl::StatusOr<Value> Centered(Runtime& runtime, const Value& self, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const auto given, Bind("center", arguments, {"width", "fill"}, 1));
  const Value fill = given[1].value_or(Value::Of(Text(" ", false)));
  if (!given[0]->is_integral()) return Fail("center: found ", TypeName(*given[0]), " as width, expected an integer");
  if (!fill.is_text() || CountCharacters(fill.text().bytes()) != 1) return Fail("center: found another fill than one character");
  RETURN_IF_ERROR(runtime.Scan(self.text().size()));
  const int64_t size = CountCharacters(self.text().bytes()), width = given[0]->integer();
  if (width <= size) return self;
  size_t bytes = 0;
  if (__builtin_mul_overflow(static_cast<size_t>(width - size), fill.text().held_bytes(), &bytes)) bytes = SIZE_MAX;
  RETURN_IF_ERROR(runtime.Bytes(bytes));
  RETURN_IF_ERROR(runtime.Step(bytes / 16));
  RETURN_IF_ERROR(runtime.Charge(self.text()));
  const int64_t missing = width - size, left = missing / 2 + (missing & width & 1);
  Text out;
  for (int64_t i = 0; i < left; ++i) out.Append(fill.text());
  out.Append(self.text());
  for (int64_t i = left; i < missing; ++i) out.Append(fill.text());
  return Value::Of(std::move(out));
}

}  // namespace tessera::jinja

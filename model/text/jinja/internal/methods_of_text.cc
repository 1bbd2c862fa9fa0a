// Methods of texts, like the methods of str in Python.
#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/text/jinja/internal/characters.h"
#include "tessera/model/text/jinja/internal/compare.h"
#include "tessera/model/text/jinja/internal/fail.h"
#include "tessera/model/text/jinja/internal/format.h"
#include "tessera/model/text/jinja/internal/letter_case.h"
#include "tessera/model/text/jinja/internal/search.h"
#include "tessera/model/text/jinja/internal/text_functions.h"

namespace tessera::jinja {
namespace {

using Result = absl::StatusOr<Value>;

absl::Status WantText(absl::string_view method, const Value& value) {
  if (value.is_text()) return absl::OkStatus();
  return Fail(method, ": found ", TypeName(value), ", expected text");
}

// Safe text would escape its arguments, which is not supported.
absl::Status WantPlain(absl::string_view method, const Value& self) {
  return self.text().safe() ? Fail(method, ": found safe text, which is not supported there") : absl::OkStatus();
}

template <bool left, bool right>
Result Strip(Runtime& runtime, const Value& self, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const auto given, Bind("strip", arguments, {"chars"}));
  return Stripped(runtime, self.text(), given[0].value_or(Value::None()), left, right);
}

template <LetterCase wanted>
Result Case(Runtime& runtime, const Value& self, const Arguments& arguments) {
  RETURN_IF_ERROR(Bind("a method of letters", arguments, {}).status());
  ASSIGN_OR_RETURN(Text cased, Cased(runtime, self.text(), wanted));
  cased.set_safe(self.text().safe());
  return runtime.New(std::move(cased));
}

// Returns the bounds of a search, in bytes; nullopt if no match is possible.
absl::StatusOr<std::optional<std::pair<size_t, size_t>>> Bounds(const Text& text, const std::optional<Value>& first,
                                                                const std::optional<Value>& last) {
  const auto none = [](const std::optional<Value>& bound) { return !bound || bound->is_none(); };
  if (none(first) && none(last)) return std::make_pair(size_t{0}, text.size());
  const int64_t size = CountCharacters(text.bytes());
  int64_t bounds[2] = {0, size};
  const std::optional<Value>* const given[2] = {&first, &last};
  for (int i = 0; i < 2; ++i) {
    if (none(*given[i])) continue;
    if (!(*given[i])->is_integral()) return Fail("found ", TypeName(**given[i]), " as a bound, expected an integer");
    bounds[i] = (*given[i])->integer();
    if (bounds[i] < 0) bounds[i] = std::max<int64_t>(0, bounds[i] + size);
  }
  bounds[1] = std::min(bounds[1], size);
  if (bounds[0] > bounds[1]) return std::optional<std::pair<size_t, size_t>>();
  return std::make_pair(OffsetOf(text.bytes(), bounds[0]), OffsetOf(text.bytes(), bounds[1]));
}

template <bool at_end>
Result Affix(Runtime& runtime, const Value& self, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const auto given, Bind(at_end ? "endswith" : "startswith", arguments, {"affix", "start", "end"}, 1));
  if (given[1] || given[2]) RETURN_IF_ERROR(runtime.Scan(self.text().size()));
  const bool tuple = given[0]->kind() == Value::Kind::kItems && given[0]->items().form == Items::Form::kTuple;
  const std::vector<Value> affixes = tuple ? given[0]->items().elements : std::vector<Value>{*given[0]};
  ASSIGN_OR_RETURN(const auto bounds, Bounds(self.text(), given[1], given[2]));
  bool found = false;
  for (const Value& affix : affixes) {
    RETURN_IF_ERROR(WantText(at_end ? "endswith" : "startswith", affix));
    RETURN_IF_ERROR(runtime.Step(static_cast<size_t>(affix.weight())));
    if (!bounds) continue;
    const absl::string_view part = absl::string_view(self.text().bytes()).substr(bounds->first, bounds->second - bounds->first);
    found = found || (at_end ? absl::EndsWith(part, affix.text().bytes()) : absl::StartsWith(part, affix.text().bytes()));
  }
  return Value::Bool(found);
}

template <bool from_end, bool must>
Result Find(Runtime& runtime, const Value& self, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const auto given, Bind("find", arguments, {"text", "start", "end"}, 1));
  RETURN_IF_ERROR(WantText("find", *given[0]));
  RETURN_IF_ERROR(runtime.Scan(self.text().size() + given[0]->text().size()));
  ASSIGN_OR_RETURN(const auto bounds, Bounds(self.text(), given[1], given[2]));
  size_t at = std::string::npos;
  if (bounds) {
    const absl::string_view part = absl::string_view(self.text().bytes()).substr(0, bounds->second);
    const Search search(given[0]->text().bytes(), from_end);
    at = from_end ? search.Last(part) : search.First(part, bounds->first);
    if (at != std::string::npos && at < bounds->first) at = std::string::npos;
  }
  if (must && at == std::string::npos) return Fail("index: found no such text");
  return Value::Int(at == std::string::npos ? -1 : CountCharacters(absl::string_view(self.text().bytes()).substr(0, at)));
}

Result Count(Runtime& runtime, const Value& self, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const auto given, Bind("count", arguments, {"text", "start", "end"}, 1));
  RETURN_IF_ERROR(WantText("count", *given[0]));
  RETURN_IF_ERROR(runtime.Scan(self.text().size() + given[0]->text().size()));
  ASSIGN_OR_RETURN(const auto bounds, Bounds(self.text(), given[1], given[2]));
  if (!bounds) return Value::Int(0);
  const absl::string_view part = absl::string_view(self.text().bytes()).substr(bounds->first, bounds->second - bounds->first);
  const Search search(given[0]->text().bytes());
  if (search.size() == 0) return Value::Int(CountCharacters(part) + 1);
  int64_t count = 0;
  for (size_t at = 0; (at = search.First(part, at)) != Search::kNowhere; at += search.size()) ++count;
  return Value::Int(count);
}

Result Replace(Runtime& runtime, const Value& self, const Arguments& arguments) {
  RETURN_IF_ERROR(WantPlain("replace", self));
  // By position alone before Python 3.13, which also takes count=.
  ASSIGN_OR_RETURN(const auto given, Bind("replace", arguments, {"old", "new", "count"}, 2));
  RETURN_IF_ERROR(WantText("replace", *given[0]));
  RETURN_IF_ERROR(WantText("replace", *given[1]));
  const Value count = given[2].value_or(Value::Int(-1));
  if (!count.is_integral()) return Fail("replace: found ", TypeName(count), " as count, expected an integer");
  return Replaced(runtime, self.text(), given[0]->text(), given[1]->text(), count.integer());
}

using Texts = absl::StatusOr<std::vector<Text>>;

absl::Status AddPart(Runtime& runtime, Text part, std::vector<Text>& parts) {
  RETURN_IF_ERROR(runtime.Step());
  RETURN_IF_ERROR(runtime.Charge(part));
  parts.push_back(std::move(part));
  return absl::OkStatus();
}

// Returns the parts of a text between white space, at most `most` + 1 parts unless `most` is negative.
Texts Words(Runtime& runtime, const Text& text, int64_t most, bool from_end) {
  const absl::string_view bytes = text.bytes();
  RETURN_IF_ERROR(runtime.Step(bytes.size() / 8));
  std::vector<std::pair<size_t, size_t>> bounds;
  for (size_t at = LeadingSpace(bytes); at < bytes.size();) {
    const size_t begin = at;
    while (at < bytes.size() && !IsSpace(CharacterAt(bytes, at).code)) at += CharacterAt(bytes, at).size;
    RETURN_IF_ERROR(runtime.Bytes(sizeof(bounds[0])));
    bounds.emplace_back(begin, at);
    at += LeadingSpace(bytes.substr(at));
  }
  const size_t count = bounds.size();
  if (most >= 0 && count > static_cast<size_t>(most)) {  // The rest is one part; the white space at its far end stays.
    const size_t kept = static_cast<size_t>(most);
    const size_t begin = from_end ? 0 : bounds[kept].first, end = from_end ? bounds[count - 1 - kept].second : bytes.size();
    if (from_end) bounds.erase(bounds.begin(), bounds.end() - static_cast<int64_t>(kept));
    else bounds.resize(kept);
    bounds.insert(from_end ? bounds.begin() : bounds.end(), {begin, end});
  }
  std::vector<Text> words;
  for (const auto& [begin, end] : bounds) RETURN_IF_ERROR(AddPart(runtime, text.Part(begin, end), words));
  return words;
}

Texts Parts(Runtime& runtime, const Text& text, const std::string& separator, int64_t most, bool from_end) {
  RETURN_IF_ERROR(runtime.Scan(text.size() + separator.size()));
  const Search search(separator, from_end);
  std::vector<Text> parts;
  const std::string& bytes = text.bytes();
  size_t begin = 0, end = bytes.size();
  for (; most != 0; --most) {
    const absl::string_view rest = absl::string_view(bytes).substr(0, end);
    const size_t at = from_end ? search.Last(rest) : search.First(rest, begin);
    if (at == Search::kNowhere) break;
    RETURN_IF_ERROR(AddPart(runtime, from_end ? text.Part(at + separator.size(), end) : text.Part(begin, at), parts));
    if (from_end) end = at;
    else begin = at + separator.size();
  }
  RETURN_IF_ERROR(AddPart(runtime, text.Part(begin, end), parts));
  if (from_end) std::reverse(parts.begin(), parts.end());
  return parts;
}

// Makes a list of texts whose parts are already charged.
Result ListOf(Runtime& runtime, Texts texts) {
  RETURN_IF_ERROR(texts.status());
  std::vector<Value> values;
  for (Text& text : *texts) values.push_back(Value::Of(std::move(text)));
  return runtime.List(std::move(values));
}

template <bool from_end>
Result Split(Runtime& runtime, const Value& self, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const auto given, Bind("split", arguments, {"sep", "maxsplit"}));
  const Value separator = given[0].value_or(Value::None()), most = given[1].value_or(Value::Int(-1));
  if (!most.is_integral()) return Fail("split: found ", TypeName(most), " as maxsplit, expected an integer");
  if (separator.is_none()) return ListOf(runtime, Words(runtime, self.text(), most.integer(), from_end));
  RETURN_IF_ERROR(WantText("split", separator));
  if (separator.text().empty()) return Fail("split: found an empty separator");
  return ListOf(runtime, Parts(runtime, self.text(), separator.text().bytes(), most.integer(), from_end));
}

template <bool from_end>
Result Partition(Runtime& runtime, const Value& self, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const auto given, Bind("partition", arguments, {"sep"}, 1));
  RETURN_IF_ERROR(WantText("partition", *given[0]));
  if (given[0]->text().empty()) return Fail("partition: found an empty separator");
  ASSIGN_OR_RETURN(std::vector<Text> parts, Parts(runtime, self.text(), given[0]->text().bytes(), 1, from_end));
  const bool found = parts.size() == 2;
  if (found) parts.insert(parts.begin() + 1, given[0]->text());
  else parts.insert(from_end ? parts.begin() : parts.end(), 2, Text());
  ASSIGN_OR_RETURN(const Value list, ListOf(runtime, std::move(parts)));
  return runtime.New(Items{Items::Form::kTuple, list.items().elements});
}

Result SplitLines(Runtime& runtime, const Value& self, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const auto given, Bind("splitlines", arguments, {"keepends"}));
  return ListOf(runtime, Lines(runtime, self.text(), Truth(given[0].value_or(Value()))));
}

Result Join(Runtime& runtime, const Value& self, const Arguments& arguments) {
  RETURN_IF_ERROR(WantPlain("join", self));
  ASSIGN_OR_RETURN(const auto given, Bind("join", arguments, {"texts"}, 1));
  ASSIGN_OR_RETURN(const std::vector<Value> elements, runtime.Elements(*given[0]));
  Text out;
  for (size_t i = 0; i < elements.size(); ++i) {
    RETURN_IF_ERROR(WantText("join", elements[i]));
    RETURN_IF_ERROR(runtime.Bytes(self.text().held_bytes() + elements[i].text().held_bytes()));
    if (i > 0) out.Append(self.text());
    out.Append(elements[i].text());
  }
  return Value::Of(std::move(out));
}

template <bool prefix>
Result Remove(Runtime& runtime, const Value& self, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const auto given, Bind("removeprefix", arguments, {"affix"}, 1));
  RETURN_IF_ERROR(WantText("removeprefix", *given[0]));
  const std::string &bytes = self.text().bytes(), &affix = given[0]->text().bytes();
  if (!(prefix ? absl::StartsWith(bytes, affix) : absl::EndsWith(bytes, affix)) || affix.empty()) return self;
  return runtime.New(prefix ? self.text().Part(affix.size(), bytes.size()) : self.text().Part(0, bytes.size() - affix.size()));
}

template <bool upper>
Result IsCase(Runtime& runtime, const Value& self, const Arguments& arguments) {
  RETURN_IF_ERROR(Bind("isupper", arguments, {}).status());
  ASSIGN_OR_RETURN(const bool all, AllOfCase(runtime, self.text(), upper));
  return Value::Bool(all);
}

// Python's answers beyond ASCII depend on its version, so they are refused.
template <int (*is)(int)>
Result IsAscii(Runtime& runtime, const Value& self, const Arguments& arguments) {
  RETURN_IF_ERROR(Bind("a test of characters", arguments, {}).status());
  RETURN_IF_ERROR(runtime.Scan(self.text().size()));
  bool all = !self.text().empty();
  for (const char character : self.text().bytes()) {
    if (static_cast<unsigned char>(character) >= 0x80) return Fail("found characters beyond ASCII to test, which are not supported");
    all = all && is(static_cast<unsigned char>(character)) != 0;
  }
  return Value::Bool(all);
}

int Alphabetic(int c) { return std::isalpha(c); }
int Digit(int c) { return std::isdigit(c); }
int Alphanumeric(int c) { return std::isalnum(c); }

Result IsSpaces(Runtime& runtime, const Value& self, const Arguments& arguments) {
  RETURN_IF_ERROR(Bind("isspace", arguments, {}).status());
  RETURN_IF_ERROR(runtime.Scan(self.text().size()));
  return Value::Bool(!self.text().empty() && LeadingSpace(self.text().bytes()) == self.text().size());
}

Result FormatMethod(Runtime& runtime, const Value& self, const Arguments& arguments) {
  return FormatFields(runtime, self.text(), arguments);
}

constexpr NamedFilter kMethods[] = {
    {"capitalize", Case<LetterCase::kCapitalized>}, {"center", Centered}, {"count", Count}, {"endswith", Affix<true>},
    {"find", Find<false, false>}, {"format", FormatMethod}, {"index", Find<false, true>}, {"isalnum", IsAscii<Alphanumeric>},
    {"isalpha", IsAscii<Alphabetic>}, {"isdecimal", IsAscii<Digit>}, {"isdigit", IsAscii<Digit>}, {"islower", IsCase<false>},
    {"isnumeric", IsAscii<Digit>}, {"isspace", IsSpaces}, {"isupper", IsCase<true>}, {"join", Join}, {"lower", Case<LetterCase::kLower>},
    {"lstrip", Strip<true, false>}, {"partition", Partition<false>}, {"removeprefix", Remove<true>}, {"removesuffix", Remove<false>},
    {"replace", Replace}, {"rfind", Find<true, false>}, {"rindex", Find<true, true>}, {"rpartition", Partition<true>},
    {"rsplit", Split<true>}, {"rstrip", Strip<false, true>}, {"split", Split<false>}, {"splitlines", SplitLines},
    {"startswith", Affix<false>}, {"strip", Strip<true, true>}, {"upper", Case<LetterCase::kUpper>},
};

}  // namespace

absl::Span<const NamedFilter> TextMethods() { return kMethods; }

}  // namespace tessera::jinja

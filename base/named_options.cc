#include "tessera/base/named_options.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/cord.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "tessera/base/joined_status.h"

namespace tessera {
namespace {

constexpr char kNamed[] = "tessera/named_options";
constexpr char kBetween = '\0';

bool IsPartOfWord(char c) { return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-'; }

// Whether `text` stands at `place` of the message, and not within a longer word.
bool StandsAt(absl::string_view message, size_t place, absl::string_view text) {
  if (text.empty() || !absl::StartsWith(message.substr(place), text)) return false;
  const size_t end = place + text.size();
  return (place == 0 || !IsPartOfWord(message[place - 1])) && (end == message.size() || !IsPartOfWord(message[end]));
}

// Returns the name with which a text begins.
absl::string_view OptionOf(absl::string_view text) {
  const auto end = std::find_if(text.begin(), text.end(), [](char c) { return c == '-' || !IsPartOfWord(c); });
  return text.substr(0, static_cast<size_t>(end - text.begin()));
}

// Returns the place behind a quoted part that begins at `place`; a quote in it has a backslash before it.
size_t EndOfQuoted(absl::string_view message, size_t place) {
  for (++place; place < message.size() && message[place] != '"'; ++place) {
    if (message[place] == '\\') ++place;
  }
  return std::min(place + 1, message.size());
}

}  // namespace

absl::Status NamingOptions(const std::vector<std::string>& texts, absl::Status status) {
  const std::string all = absl::StrJoin(texts, std::string(1, kBetween));
  status.SetPayload(kNamed, absl::Cord(absl::string_view(all)));   // Clang finds no Cord of a string in Debian's library.
  return status;
}

absl::Status WithOptionNames(const absl::Status& status, absl::FunctionRef<std::string(absl::string_view option)> name_of) {
  const auto payload = status.GetPayload(kNamed);
  if (!payload.has_value()) return status;
  const std::string named(*payload);
  const std::vector<absl::string_view> texts = absl::StrSplit(named, kBetween, absl::SkipEmpty());
  const absl::string_view message = status.message();
  std::string with_names;
  for (size_t place = 0; place < message.size();) {
    const auto stands_here = [&](absl::string_view text) { return StandsAt(message, place, text); };
    const auto text = std::find_if(texts.begin(), texts.end(), stands_here);
    if (text != texts.end()) {
      const absl::string_view option = OptionOf(*text);
      absl::StrAppend(&with_names, name_of(option));
      place += option.size();
      continue;
    }
    const size_t end = message[place] == '"' ? EndOfQuoted(message, place) : place + 1;
    absl::StrAppend(&with_names, message.substr(place, end - place));
    place = end;
  }
  return WithMessage(status, with_names);
}

}  // namespace tessera

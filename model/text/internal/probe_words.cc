#include "tessera/model/text/internal/probe_words.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace tessera {
namespace {

constexpr absl::string_view kBegin = "tessera-", kEndOfWord = "-probe", kEndOfKey = "-key";

}  // namespace

std::string ProbeWord(size_t number) { return absl::StrCat(kBegin, number, kEndOfWord); }

std::string ProbeKey(size_t number) { return absl::StrCat(kBegin, number, kEndOfKey); }

FoundProbes::FoundProbes(absl::string_view text, size_t count) : words(count), keys(count) {
  for (size_t at = text.find(kBegin); at != text.npos; at = text.find(kBegin, at)) {
    at += kBegin.size();
    const size_t end = std::min(text.find_first_not_of("0123456789", at), text.size());
    size_t number = 0;
    if (!absl::SimpleAtoi(text.substr(at, end - at), &number) || number >= count) continue;
    if (absl::StartsWith(text.substr(end), kEndOfWord)) words[number] = true;
    if (absl::StartsWith(text.substr(end), kEndOfKey)) keys[number] = true;
  }
}

}  // namespace tessera

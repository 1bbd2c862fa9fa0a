#include "tessera/model/text/internal/normal_form.h"

#include <glog/logging.h>
#include <utf8proc.h>

#include <algorithm>
#include <iterator>
#include <vector>

#include "tessera/model/text/internal/unicode_traits.h"
#include "tessera/model/text/internal/utf8.h"

namespace tessera {
namespace {

static_assert(UTF8PROC_VERSION_MAJOR * 1000 + UTF8PROC_VERSION_MINOR >= 2008, "utf8proc 2.8 is the first that knows Unicode 15");

constexpr auto kOptions = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE);

int CombiningClass(utf8proc_int32_t code) { return utf8proc_get_property(code)->combining_class; }

// Sorts marks. utf8proc would sort marks by insertion, in quadratic time.
void SortMarks(std::vector<utf8proc_int32_t>& codes) {
  for (auto begin = codes.begin(); begin != codes.end();) {
    const auto end = std::find_if(begin, codes.end(), [](utf8proc_int32_t code) { return CombiningClass(code) == 0; });
    std::stable_sort(begin, end, [](utf8proc_int32_t a, utf8proc_int32_t b) { return CombiningClass(a) < CombiningClass(b); });
    begin = end == codes.end() ? end : std::next(end);
  }
}

// Appends composed text. REQUIRES: valid UTF-8, all of it assigned in Unicode 15.
void AppendComposed(absl::string_view text, std::string& out) {
  std::vector<utf8proc_int32_t> codes;
  for (size_t at = 0; at < text.size();) {
    utf8proc_int32_t code = 0, parts[8];
    at += static_cast<size_t>(utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()) + at,
                                               static_cast<utf8proc_ssize_t>(text.size() - at), &code));
    int boundary = 0;
    const utf8proc_ssize_t count = utf8proc_decompose_char(code, parts, std::size(parts),
                                                           static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_DECOMPOSE), &boundary);
    CHECK(count > 0 && count <= static_cast<utf8proc_ssize_t>(std::size(parts))) << code;
    codes.insert(codes.end(), parts, parts + count);
  }
  SortMarks(codes);
  const utf8proc_ssize_t count = utf8proc_normalize_utf32(codes.data(), static_cast<utf8proc_ssize_t>(codes.size()), kOptions);
  CHECK_GE(count, 0) << utf8proc_errmsg(count);
  for (utf8proc_ssize_t i = 0; i < count; ++i) {
    utf8proc_uint8_t bytes[4];
    out.append(reinterpret_cast<const char*>(bytes), static_cast<size_t>(utf8proc_encode_char(codes[i], bytes)));
  }
}

enum class Place { kAlone, kSettled, kUnsettled };

// kAlone: no neighbour matters for the sequence.
Place PlaceOf(absl::string_view sequence, Utf8State state) {
  if (state != Utf8State::kValid) return Place::kAlone;
  utf8proc_int32_t code = 0;
  utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(sequence.data()), static_cast<utf8proc_ssize_t>(sequence.size()), &code);
  const UnicodeTable& table = UnicodeTable::Get();
  if ((table.Traits(static_cast<uint32_t>(code)) & kUnassigned) != 0) return Place::kAlone;
  return table.Unsettled(static_cast<uint32_t>(code)) ? Place::kUnsettled : Place::kSettled;
}

}  // namespace

// A group is a settled character with the unsettled characters that follow. Text outside the group does not matter for the group.
absl::string_view NormalFormC(absl::string_view text, std::string& composed) {
  size_t copied = 0, group = 0, at = 0;  // A group begins at `group`.
  bool unsettled = false;
  composed.clear();
  const auto end_group = [&](size_t end) {
    if (unsettled) {
      composed.append(text.data() + copied, group - copied);
      AppendComposed(text.substr(group, end - group), composed);
      copied = end;
    }
    unsettled = false;
    group = end;
  };
  while (at < text.size()) {
    const size_t ascii = AsciiPrefix(text.substr(at));
    if (ascii > 0) {
      end_group(at);
      at += ascii;
      group = at - 1;
      continue;
    }
    const Utf8Sequence sequence = ReadUtf8(text.substr(at));
    const Place place = PlaceOf(text.substr(at, sequence.size), sequence.state);
    if (place == Place::kUnsettled) unsettled = true;
    else end_group(at);
    at += sequence.size;
    if (place == Place::kAlone) group = at;
  }
  end_group(text.size());
  if (copied == 0) return text;
  composed.append(text.data() + copied, text.size() - copied);
  return composed;
}

}  // namespace tessera

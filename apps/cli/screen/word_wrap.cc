#include "tessera/apps/cli/screen/word_wrap.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include <utf8proc.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace tessera {
namespace {

constexpr int kTab = 8;

bool IsControl(char32_t character) { return character < 0x20 || (character >= 0x7F && character < 0xA0); }

std::string Escaped(uint32_t value) { return absl::StrFormat("\\x%02x", value); }   // In four columns.

// Returns the bytes of the character that begins with `first`; 1 for a byte that begins none.
size_t SizeOf(unsigned char first) { return first < 0xC0 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : first < 0xF8 ? 4 : 1; }

// Returns the column after `blanks` that begin at `column`.
int After(absl::string_view blanks, int column) {
  for (char blank : blanks) column = blank == '\t' ? (column / kTab + 1) * kTab : column + 1;
  return column;
}

}  // namespace

int ColumnsOf(char32_t character) { return std::clamp(utf8proc_charwidth(static_cast<utf8proc_int32_t>(character)), 0, 2); }

std::string WordWrap::Add(absl::string_view text) {
  absl::StrAppend(&waiting_, text);
  TakeWaiting(/*at_end=*/false);
  return std::exchange(shown_, "");
}

void WordWrap::TakeWaiting(bool at_end) {
  absl::string_view rest = waiting_;
  while (!rest.empty() && (at_end || rest.size() >= SizeOf(static_cast<unsigned char>(rest[0])))) {
    utf8proc_int32_t character = -1;
    const utf8proc_ssize_t size =
        utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(rest.data()), static_cast<utf8proc_ssize_t>(rest.size()), &character);
    const absl::string_view bytes = rest.substr(0, std::max<utf8proc_ssize_t>(size, 1));
    rest.remove_prefix(bytes.size());
    if (character == '\n' || character == ' ' || character == '\t') AddBlank(bytes[0]);
    else if (character < 0) AddCharacter(Escaped(static_cast<unsigned char>(bytes[0])), 4);
    else if (IsControl(character)) AddCharacter(Escaped(static_cast<uint32_t>(character)), 4);
    else AddCharacter(bytes, ColumnsOf(character));
  }
  waiting_ = std::string(rest);
}

std::string WordWrap::Finish() {
  TakeWaiting(/*at_end=*/true);
  EndWord();
  blanks_.clear();
  column_ = 0;
  return std::exchange(shown_, "");
}

void WordWrap::AddBlank(char blank) {
  EndWord();
  if (blank != '\n') {
    blanks_ += blank;
    return;
  }
  blanks_.clear();
  column_ = 0;
  shown_ += '\n';
}

void WordWrap::AddCharacter(absl::string_view bytes, int columns) {
  if (columns == 2) {
    EndWord();
    Place(bytes, columns);
    return;
  }
  if (columns == 0 && word_.empty() && blanks_.empty()) {  // Combines with the wide character before, or stands alone.
    absl::StrAppend(&shown_, bytes);
    return;
  }
  absl::StrAppend(&word_, bytes);
  word_columns_ += columns;
  if (passing_ || word_columns_ > columns_) {
    Place(std::exchange(word_, ""), std::exchange(word_columns_, 0));
    passing_ = true;
  }
}

void WordWrap::EndWord() {
  if (!word_.empty()) Place(std::exchange(word_, ""), std::exchange(word_columns_, 0));
  passing_ = false;
}

void WordWrap::Place(absl::string_view word, int columns) {
  const int begin = After(blanks_, column_);
  if (!passing_ && column_ > 0 && begin + columns > columns_) {
    shown_ += '\n';
    column_ = 0;
  } else {
    absl::StrAppend(&shown_, blanks_);
    column_ = begin;
  }
  blanks_.clear();
  absl::StrAppend(&shown_, word);
  column_ += columns;
  if (column_ > columns_) column_ = (column_ - 1) % columns_ + 1;   // The terminal has broken the word.
}

}  // namespace tessera

#include "tessera/model/files/internal/pattern_nodes.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "tessera/base/quoted.h"
#include "tessera/base/status_macros.h"

namespace tessera {
namespace {

using ByteSet = NamePattern::ByteSet;
using Step = NamePattern::Step;

ByteSet SetOf(bool (*holds)(unsigned char)) {
  ByteSet set;
  for (size_t byte = 0; byte < set.size(); ++byte) set[byte] = holds(static_cast<unsigned char>(byte));
  return set;
}

ByteSet SetOfByte(char byte) { return ByteSet().set(static_cast<unsigned char>(byte)); }

bool IsWordByte(unsigned char byte) { return absl::ascii_isalnum(byte) || byte == '_'; }

// Returns the class of \d, \w, \s and their opposites; nullopt: another letter.
std::optional<ByteSet> ClassOf(char letter) {
  switch (letter) {
    case 'd': return SetOf(absl::ascii_isdigit);
    case 'D': return ~SetOf(absl::ascii_isdigit);
    case 'w': return SetOf(IsWordByte);
    case 'W': return ~SetOf(IsWordByte);
    case 's': return SetOf(absl::ascii_isspace);
    case 'S': return ~SetOf(absl::ascii_isspace);
    default: return std::nullopt;
  }
}

// Returns the place of \b, \B, \A and \Z; kDone: another letter.
Step::Kind PlaceOf(char letter) {
  switch (letter) {
    case 'b': return Step::kEdge;
    case 'B': return Step::kNoEdge;
    case 'A': return Step::kBegin;
    case 'Z': return Step::kEnd;
    default: return Step::kDone;
  }
}

PatternNode Bytes(const ByteSet& bytes) { return {.kind = PatternNode::kBytes, .bytes = bytes}; }
PatternNode Place(Step::Kind step) { return {.kind = PatternNode::kPlace, .step = step}; }

class Parser {
 public:
  explicit Parser(absl::string_view text) : text_(text) {}

  absl::StatusOr<PatternNode> Parse() {
    for (size_t i = 0; i < text_.size(); ++i) {
      if (absl::ascii_isascii(static_cast<unsigned char>(text_[i]))) continue;
      return Wrong(i, "a byte beyond ASCII", "ASCII, as names of modules are");
    }
    ASSIGN_OR_RETURN(PatternNode node, Choice(0));
    if (at_ < text_.size()) return Wrong(at_, "\")\"", "the \"(\" before it");
    return node;
  }

 private:
  static absl::Status Wrong(size_t at, absl::string_view found, absl::string_view expected) {
    return absl::InvalidArgumentError(absl::StrCat("byte ", at, ": found ", found, ", expected ", expected));
  }
  bool Sees(absl::string_view what) const { return absl::StartsWith(text_.substr(at_), what); }
  bool Take(absl::string_view what) {
    if (!Sees(what)) return false;
    at_ += what.size();
    return true;
  }

  absl::StatusOr<PatternNode> Choice(int depth) {
    if (depth > kMostPatternDepth) return Wrong(at_, "more groups within groups", absl::StrCat(kMostPatternDepth, " or less"));
    PatternNode choice = {.kind = PatternNode::kChoice};
    do {
      ASSIGN_OR_RETURN(PatternNode part, Sequence(depth));
      choice.parts.push_back(std::move(part));
    } while (Take("|"));
    return choice.parts.size() == 1 ? std::move(choice.parts[0]) : std::move(choice);
  }

  absl::StatusOr<PatternNode> Sequence(int depth) {
    PatternNode sequence;
    while (at_ < text_.size() && !Sees("|") && !Sees(")")) {
      const size_t begin = at_;
      ASSIGN_OR_RETURN(PatternNode item, Item(depth));
      ASSIGN_OR_RETURN(item, Repeated(std::move(item), begin));
      sequence.parts.push_back(std::move(item));
    }
    return sequence;
  }

  absl::StatusOr<PatternNode> Item(int depth) {
    const size_t begin = at_;
    const char byte = text_[at_++];
    switch (byte) {
      case '(': return Group(begin, depth);
      case '[': return Class(begin);
      case '\\': return Escape();
      case '^': return Place(Step::kBegin);
      case '$': return Place(Step::kEnd);
      case '.': return Bytes(~SetOfByte('\n'));
      default: break;
    }
    at_ = begin;
    ASSIGN_OR_RETURN(const bool repeats, TakeRepeat(nullptr, nullptr));
    if (repeats) return Wrong(begin, Quoted(text_.substr(begin, at_ - begin)), "what it repeats before it");
    at_ = begin + 1;
    return Bytes(SetOfByte(byte));
  }

  // Parses the text behind "(".
  absl::StatusOr<PatternNode> Group(size_t begin, int depth) {
    PatternNode look = {.kind = PatternNode::kLook, .step = Take("?=") ? Step::kAhead : Take("?!") ? Step::kNotAhead : Step::kDone};
    if (look.step == Step::kDone && Sees("?") && !Take("?:")) {
      if (!Take("?P<")) return Wrong(begin, Quoted(text_.substr(begin, 4)), "(, (?:, (?P<name>, (?= or (?!");
      const size_t name = at_;
      while (at_ < text_.size() && IsWordByte(static_cast<unsigned char>(text_[at_]))) ++at_;
      if (at_ == name || !Take(">")) return Wrong(name, Quoted(text_.substr(name, 16)), "a name of letters, and \">\"");
    }
    ASSIGN_OR_RETURN(PatternNode inner, Choice(depth + 1));
    if (!Take(")")) return Wrong(begin, "\"(\"", "a \")\" for it");
    if (look.step == Step::kDone) return inner;
    look.parts.push_back(std::move(inner));
    return look;
  }

  // Returns the byte for a letter behind "\", or an error.
  absl::StatusOr<char> EscapedByte(size_t begin, char letter) const {
    constexpr absl::string_view kLetters = "ntrfva", kMeant = "\n\t\r\f\v\a";
    const size_t known = kLetters.find(letter);
    if (known != absl::string_view::npos) return kMeant[known];
    if (!absl::ascii_isalnum(static_cast<unsigned char>(letter))) return letter;
    return Wrong(begin, Quoted(text_.substr(begin, 2)), "\\d, \\w, \\s, \\b, their opposites, \\A, \\Z, or \\ and a sign");
  }

  // Parses the text behind "\".
  absl::StatusOr<PatternNode> Escape() {
    const size_t begin = at_ - 1;
    if (at_ == text_.size()) return Wrong(begin, "\"\\\" at the end", "what it means behind it");
    const char letter = text_[at_++];
    if (const std::optional<ByteSet> set = ClassOf(letter); set.has_value()) return Bytes(*set);
    if (const Step::Kind place = PlaceOf(letter); place != Step::kDone) return Place(place);
    ASSIGN_OR_RETURN(const char byte, EscapedByte(begin, letter));
    return Bytes(SetOfByte(byte));
  }

  // Parses one end of a range, or a set of several bytes.
  absl::StatusOr<ByteSet> ClassPart(size_t begin) {
    if (at_ == text_.size()) return Wrong(begin, "\"[\"", "a \"]\" for it");
    const char byte = text_[at_++];
    if (byte != '\\') return SetOfByte(byte);
    if (at_ == text_.size()) return Wrong(begin, "\"[\"", "a \"]\" for it");
    const char letter = text_[at_++];
    if (const std::optional<ByteSet> set = ClassOf(letter); set.has_value()) return *set;
    if (letter == 'b') return SetOfByte('\b');
    ASSIGN_OR_RETURN(const char meant, EscapedByte(at_ - 2, letter));
    return SetOfByte(meant);
  }

  static size_t FirstOf(const ByteSet& set) {
    size_t byte = 0;
    while (!set[byte]) ++byte;
    return byte;
  }

  // Parses the text behind "[". "]" is an ordinary byte at the start, and so is "-" at both ends.
  absl::StatusOr<PatternNode> Class(size_t begin) {
    const bool opposite = Take("^");
    ByteSet all;
    for (bool first = true; first || !Sees("]"); first = false) {
      const size_t part = at_;
      ASSIGN_OR_RETURN(ByteSet set, ClassPart(begin));
      if (Sees("-") && at_ + 1 < text_.size() && text_[at_ + 1] != ']') {
        ++at_;
        ASSIGN_OR_RETURN(const ByteSet last, ClassPart(begin));
        if (set.count() != 1 || last.count() != 1 || FirstOf(set) > FirstOf(last)) {
          return Wrong(part, Quoted(text_.substr(part, at_ - part)), "a range from a byte to one that is not below it");
        }
        for (size_t byte = FirstOf(set); byte <= FirstOf(last); ++byte) set.set(byte);
      }
      all |= set;
    }
    ++at_;
    return Bytes(opposite ? ~all : all);
  }

  std::optional<int> TakeNumber() {
    const size_t begin = at_;
    while (at_ < text_.size() && absl::ascii_isdigit(static_cast<unsigned char>(text_[at_]))) ++at_;
    int number = 0;
    if (at_ == begin) return std::nullopt;
    return absl::SimpleAtoi(text_.substr(begin, at_ - begin), &number) ? number : NamePattern::kMostSteps + 1;
  }

  // Takes "*", "+", "?", "{3}", "{3,}", "{,3}" or "{3,4}"; false: the text starts with none of these. "{" in front of other text is an
  // ordinary byte.
  absl::StatusOr<bool> TakeRepeat(int* least, int* most) {
    int from = 0, to = PatternNode::kNoMost;
    const size_t begin = at_;
    if (Take("+")) {
      from = 1;
    } else if (Take("?")) {
      to = 1;
    } else if (Take("{")) {
      const std::optional<int> first = TakeNumber();
      const bool comma = Take(",");
      const std::optional<int> last = comma ? TakeNumber() : first;
      if ((!comma && !first.has_value()) || !Take("}")) {
        at_ = begin;
        return false;
      }
      from = first.value_or(0), to = last.value_or(to);
      if (std::max(from, last.value_or(0)) > NamePattern::kMostSteps || from > to) {
        return Wrong(begin, Quoted(text_.substr(begin, at_ - begin)), absl::StrCat("numbers in order, up to ", NamePattern::kMostSteps));
      }
    } else if (!Take("*")) {
      return false;
    }
    if (least != nullptr) *least = from, *most = to;
    return true;
  }

  absl::StatusOr<PatternNode> Repeated(PatternNode item, size_t item_begin) {
    const size_t begin = at_;
    PatternNode repeat = {.kind = PatternNode::kRepeat};
    ASSIGN_OR_RETURN(const bool repeats, TakeRepeat(&repeat.least, &repeat.most));
    if (!repeats) return item;
    if (item.kind == PatternNode::kPlace) {
      return Wrong(begin, Quoted(text_.substr(item_begin, at_ - item_begin)), "something that can be repeated");
    }
    if (Sees("+")) return Wrong(begin, Quoted(text_.substr(begin, at_ + 1 - begin)), "a repeat that gives back: others are not read");
    Take("?");   // Lazy: the same names match.
    const size_t second = at_;
    ASSIGN_OR_RETURN(const bool again, TakeRepeat(nullptr, nullptr));
    if (again) return Wrong(second, Quoted(text_.substr(second, at_ - second)), "one repeat");
    repeat.parts.push_back(std::move(item));
    return repeat;
  }

  const absl::string_view text_;
  size_t at_ = 0;
};

}  // namespace

absl::StatusOr<PatternNode> ParsePattern(absl::string_view text) { return Parser(text).Parse(); }

}  // namespace tessera

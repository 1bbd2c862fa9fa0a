#include "tessera/model/text/internal/cut_words.h"

namespace tessera {
namespace {

using Words = std::vector<absl::string_view>;

// Characters that onig takes for a part of a word. The tokenizers of these models match with onig.
struct WordPart {
  static bool Has(const Character& c) {
    const bool circled = (c.code >= 0x24b6 && c.code <= 0x24e9) || (c.code >= 0x1f130 && c.code <= 0x1f149) ||
                         (c.code >= 0x1f150 && c.code <= 0x1f169) || (c.code >= 0x1f170 && c.code <= 0x1f189);
    const bool latin = c.code < 0x100 && (c.traits & kNumber) != 0;
    return circled || latin || (c.traits & (kLetter | kMark | kDecimal | kLetterNumber | kConnector)) != 0;
  }
};

// A run of one set.
struct NumberRun {
  size_t begin, end, count;  // In characters.
};

template <typename Set>
NumberRun RunFrom(const PlainText& text, size_t at) {
  NumberRun run = {at, at, 0};
  for (Character c = text.At(at); Set::Has(c); c = text.At(run.end)) {
    run.end += c.size;
    ++run.count;
  }
  return run;
}

// Calls cut(place) at the start of each group of three.
template <typename Cut>
void ForEachGroup(const PlainText& text, const NumberRun& run, const Cut& cut) {
  size_t at = run.begin;
  for (size_t left = run.count; left > 0; --left) {
    if (left % 3 == 0) cut(at);
    at += text.At(at).size;
  }
}

// Cuts at given places, in ascending order.
class Cutter {
 public:
  Cutter(const PlainText& text, Words* words) : text_(text), words_(words) {}
  void At(size_t place) {
    if (place > done_) words_->push_back(text_.substr(done_, place));
    done_ = place;
  }

 private:
  const PlainText& text_;
  Words* words_;
  size_t done_ = 0;
};

// `isolated`: the start and the end of a run are cut, too. `grouped(text, run)`: true if the run is cut.
template <typename Set, typename Grouped>
void CutGroups(absl::string_view piece, Words* words, bool isolated, const Grouped& grouped) {
  const PlainText text(piece);
  Cutter cutter(text, words);
  for (size_t at = 0; at < text.size();) {
    const NumberRun run = RunFrom<Set>(text, at);
    if (run.count == 0) {
      at += text.At(at).size;
      continue;
    }
    if (grouped(text, run)) {
      if (isolated) cutter.At(run.begin);
      ForEachGroup(text, run, [&](size_t place) { cutter.At(place); });
      if (isolated) cutter.At(run.end);
    }
    at = run.end;
  }
  cutter.At(text.size());
}

bool Always(const PlainText&, const NumberRun&) { return true; }

}  // namespace

void CutWhiteEnd(absl::string_view piece, Words* words) {
  const PlainText text(piece);
  size_t begin = text.size();
  while (begin > 0 && White::Has(text.At(text.Before(begin)))) begin = text.Before(begin);
  Cutter cutter(text, words);
  cutter.At(begin);
  cutter.At(text.size());
}

void CutNumbersFromTheEnd(absl::string_view piece, Words* words) {
  CutGroups<In<kNumber>>(piece, words, true, Always);
}

void CutLoneDigitsFromTheEnd(absl::string_view piece, Words* words) {
  CutGroups<In<kDecimal>>(piece, words, true,
                          [](const PlainText& text, const NumberRun& run) { return !WordPart::Has(text.At(run.end)); });
}

void CutBeforeThreeDigits(absl::string_view piece, Words* words) { CutGroups<In<kDecimal>>(piece, words, false, Always); }

}  // namespace tessera

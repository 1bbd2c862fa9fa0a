#include "tessera/model/text/internal/pre_tokenizer.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <glog/logging.h>
#include <pcre2.h>

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "tessera/base/quoted.h"
#include "tessera/model/text/internal/utf8.h"

namespace tessera {
namespace {

// White space by the Unicode property White_Space, written out: PCRE2's own \s also takes U+180E.
#define SPACES "\\x{9}-\\x{d}\\x{20}\\x{85}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}"

// A run of white space leaves its last character to the word that follows.
#define SPACE_RUN "[" SPACES "]+(?![^" SPACES "])|[" SPACES "]+"

// Endings of English words in any case, in ASCII letters only (a caseless match would also take U+017F, the long s).
#define ENDINGS "'(?:[sStTmMdD]|[rR][eE]|[vV][eE]|[lL][lL])"

// Possessive repeats (++) never backtrack: a word of 1 MB costs no stack and is read once.
constexpr char kGpt2[] =
    "'(?:[stmd]|re|ve|ll)| ?\\p{L}++| ?\\p{N}++| ?[^" SPACES "\\p{L}\\p{N}]++|" SPACE_RUN;
constexpr char kLlama3[] =
    ENDINGS "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}++|\\p{N}{1,3}| ?[^" SPACES "\\p{L}\\p{N}]++[\\r\\n]*+|[" SPACES "]*[\\r\\n]++|" SPACE_RUN;
constexpr char kQwen2[] =
    ENDINGS "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}++|\\p{N}| ?[^" SPACES "\\p{L}\\p{N}]++[\\r\\n]*+|[" SPACES "]*[\\r\\n]++|" SPACE_RUN;
constexpr char kOneDigit[] = "\\p{N}";

struct Rule {
  absl::string_view name;
  const char* patterns[2];  // The second may be null.
  bool keeps_known_words;
  bool adds_bos_by_default;
};

constexpr Rule kRules[] = {
    {"default", {kGpt2, nullptr}, false, false},
    {"gpt-2", {kGpt2, nullptr}, false, false},
    {"llama-bpe", {kLlama3, nullptr}, true, true},
    {"llama-v3", {kLlama3, nullptr}, true, true},
    {"llama3", {kLlama3, nullptr}, true, true},
    {"qwen2", {kQwen2, nullptr}, false, false},
    {"smollm", {kOneDigit, kGpt2}, false, false},
};

}  // namespace

class PreTokenizer::Pattern {
 public:
  explicit Pattern(const char* text) {
    int error = 0;
    size_t offset = 0;
    code_ = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(text), PCRE2_ZERO_TERMINATED, PCRE2_UTF | PCRE2_UCP, &error, &offset, nullptr);
    CHECK(code_ != nullptr) << "pattern " << text << ": error " << error << " at " << offset;
    pcre2_jit_compile(code_, PCRE2_JIT_COMPLETE);  // Where there is no JIT, the interpreter gives the same matches.
  }
  ~Pattern() { pcre2_code_free(code_); }
  Pattern(const Pattern&) = delete;
  Pattern& operator=(const Pattern&) = delete;

  // Appends the matches and the text between them. REQUIRES: text is valid UTF-8.
  void Split(absl::string_view text, std::vector<absl::string_view>* words) const {
    pcre2_match_data* match = pcre2_match_data_create_from_pattern(code_, nullptr);
    CHECK(match != nullptr);
    size_t done = 0;
    while (done < text.size()) {
      const int found = pcre2_match(code_, reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), done, PCRE2_NO_UTF_CHECK, match,
                                    nullptr);
      // An error (a limit of PCRE2 that a hostile text has reached) is no match: what is left of the text stays in one word.
      const PCRE2_SIZE* range = pcre2_get_ovector_pointer(match);
      const size_t begin = found < 0 ? text.size() : range[0], end = found < 0 ? text.size() : range[1];
      if (begin > done) words->push_back(text.substr(done, begin - done));
      if (end > begin) words->push_back(text.substr(begin, end - begin));
      done = end;
    }
    pcre2_match_data_free(match);
  }

 private:
  pcre2_code* code_;
};

PreTokenizer::PreTokenizer() = default;
PreTokenizer::~PreTokenizer() = default;

absl::StatusOr<std::unique_ptr<PreTokenizer>> PreTokenizer::ByName(absl::string_view name) {
  std::string known;
  for (const Rule& rule : kRules) {
    absl::StrAppend(&known, known.empty() ? "" : ", ", rule.name);
    if (rule.name != name) continue;
    auto cutter = std::unique_ptr<PreTokenizer>(new PreTokenizer());
    for (const char* pattern : rule.patterns) {
      if (pattern != nullptr) cutter->patterns_.push_back(std::make_unique<Pattern>(pattern));
    }
    cutter->keeps_known_words_ = rule.keeps_known_words;
    cutter->adds_bos_by_default_ = rule.adds_bos_by_default;
    return cutter;
  }
  return absl::InvalidArgumentError(absl::StrCat("found ", Quoted(name), ", expected one of ", known));
}

void PreTokenizer::Split(absl::string_view text, std::vector<absl::string_view>* words) const {
  while (!text.empty()) {
    const size_t valid = ValidUtf8Prefix(text);
    if (valid > 0) SplitValid(text.substr(0, valid), words);
    text.remove_prefix(valid);
    if (text.empty()) return;
    const size_t invalid = ReadUtf8(text).size;
    words->push_back(text.substr(0, invalid));
    text.remove_prefix(invalid);
  }
}

void PreTokenizer::SplitValid(absl::string_view text, std::vector<absl::string_view>* words) const {
  std::vector<absl::string_view> parts = {text};
  for (const auto& pattern : patterns_) {
    std::vector<absl::string_view> smaller;
    for (absl::string_view part : parts) pattern->Split(part, &smaller);
    parts = std::move(smaller);
  }
  words->insert(words->end(), parts.begin(), parts.end());
}

}  // namespace tessera

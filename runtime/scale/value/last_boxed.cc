#include "tessera/runtime/scale/value/last_boxed.h"

#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"

namespace tessera {
namespace {

// One walk over a text. A closing brace ends the last brace that is open, so no box is read again from its own beginning.
class BoxWalk {
 public:
  BoxWalk(absl::string_view text, absl::string_view name) : text_(text), name_(name) {}

  std::optional<std::string> Last() {
    for (size_t at = 0; at < text_.size(); ++at) {
      ++steps_;
      if (text_[at] == '{') open_.push_back({at, at == box_});
      if (text_[at] == '}') Close(at);
      if (absl::StartsWith(text_.substr(at), name_)) Begin(at + name_.size());
    }
    if (!begin_.has_value()) return std::nullopt;
    if (end_.has_value()) return std::string(text_.substr(*begin_, *end_ - *begin_));
    const absl::string_view rest = text_.substr(*begin_);
    const absl::string_view found = rest.substr(0, rest.find_first_of("$\n"));
    steps_ += static_cast<int64_t>(found.size());
    return std::string(absl::StripAsciiWhitespace(found));
  }
  int64_t steps() const { return steps_; }

 private:
  struct Brace {
    size_t at;
    bool is_box;
  };

  // A box without a brace counts at once; one with a brace, when it is closed.
  void Begin(size_t at) {
    for (; at < text_.size() && absl::ascii_isspace(static_cast<unsigned char>(text_[at])); ++at) ++steps_;
    if (at < text_.size() && text_[at] == '{') {
      box_ = at;
    } else {
      begin_ = at;
      end_.reset();
    }
  }

  // The last of two boxes is the one that begins later, though it may be closed earlier.
  void Close(size_t at) {
    if (open_.empty()) return;
    const Brace brace = open_.back();
    open_.pop_back();
    if (!brace.is_box || (begin_.has_value() && *begin_ > brace.at)) return;
    begin_ = brace.at + 1;
    end_ = at;
  }

  const absl::string_view text_, name_;
  size_t box_ = absl::string_view::npos;      // Where the brace of a box will be.
  std::vector<Brace> open_ = {};
  std::optional<size_t> begin_ = {}, end_ = {};
  int64_t steps_ = 0;
};

}  // namespace

std::optional<std::string> LastBoxed(absl::string_view text, int64_t* steps) {
  for (const absl::string_view name : {"\\boxed", "\\fbox"}) {
    BoxWalk walk(text, name);
    std::optional<std::string> found = walk.Last();
    if (steps != nullptr) *steps += walk.steps();
    if (found.has_value()) return found;
  }
  return std::nullopt;
}

}  // namespace tessera

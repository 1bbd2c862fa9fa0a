#include "tessera/model/text/jinja/text.h"

#include <algorithm>

namespace tessera::jinja {

size_t Text::RunAt(size_t at) const {
  const auto found = std::partition_point(runs_.begin(), runs_.end(), [&](const Run& run) { return run.end <= at; });
  return static_cast<size_t>(found - runs_.begin());
}

bool Text::FromData(size_t at) const { return runs_[RunAt(at)].from_data; }

void Text::Append(absl::string_view bytes, bool from_data) {
  if (bytes.empty()) return;
  bytes_.append(bytes.data(), bytes.size());
  if (!runs_.empty() && runs_.back().from_data == from_data) runs_.back().end = bytes_.size();
  else runs_.push_back({bytes_.size(), from_data});
}

void Text::AppendPart(const Text& text, size_t begin, size_t end) {
  for (size_t run = begin < end ? text.RunAt(begin) : 0; begin < end; ++run) {
    const size_t stop = std::min(end, text.runs_[run].end);
    Append(absl::string_view(text.bytes_).substr(begin, stop - begin), text.runs_[run].from_data);
    begin = stop;
  }
}

Text Text::Part(size_t begin, size_t end) const {
  Text part;
  part.AppendPart(*this, begin, end);
  part.safe_ = safe_;
  return part;
}

std::vector<Piece> Text::Pieces() const {
  std::vector<Piece> pieces;
  size_t begin = 0;
  for (const Run& run : runs_) {
    pieces.push_back({bytes_.substr(begin, run.end - begin), run.from_data});
    begin = run.end;
  }
  return pieces;
}

}  // namespace tessera::jinja

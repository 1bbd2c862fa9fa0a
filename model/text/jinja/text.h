// A string whose bytes know their origin: the template's own text, or data given to the template.
//
//   jinja::Text text("<|user|>", /*from_data=*/false);
//   text.Append("Hello <|user|>", /*from_data=*/true);
//   for (const jinja::Piece& piece : text.Pieces()) Use(piece.text, piece.from_data);    // two pieces
//
// A part of a text keeps the origin of each byte, and so does appended text. Texts are compared by their bytes alone. Threads:
// thread-compatible.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "tessera/base/cpp20.h"

namespace tessera::jinja {

// Neighbouring bytes of one origin.
struct Piece {
  std::string text = {};
  bool from_data = false;
};

class Text {
 public:
  Text() = default;
  Text(absl::string_view bytes, bool from_data) { Append(bytes, from_data); }

  const std::string& bytes() const { return bytes_; }
  size_t size() const { return bytes_.size(); }
  bool empty() const { return bytes_.empty(); }
  size_t held_bytes() const { return bytes_.size() + runs_.size() * sizeof(Run); }  // Approximate memory.
  bool FromData(size_t at) const;  // REQUIRES: at < size().

  void Append(absl::string_view bytes, bool from_data);
  void Append(const Text& text) { AppendPart(text, 0, text.size()); }
  void AppendPart(const Text& text, size_t begin, size_t end);  // REQUIRES: begin <= end <= text.size().
  Text Part(size_t begin, size_t end) const;                    // REQUIRES: begin <= end <= text.size().

  std::vector<Piece> Pieces() const;

  // Safe text of a template: text added to safe text is escaped as HTML (the filter `safe`).
  bool safe() const { return safe_; }
  void set_safe(bool safe) { safe_ = safe; }

 private:
  struct Run {
    size_t end;
    bool from_data;
  };
  size_t RunAt(size_t at) const;

  std::string bytes_;
  std::vector<Run> runs_;  // In order; neighbours differ. The last run ends where the bytes end.
  bool safe_ = false;
};

}  // namespace tessera::jinja

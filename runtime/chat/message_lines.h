// Puts the lines that a person types at a terminal together into messages: a line each, or all lines between two """.
//
//   MessageLines lines;
//   std::string message;
//   lines.Add("\"\"\"Sort these words:", &message);      // false: the message goes on
//   lines.Add("  pear, fig\"\"\"", &message);            // true: "Sort these words:\n  pear, fig"
//
// Within """ every line belongs to the message, also one that begins with a slash. Thread-compatible.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

#include "tessera/base/cpp20.h"

namespace tessera {

class MessageLines {
 public:
  // Adds a line without its line break. Returns whether the message is whole; then `message` has it.
  bool Add(absl::string_view line, std::string* message);

  bool open() const { return open_; }      // Whether the message goes on, since its """ has not come.
  void Drop() { open_ = false; }           // Forgets a message that goes on.

 private:
  bool AddRest(absl::string_view line, std::string* message);

  bool open_ = false, has_line_ = false;   // has_line_: text_ has a line, which may be empty.
  std::string text_;
};

}  // namespace tessera

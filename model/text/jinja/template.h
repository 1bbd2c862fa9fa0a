// Runs a chat template: a bounded interpreter of the part of Jinja that models' files use.
//
//   ASSIGN_OR_RETURN(const jinja::Template parsed, jinja::Template::Parse("{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% endfor
//   %}")); ASSIGN_OR_RETURN(const std::vector<jinja::Piece> pieces, parsed.Render({{"messages", messages}}, {}));
//
// The output equals, byte by byte, the output of the package jinja2 with the settings of the package transformers; tests/jinja_test.py
// proves this. Unsupported features are refused by name. Each piece says whether its text is the template's own or came from the variables:
// a user's words never become marks of the template. A template is a program from outside. The program reaches nothing except its
// variables, and runs within the limits of RenderOptions.
//
// Errors: InvalidArgument, and ResourceExhausted for a limit: "line 12: ...". Threads: thread-safe, nothing changes after Parse.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tessera/base/clock.h"
#include "tessera/base/cpp20.h"
#include "tessera/model/text/jinja/text.h"
#include "tessera/model/text/jinja/value.h"

namespace tessera::jinja {

// The work of several renderings together: a dialogue is rendered more than once to find out which parts the template writes.
struct RenderWork {
  int64_t steps = 0;
  std::optional<int64_t> deadline_nanos = std::nullopt;   // By the clock of the first rendering; nullopt: no rendering yet.
};

struct RenderOptions {
  int64_t max_steps = 20'000'000;                   // Values computed, elements walked, and so on.
  int64_t max_output_bytes = int64_t{64} << 20;
  int64_t max_text_bytes = int64_t{512} << 20;      // Memory of all texts and lists that rendering makes, together.
  int64_t max_nanos = 10'000'000'000;
  const Clock* clock = nullptr;                     // For max_nanos; null: the real clock.
  // max_steps and max_nanos hold for all renderings with this work; null: for this rendering alone.
  RenderWork* work = nullptr;
  std::optional<int64_t> unix_seconds = std::nullopt;  // The date for strftime_now, in the local time zone; nullopt: asking is an error.
};

// Returns true if a template itself refuses its variables (raise_exception) with a message.
bool IsRefusal(const absl::Status& status);

using Variables = std::vector<std::pair<std::string, Value>>;

struct Syntax;

class Template {
 public:
  static constexpr size_t kMaxBytes = size_t{1} << 20;  // The longest templates in use have some tens of kilobytes.

  static absl::StatusOr<Template> Parse(absl::string_view source);

  // The same variables and options give the same pieces. A variable that is not given is undefined.
  absl::StatusOr<std::vector<Piece>> Render(const Variables& variables, const RenderOptions& options) const;

  // Returns the variables that the template reads, such as "tools", in order, including functions such as range.
  const std::vector<std::string>& names() const;
  // Returns true if the template may read the variable: one of names(), or a variable that the template assigns only in some branches of an
  // `if`.
  bool MayRead(absl::string_view name) const;

 private:
  explicit Template(std::shared_ptr<const Syntax> syntax) : syntax_(std::move(syntax)) {}
  std::shared_ptr<const Syntax> syntax_;
};

}  // namespace tessera::jinja

// Runs a chat template: a bounded interpreter of the part of Jinja in which models' files write them.
//
//   ASSIGN_OR_RETURN(const jinja::Template parsed, jinja::Template::Parse("{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% endfor
//   %}")); ASSIGN_OR_RETURN(const std::vector<jinja::Piece> pieces, parsed.Render({{"messages", messages}}, {}));
//
// The text is the one that the package jinja2 gives when it is set up as the package transformers does, byte by byte; tests/jinja_test.py
// proves it. What is not supported is refused by name. Each piece says whether it is the template's own text or came from the variables:
// the words of a user never become marks of the template.
// A template is a program from outside. It reaches nothing but its variables, and has limits: RenderOptions. Errors are InvalidArgument,
// ResourceExhausted for a limit: "line 12: ...". Thread-safe: nothing changes after Parse.
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

// The work that several renderings have done together: a dialogue is rendered more than once to see what its template writes.
struct RenderWork {
  int64_t steps = 0;
  std::optional<int64_t> deadline_nanos = std::nullopt;   // By the clock of the first rendering; none: nothing was rendered.
};

struct RenderOptions {
  int64_t max_steps = 20'000'000;                   // Values computed, elements walked, and so on.
  int64_t max_output_bytes = int64_t{64} << 20;
  int64_t max_text_bytes = int64_t{512} << 20;      // Memory of all texts and lists that are made on the way, together.
  int64_t max_nanos = 10'000'000'000;
  const Clock* clock = nullptr;                     // For max_nanos; null: the real one.
  RenderWork* work = nullptr;                       // max_steps and max_nanos are for all renderings with it; null: for this one.
  std::optional<int64_t> unix_seconds = std::nullopt;  // The date for strftime_now, in the local time zone; none: asking is an error.
};

// Whether a template itself refuses its variables (raise_exception), in its own words.
bool IsRefusal(const absl::Status& status);

using Variables = std::vector<std::pair<std::string, Value>>;

struct Syntax;

class Template {
 public:
  static constexpr size_t kMaxBytes = size_t{1} << 20;  // The longest in use have some tens of kilobytes.

  static absl::StatusOr<Template> Parse(absl::string_view source);

  // The same variables and options give the same pieces. A variable that is not given is undefined.
  absl::StatusOr<std::vector<Piece>> Render(const Variables& variables, const RenderOptions& options) const;

  // The variables that it reads, such as "tools", in order; functions such as range included.
  const std::vector<std::string>& names() const;
  // Whether the template may read a variable: one of names(), or one that it assigns in some branches of an `if` alone.
  bool MayRead(absl::string_view name) const;

 private:
  explicit Template(std::shared_ptr<const Syntax> syntax) : syntax_(std::move(syntax)) {}
  std::shared_ptr<const Syntax> syntax_;
};

}  // namespace tessera::jinja

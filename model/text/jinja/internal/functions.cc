// Functions that every template may call.
#include <algorithm>
#include <ctime>
#include <memory>
#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tessera/base/quoted.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/text/jinja/internal/compare.h"
#include "tessera/model/text/jinja/internal/fail.h"
#include "tessera/model/text/jinja/internal/runtime.h"

namespace tessera::jinja {
namespace {

using Result = absl::StatusOr<Value>;

constexpr int64_t kLongestRange = 100'000;  // As Jinja's sandbox has it.

Result Range(Runtime& runtime, const Value&, const Arguments& arguments) {
  const std::vector<Value>& given = arguments.positional;
  if (!arguments.named.empty() || given.empty() || given.size() > 3) return Fail("range: found other arguments than one to three integers");
  for (const Value& each : given) {
    if (!each.is_integral()) return Fail("range: found ", TypeName(each), ", expected an integer");
  }
  const int64_t first = given.size() > 1 ? given[0].integer() : 0, last = given[given.size() > 1 ? 1 : 0].integer();
  const int64_t step = given.size() > 2 ? given[2].integer() : 1;
  if (step == 0) return Fail("range: found a step of 0");
  Items items{Items::Form::kRange, {}, absl::StrCat("range(", first, ", ", last, step == 1 ? "" : absl::StrCat(", ", step), ")")};
  for (int64_t at = first; step > 0 ? at < last : at > last;) {
    if (static_cast<int64_t>(items.elements.size()) >= kLongestRange) {
      return absl::ResourceExhaustedError(
          absl::StrCat("range: found a range of more than ", kLongestRange, " integers, expected at most so many"));
    }
    items.elements.push_back(Value::Int(at));
    if (__builtin_add_overflow(at, step, &at)) break;
  }
  return runtime.New(std::move(items));
}

// Returns the arguments of dict(...) and namespace(...) as a mapping: a dict or pairs, and names.
absl::StatusOr<Mapping> MappingOf(Runtime& runtime, absl::string_view what, const Arguments& arguments) {
  Mapping mapping;
  if (arguments.positional.size() > 1) return Fail(what, ": found several arguments without a name, expected at most one");
  if (!arguments.positional.empty()) {
    const Value& given = arguments.positional[0];
    if (given.kind() == Value::Kind::kMapping) {
      mapping = given.mapping();
    } else {
      ASSIGN_OR_RETURN(const std::vector<Value> pairs, runtime.Elements(given));
      for (const Value& pair : pairs) {
        ASSIGN_OR_RETURN(const std::vector<Value> two, runtime.Elements(pair));
        if (two.size() != 2) return Fail(what, ": found an element that is no pair");
        RETURN_IF_ERROR(CheckHashable(two[0]));
        RETURN_IF_ERROR(runtime.Step(static_cast<size_t>(two[0].weight())));
        mapping.Set(two[0], two[1]);
      }
    }
  }
  for (const auto& [name, value] : arguments.named) mapping.Set(Value::Of(name), value);
  RETURN_IF_ERROR(runtime.Charge(mapping));
  return mapping;
}

Result Dict(Runtime& runtime, const Value&, const Arguments& arguments) {
  ASSIGN_OR_RETURN(Mapping mapping, MappingOf(runtime, "dict", arguments));
  return runtime.New(std::move(mapping));
}

Result MakeNamespace(Runtime& runtime, const Value&, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const Mapping mapping, MappingOf(runtime, "namespace", arguments));
  auto made = std::make_shared<Namespace>();
  for (const auto& [name, value] : mapping.entries()) made->Set(name, value);
  return runtime.Own(std::move(made));
}

Result RaiseException(Runtime& runtime, const Value&, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const auto given, Bind("raise_exception", arguments, {"message"}, 1));
  ASSIGN_OR_RETURN(const Text message, runtime.Print(*given[0]));
  constexpr size_t kMostWords = 4096;   // Bytes: a template may put a whole message into its words.
  const bool whole = message.size() <= kMostWords;
  const std::string words = Printable(absl::string_view(message.bytes()).substr(0, kMostWords));
  absl::Status refusal = Fail("the template refuses the messages: ", words, whole ? "" : absl::StrCat("... (", message.size(), " bytes)"));
  refusal.SetPayload(kRefusal, absl::Cord());
  return refusal;
}

// Returns the end of the conversion that begins with the % at `mark`.
absl::StatusOr<size_t> ConversionEnd(const std::string& format, size_t mark) {
  size_t at = mark + 1;
  if (at < format.size() && absl::StrContains("-_0^#", format.substr(at, 1))) ++at;  // The padding.
  if (at < format.size() && absl::StrContains("aAbBcdeHIjmMpSUwWxXyYZzDFTRuVGhn%", format.substr(at, 1))) return at + 1;
  return Fail("strftime_now: found the format ", format, ", of which a part is not supported");
}

Result StrftimeNow(Runtime& runtime, const Value&, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const auto given, Bind("strftime_now", arguments, {"format"}, 1));
  if (!given[0]->is_text()) return Fail("strftime_now: found ", TypeName(*given[0]), ", expected a format as text");
  if (!runtime.options().unix_seconds) return Fail("strftime_now: found no date, expected one to be given");
  const time_t seconds = static_cast<time_t>(*runtime.options().unix_seconds);
  std::tm local = {};
  if (localtime_r(&seconds, &local) == nullptr) return Fail("strftime_now: found a date beyond the calendar");
  const Text& format = given[0]->text();
  Text out;
  for (size_t at = 0; at < format.size();) {
    RETURN_IF_ERROR(runtime.Step());
    const size_t mark = std::min(format.bytes().find('%', at), format.size());
    out.AppendPart(format, at, mark);
    if (mark == format.size()) break;
    ASSIGN_OR_RETURN(const size_t end, ConversionEnd(format.bytes(), mark));
    char text[128];
    const size_t size = std::strftime(text, sizeof(text), format.bytes().substr(mark, end - mark).c_str(), &local);
    RETURN_IF_ERROR(runtime.Bytes(size));
    // The text gets the mark's origin, so that it does not join words of the data.
    out.Append(absl::string_view(text, size), format.FromData(mark));
    at = end;
  }
  return runtime.New(std::move(out));
}

Result Refused(Runtime&, const Value&, const Arguments&) {
  return Fail("found a call of cycler, joiner or lipsum, which are not supported");
}

constexpr NamedFilter kFunctions[] = {
    {"cycler", Refused}, {"dict", Dict}, {"joiner", Refused}, {"lipsum", Refused}, {"namespace", MakeNamespace},
    {"raise_exception", RaiseException}, {"range", Range}, {"strftime_now", StrftimeNow},
};

}  // namespace

FilterFunction FindFunction(absl::string_view name) {
  for (const NamedFilter& function : kFunctions) {
    if (function.name == name) return function.function;
  }
  return nullptr;
}

}  // namespace tessera::jinja

// Chat templates: whatever a template says, it is refused in words, or it gives a text, within its limits.
//
// An input's first byte chooses the variables; all that follows is the template.
#include <cstring>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/text/jinja/template.h"
#include "tessera/tests/fuzz/fuzz_bytes.h"
#include "tessera/tests/fuzz/fuzz_target.h"

namespace tessera {
namespace {

constexpr absl::string_view kVariables[] = {
    R"({"messages": [{"role": "system", "content": "Be kind."},
                     {"role": "user", "content": "\ue000 Hi"}], "tools": null})",
    R"({"messages": [{"role": "user", "content": [{"type": "text", "text": "\ue000"}]},
                     {"role": "assistant", "content": null, "tool_calls": [{"function": {"name": "f",
                         "arguments": {"\ue000": [1, 2.5]}}}]}],
        "tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}]})",
    R"({"s": "\ue000 text, of words", "n": 7, "l": [3, "b", null], "d": {"k": "v", "a": {"x": true}}, "u": "Grüße 中文"})",
};
constexpr absl::string_view kOnlyInData = "\xEE\x80\x80";  // U+E000, which stands in texts of the variables.

constexpr jinja::RenderOptions kLimits = {
    .max_steps = 200'000, .max_output_bytes = 1 << 16, .max_text_bytes = 1 << 20, .unix_seconds = 1764072000};

absl::StatusOr<jinja::Variables> Given(int choice) {
  ASSIGN_OR_RETURN(const JsonValue json, JsonValue::Parse(kVariables[choice]));
  jinja::Variables variables;
  const std::vector<std::string> names = json.Keys();
  for (size_t i = 0; i < names.size(); ++i) {
    ASSIGN_OR_RETURN(jinja::Value value, jinja::Value::FromJson(json[static_cast<int64_t>(i)]));
    variables.emplace_back(names[i], std::move(value));
  }
  return variables;
}

void CheckRefused(const absl::Status& status) {
  CHECK(absl::IsInvalidArgument(status) || absl::IsResourceExhausted(status)) << status;
  CHECK(absl::StrContains(status.message(), "found") || absl::StrContains(status.message(), "undefined") ||
        absl::StrContains(status.message(), "refuses"))
      << status;
}

}  // namespace

absl::Status RunInput(absl::Span<const std::byte> input) {
  FuzzBytes bytes(input);
  const auto variables = Given(bytes.Below(std::size(kVariables)));
  CHECK(variables.ok()) << variables.status();
  const std::string source = bytes.Rest();
  const absl::StatusOr<jinja::Template> parsed = jinja::Template::Parse(source);
  if (!parsed.ok()) {
    CheckRefused(parsed.status());
    return parsed.status();
  }
  const auto pieces = parsed->Render(*variables, kLimits);
  if (!pieces.ok()) {
    CheckRefused(pieces.status());
    return pieces.status();
  }
  const auto again = parsed->Render(*variables, kLimits);
  CHECK(again.ok() && again->size() == pieces->size());
  size_t size = 0;
  for (size_t i = 0; i < pieces->size(); ++i) {
    const jinja::Piece& piece = (*pieces)[i];
    CHECK(!piece.text.empty() && (i == 0 || piece.from_data != (*pieces)[i - 1].from_data));
    CHECK(piece.text == (*again)[i].text && piece.from_data == (*again)[i].from_data);
    // What stands in data alone never comes out as the template's own text.
    const bool in_template = absl::StrContains(source, kOnlyInData) || absl::StrContains(source, "\\");
    CHECK(piece.from_data || in_template || !absl::StrContains(piece.text, kOnlyInData)) << source;
    size += piece.text.size();
  }
  CHECK_LE(size, static_cast<size_t>(kLimits.max_output_bytes));
  return absl::OkStatus();
}

std::vector<FuzzSeed> Seeds() {
  constexpr absl::string_view kTemplates[] = {
      "{% for m in messages %}<|{{ m.role }}|>{{ m['content']|trim }}{% if loop.last %}!{% endif %}{% endfor %}",
      "{%- set ns = namespace(a=0) -%}{%- for m in messages if m.role != 'x' -%}{% set ns.a = ns.a + loop.index %}{% endfor %}{{ ns.a }}",
      "{% macro f(a, b=2) %}{{ a }}{{ b }}{{ caller() if caller }}{% endmacro %}{{ f(1) }}{% call f(3, b='x') %}y{% endcall %}",
      "{{ tools|tojson(indent=2) if tools else 'none' }}{{ messages|selectattr('role', 'equalto', 'user')|map(attribute='content')|list }}",
      "{% set x %}{{ s|upper }}{% endset %}{{ x[1:-1] ~ n ~ l ~ d }}{% filter replace('a', 'b') %}{{ d|dictsort }}{% endfilter %}",
      "{% if n > 3 and s is string and 'k' in d %}{{ s.split(',')[0].strip() }}{% elif not u %}{% else %}{{ 2 ** n // 3 % 5 }}{% endif %}",
      "{% for k, v in d.items() %}{{ k }}={{ v }}{% if k == 'a' %}{% break %}{% endif %}{% else %}-{% endfor %}{{ '%s %d'|format(s, n) }}",
      "{% raw %}{{ x }}{% endraw %}{# note #}"
      "{{ raise_exception('no') if nope is defined else u|length }}{% generation %}g{% endgeneration %}",
      "{% with a = n, b = s %}{{ a }}{{ b }}{% endwith %}{{ strftime_now('%Y') }}{{ '{} {}'.format(n, u) }}{{ l|sort }}",
      "{{ [[[[[[1]]]]]] }}{{ range(10**9) }}", "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
      "{{ 'a' * 9999999999 }}", "{{", "{% if %}",
  };
  std::vector<FuzzSeed> seeds;
  for (size_t i = 0; i < std::size(kTemplates); ++i) {
    for (size_t choice = 0; choice < std::size(kVariables); ++choice) {
      seeds.push_back({absl::StrCat("template_", i, "_", choice), absl::StrCat(std::string(1, static_cast<char>(choice)), kTemplates[i])});
    }
  }
  return seeds;
}

}  // namespace tessera

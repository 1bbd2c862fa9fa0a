// Renders templates that standard input names, for tests/jinja_test.py, which compares the texts with those of the package jinja2.
//
//   echo '{"template": "{{ x }}", "now": 0, "renders": [{"x": 1}, {"x": "a"}]}' | build/bin/tessera_render_cases
//   {"results":[{"text":"1","data":[]},{"text":"a","data":[[0,1]]}]}
//
// One object per line; "data" are the ranges of bytes that came from variables. {"error": ...} stands for a text, or for all of them.
#include <iostream>
#include <string>

#include "glog/logging.h"
#include "tessera/base/json.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/text/jinja/template.h"

namespace tessera {
namespace {

void WriteResult(const absl::StatusOr<std::vector<jinja::Piece>>& pieces, JsonWriter& json) {
  json.BeginObject();
  if (!pieces.ok()) {
    json.Key("error").String(pieces.status().message()).EndObject();
    return;
  }
  std::string text;
  std::vector<std::pair<size_t, size_t>> data;
  for (const jinja::Piece& piece : *pieces) {
    if (piece.from_data) data.emplace_back(text.size(), text.size() + piece.text.size());
    text += piece.text;
  }
  json.Key("text").String(text).Key("data").BeginArray();
  for (const auto& [begin, end] : data) {
    json.BeginArray().Int(static_cast<int64_t>(begin)).Int(static_cast<int64_t>(end)).EndArray();
  }
  json.EndArray().EndObject();
}

absl::StatusOr<std::vector<jinja::Piece>> Render(const jinja::Template& parsed, const JsonValue& given,
                                                 const jinja::RenderOptions& options) {
  jinja::Variables variables;
  const std::vector<std::string> names = given.Keys();
  for (size_t i = 0; i < names.size(); ++i) {
    ASSIGN_OR_RETURN(jinja::Value value, jinja::Value::FromJson(given[static_cast<int64_t>(i)]));
    variables.emplace_back(names[i], std::move(value));
  }
  return parsed.Render(variables, options);
}

absl::StatusOr<std::string> Answer(const std::string& line) {
  ASSIGN_OR_RETURN(const JsonValue request, JsonValue::Parse(line, "case"));
  ASSIGN_OR_RETURN(const std::string source, request.String("template"));
  ASSIGN_OR_RETURN(const JsonValue renders, request.Array("renders"));
  jinja::RenderOptions options;
  ASSIGN_OR_RETURN(options.unix_seconds, request.Int("now"));
  JsonWriter json;
  json.BeginObject();
  const absl::StatusOr<jinja::Template> parsed = jinja::Template::Parse(source);
  if (!parsed.ok()) {
    json.Key("error").String(parsed.status().message()).EndObject();
    return std::move(json).Take();
  }
  json.Key("results").BeginArray();
  for (int64_t i = 0; i < renders.size(); ++i) WriteResult(Render(*parsed, renders[i], options), json);
  json.EndArray().EndObject();
  return std::move(json).Take();
}

}  // namespace
}  // namespace tessera

int main() {
  std::ios::sync_with_stdio(false);
  for (std::string line; std::getline(std::cin, line);) {
    const absl::StatusOr<std::string> answer = tessera::Answer(line);
    CHECK(answer.ok()) << answer.status();
    std::cout << *answer << "\n";
  }
  return 0;
}

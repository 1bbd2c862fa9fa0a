#include "tessera/runtime/scale/value/same_answer.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "tessera/runtime/scale/value/expression.h"

namespace tessera {
namespace {

constexpr int kMostDepth = 8;
constexpr size_t kMostParts = 64;   // In a list without an order, whose parts are compared each with each.

// An answer as it is compared.
struct Value {
  enum class Kind { kText, kExpression, kOrdered, kUnordered };
  Kind kind = Kind::kText;
  std::string text = {};                          // Without spaces; of a list, its brackets.
  std::optional<Expression> expression = {};
  std::vector<Value> parts = {};
};

Value ValueOf(absl::string_view text, int depth);

std::string WithoutSpaces(absl::string_view text) { return absl::StrReplaceAll(text, {{" ", ""}}); }

// The pieces between `separator`, where it stands in no brackets.
std::vector<absl::string_view> SplitOutside(absl::string_view text, absl::string_view separator) {
  std::vector<absl::string_view> pieces;
  int depth = 0;
  size_t begin = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    depth += text[i] == '(' || text[i] == '[' || text[i] == '{';
    depth -= text[i] == ')' || text[i] == ']' || text[i] == '}';
    if (depth != 0 || !absl::StartsWith(text.substr(i), separator)) continue;
    pieces.push_back(text.substr(begin, i - begin));
    begin = i + separator.size();
    i = begin - 1;
  }
  pieces.push_back(text.substr(begin));
  return pieces;
}

// What stands in brackets, if the first and the last belong together.
std::optional<absl::string_view> Inside(absl::string_view text) {
  if (text.size() < 2) return std::nullopt;
  int depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    depth += text[i] == '(' || text[i] == '[' || text[i] == '{';
    depth -= text[i] == ')' || text[i] == ']' || text[i] == '}';
    if (depth == 0 && i + 1 < text.size()) return std::nullopt;
  }
  return depth == 0 ? std::optional(text.substr(1, text.size() - 2)) : std::nullopt;
}

Value ListOf(Value::Kind kind, std::string brackets, const std::vector<absl::string_view>& pieces, int depth) {
  Value list = {.kind = kind, .text = std::move(brackets)};
  for (const absl::string_view piece : pieces) {
    Value part = ValueOf(piece, depth + 1);
    const bool several = part.kind == Value::Kind::kUnordered && absl::StrContains(piece, "\\pm") && !absl::StrContains(piece, "\\{");
    if (several && kind == Value::Kind::kUnordered) {   // Both values of "a \pm b".
      list.parts.insert(list.parts.end(), part.parts.begin(), part.parts.end());
    } else {
      list.parts.push_back(std::move(part));
    }
  }
  return list;
}

std::optional<Value> MatrixOf(absl::string_view text, int depth) {
  for (const absl::string_view name : {"pmatrix", "bmatrix", "vmatrix", "matrix"}) {
    absl::string_view inside = text;
    if (!absl::ConsumePrefix(&inside, absl::StrCat("\\begin{", name, "}"))) continue;
    if (!absl::ConsumeSuffix(&inside, absl::StrCat("\\end{", name, "}"))) return std::nullopt;
    Value matrix = {.kind = Value::Kind::kOrdered, .text = std::string(name)};
    for (const absl::string_view row : SplitOutside(inside, "\\\\")) {
      if (absl::StripAsciiWhitespace(row).empty()) continue;   // After the last.
      matrix.parts.push_back(ListOf(Value::Kind::kOrdered, "&", SplitOutside(row, "&"), depth));
    }
    return matrix;
  }
  return std::nullopt;
}

std::optional<Value> PlusMinusOf(absl::string_view text, int depth) {
  constexpr absl::string_view kSign = "\\pm";
  const size_t at = text.find(kSign);
  if (at == absl::string_view::npos || text.find(kSign, at + 1) != absl::string_view::npos) return std::nullopt;
  const absl::string_view before = text.substr(0, at), after = text.substr(at + kSign.size());
  const std::string plus = absl::StrCat(before, "+", after), minus = absl::StrCat(before, "-", after);
  return ListOf(Value::Kind::kUnordered, "", {plus, minus}, depth);
}

std::optional<Value> ListIn(absl::string_view text, int depth) {
  using Kind = Value::Kind;
  if (const std::vector<absl::string_view> pieces = SplitOutside(text, "\\cup"); pieces.size() > 1) {
    return ListOf(Kind::kUnordered, "\\cup", pieces, depth);
  }
  absl::string_view set = text;
  if (absl::ConsumePrefix(&set, "\\{") && absl::ConsumeSuffix(&set, "\\}")) {
    return ListOf(Kind::kUnordered, "", SplitOutside(set, ","), depth);
  }
  if (const std::vector<absl::string_view> pieces = SplitOutside(text, ","); pieces.size() > 1) {
    return ListOf(Kind::kUnordered, "", pieces, depth);
  }
  const std::optional<absl::string_view> inside = text.empty() || text[0] == '{' ? std::nullopt : Inside(text);
  if (!inside.has_value()) return std::nullopt;
  const std::vector<absl::string_view> pieces = SplitOutside(*inside, ",");
  if (pieces.size() < 2) return std::nullopt;
  return ListOf(Kind::kOrdered, {text[0], text.back()}, pieces, depth);
}

Value ValueOf(absl::string_view text, int depth) {
  text = absl::StripAsciiWhitespace(text);
  if (depth < kMostDepth) {
    for (const auto& read : {MatrixOf, ListIn, PlusMinusOf}) {
      if (std::optional<Value> value = read(text, depth)) return *std::move(value);
    }
  }
  Value value = {.text = WithoutSpaces(text), .expression = Expression::Parse(text)};
  if (value.expression.has_value()) value.kind = Value::Kind::kExpression;
  return value;
}

bool Same(const Value& a, const Value& b);

bool SameInAnyOrder(const std::vector<Value>& a, const std::vector<Value>& b) {
  if (a.size() > kMostParts) return false;
  std::vector<bool> taken(b.size());
  for (const Value& one : a) {
    size_t i = 0;
    while (i < b.size() && (taken[i] || !Same(one, b[i]))) ++i;
    if (i == b.size()) return false;
    taken[i] = true;
  }
  return true;
}

bool Same(const Value& a, const Value& b) {
  if (a.kind != b.kind) return false;
  switch (a.kind) {
    case Value::Kind::kText: return a.text == b.text;
    case Value::Kind::kExpression: return a.text == b.text || a.expression->Equals(*b.expression);
    case Value::Kind::kUnordered: return a.text == b.text && a.parts.size() == b.parts.size() && SameInAnyOrder(a.parts, b.parts);
    case Value::Kind::kOrdered:
      return a.text == b.text && std::equal(a.parts.begin(), a.parts.end(), b.parts.begin(), b.parts.end(), Same);
  }
  return false;
}

}  // namespace

bool SameAnswer(absl::string_view a, absl::string_view b) {
  const std::string clean_a = CleanAnswer(a), clean_b = CleanAnswer(b);
  return WithoutSpaces(clean_a) == WithoutSpaces(clean_b) || Same(ValueOf(clean_a, 0), ValueOf(clean_b, 0));
}

}  // namespace tessera

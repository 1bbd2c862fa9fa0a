#include "tessera/model/text/jinja/internal/compare.h"

#include <algorithm>
#include <cmath>

#include "tessera/base/status_macros.h"
#include "tessera/model/text/jinja/internal/fail.h"
#include "tessera/model/text/jinja/internal/runtime.h"
#include "tessera/model/text/jinja/internal/search.h"

namespace tessera::jinja {
namespace {

// Returns -1, 0 or 1; 2 for a NaN. A long double holds every integer of 64 bits.
int CompareNumbers(const Value& left, const Value& right) {
  if (left.is_integral() && right.is_integral()) return left.integer() < right.integer() ? -1 : left.integer() > right.integer() ? 1 : 0;
  const auto wide = [](const Value& value) {
    return value.is_integral() ? static_cast<long double>(value.integer()) : static_cast<long double>(value.number());
  };
  const long double a = wide(left), b = wide(right);
  return std::isnan(a) || std::isnan(b) ? 2 : a < b ? -1 : a > b ? 1 : 0;
}

bool EqualItems(const Items& left, const Items& right) {
  if (left.form != right.form || left.form == Items::Form::kView) return false;
  return left.elements.size() == right.elements.size() &&
         std::equal(left.elements.begin(), left.elements.end(), right.elements.begin(), Equal);
}

bool EqualMappings(const Mapping& left, const Mapping& right) {
  return left.size() == right.size() && std::all_of(left.entries().begin(), left.entries().end(), [&](const Mapping::Entry& entry) {
           const Value* const other = right.Find(entry.first);
           return other != nullptr && Equal(entry.second, *other);
         });
}

}  // namespace

bool Equal(const Value& left, const Value& right) {
  if (left.is_number() && right.is_number()) return CompareNumbers(left, right) == 0;
  if (left.kind() != right.kind()) return false;
  switch (left.kind()) {
    case Value::Kind::kUndefined:
    case Value::Kind::kNone: return true;
    case Value::Kind::kText: return left.SameObject(right) || left.text().bytes() == right.text().bytes();
    case Value::Kind::kItems: return left.SameObject(right) || EqualItems(left.items(), right.items());
    case Value::Kind::kMapping: return left.SameObject(right) || EqualMappings(left.mapping(), right.mapping());
    default: return left.SameObject(right);
  }
}

absl::StatusOr<bool> Less(const Value& left, const Value& right) {
  if (left.is_number() && right.is_number()) return CompareNumbers(left, right) == -1;
  // Bytes of UTF-8 have the order of the characters.
  if (left.is_text() && right.is_text()) return left.text().bytes() < right.text().bytes();
  const bool items = left.kind() == Value::Kind::kItems && right.kind() == Value::Kind::kItems;
  if (items && left.items().form == right.items().form && left.items().form <= Items::Form::kTuple) {
    const std::vector<Value>&a = left.items().elements, &b = right.items().elements;
    for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
      if (!Equal(a[i], b[i])) return Less(a[i], b[i]);
    }
    return a.size() < b.size();
  }
  if (left.is_undefined() || right.is_undefined()) return Fail((left.is_undefined() ? left : right).undefined_what(), " is undefined");
  return Fail("found ", TypeName(left), " and ", TypeName(right), " to compare, which have no order");
}

absl::StatusOr<bool> Contains(const Value& container, const Value& element) {
  switch (container.kind()) {
    case Value::Kind::kUndefined: return false;
    case Value::Kind::kText:
      if (element.is_undefined()) return Fail(element.undefined_what(), " is undefined, expected text to look for");
      if (!element.is_text()) return Fail("found ", TypeName(element), " to look for in text, expected text");
      return Search(element.text().bytes()).First(container.text().bytes()) != Search::kNowhere;
    case Value::Kind::kMapping:
      RETURN_IF_ERROR(CheckHashable(element));
      return container.mapping().Find(element) != nullptr;
    case Value::Kind::kItems: {
      const std::vector<Value>& elements = container.items().elements;
      return std::any_of(elements.begin(), elements.end(), [&](const Value& each) { return Equal(each, element); });
    }
    default: return Fail("found ", TypeName(container), " to look into, expected a list, a dict or text");
  }
}

bool Truth(const Value& value) {
  switch (value.kind()) {
    case Value::Kind::kUndefined:
    case Value::Kind::kNone: return false;
    case Value::Kind::kText: return !value.text().empty();
    case Value::Kind::kItems: return !value.items().elements.empty();
    case Value::Kind::kMapping: return value.mapping().size() > 0;
    case Value::Kind::kObject: return true;
    default: return value.number() != 0;
  }
}

absl::Status CheckHashable(const Value& value) {
  const bool tuple = value.kind() == Value::Kind::kItems && value.items().form == Items::Form::kTuple;
  if (tuple) {
    for (const Value& element : value.items().elements) RETURN_IF_ERROR(CheckHashable(element));
    return absl::OkStatus();
  }
  if (value.kind() == Value::Kind::kFloat && std::isnan(value.number())) return Fail("found nan as a key, which is not supported");
  const bool range = value.kind() == Value::Kind::kItems && value.items().form == Items::Form::kRange;
  if (value.kind() == Value::Kind::kMapping || (value.kind() == Value::Kind::kItems && !range)) {
    return Fail("found ", TypeName(value), " as a key, expected what cannot change");
  }
  return absl::OkStatus();
}

}  // namespace tessera::jinja

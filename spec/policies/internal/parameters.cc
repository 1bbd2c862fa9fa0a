#include "tessera/spec/policies/internal/parameters.h"

#include <cmath>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "tessera/base/nearest_name.h"
#include "tessera/base/status_macros.h"

namespace tessera {

absl::Status WrongParameter(absl::string_view what, absl::string_view found, absl::string_view expected) {
  return absl::InvalidArgumentError(absl::StrCat(what, ": found ", found, ", expected ", expected));
}

std::string MeantName(const std::string& name, const std::vector<std::string>& names) {
  const std::string nearest = NearestName(name, names);
  return nearest.empty() ? "" : absl::StrCat("; did you mean ", nearest, "?");
}

Parameters::Parameters(absl::string_view what, absl::string_view prefix, absl::string_view text) : what_(what), prefix_(prefix) {
  if (text.empty()) return;
  for (const absl::string_view item : absl::StrSplit(text, ',')) {
    const std::pair<std::string, std::string> entry = absl::StrSplit(item, absl::MaxSplits('=', 1));
    if (entry.first.empty() || entry.second.empty()) fault_.Update(WrongParameter(what_, absl::StrCat("\"", item, "\""), "KEY=VALUE"));
    else if (!values_.insert(entry).second) fault_.Update(WrongParameter(what_, absl::StrCat(prefix_, entry.first, " twice"), "it once"));
  }
}

void Parameters::Take(absl::string_view key, int least, int most, int& value) {
  Take(key, absl::StrCat(least, " to ", most), [&](absl::string_view text) {
    int number = 0;
    if (!absl::SimpleAtoi(text, &number) || number < least || number > most) return false;
    value = number;
    return true;
  });
}

void Parameters::Take(absl::string_view key, bool& value) {
  int number = value ? 1 : 0;
  Take(key, 0, 1, number);
  value = number == 1;
}

void Parameters::Take(absl::string_view key, std::vector<int>& values, int most_count, int most) {
  Take(key, absl::StrCat("1 to ", most_count, " numbers from 1 to ", most, " with x between"), [&](absl::string_view text) {
    std::vector<int> numbers;
    for (const absl::string_view item : absl::StrSplit(text, 'x')) {
      int number = 0;
      if (!absl::SimpleAtoi(item, &number) || number < 1 || number > most) return false;
      numbers.push_back(number);
    }
    if (static_cast<int>(numbers.size()) > most_count) return false;
    values = std::move(numbers);
    return true;
  });
}

void Parameters::TakeShare(absl::string_view key, bool may_be_zero, double& value) {
  Take(key, may_be_zero ? "0 to 1" : "more than 0, at most 1", [&](absl::string_view text) {
    double number = 0;
    if (!absl::SimpleAtod(text, &number) || !(number >= 0 && number <= 1) || (number == 0 && !may_be_zero)) return false;
    value = number;
    return true;
  });
}

void Parameters::TakeNumber(absl::string_view key, bool may_be_zero, float& value) {
  Take(key, may_be_zero ? "a finite number of at least 0" : "a finite number above 0", [&](absl::string_view text) {
    float number = 0;
    if (!absl::SimpleAtof(text, &number) || !std::isfinite(number) || number < 0 || (number == 0 && !may_be_zero)) return false;
    value = number;
    return true;
  });
}

absl::Status Parameters::Done() const {
  RETURN_IF_ERROR(fault_);
  if (values_.empty()) return absl::OkStatus();
  const std::string& key = values_.begin()->first;
  return WrongParameter(what_, absl::StrCat(prefix_, key), absl::StrCat("one of ", absl::StrJoin(known_, ", "), MeantName(key, known_)));
}

void Parameters::Take(absl::string_view key, absl::string_view expected, absl::FunctionRef<bool(absl::string_view)> parse) {
  known_.emplace_back(key);
  const auto place = values_.find(std::string(key));
  if (place == values_.end()) return;
  if (!parse(place->second)) fault_.Update(WrongParameter(what_, absl::StrCat(prefix_, key, "=", place->second), expected));
  values_.erase(place);
}

}  // namespace tessera

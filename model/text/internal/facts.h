// Reads facts (model/text/tokenizer_facts.h). Errors name the problem and the place.
//
//   ASSIGN_OR_RETURN(const absl::string_view model, Needed(facts.model));
//   if (model != "gpt2") return WrongFact(facts.model.place, "found another, expected gpt2");
//   ASSIGN_OR_RETURN(const bool asked, ValueOr(facts.add_bos, false));
//
// Thread-safe (pure functions).
#pragma once

#include <cstdint>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/text/tokenizer_facts.h"

namespace tessera {

// Returns InvalidArgument with file, key and byte offset in front of the problem, which reads "found 3, expected 4".
absl::Status WrongFact(const FactPlace& place, absl::string_view problem);
// Returns InvalidArgument with file and key alone, for a fact that stands nowhere in the file.
absl::Status MissingInFact(const FactPlace& place, absl::string_view problem);
// Returns WrongFact for element `index` of a list.
absl::Status WrongElement(const FileFact<LengthPrefixedStrings>& list, int64_t index, absl::string_view problem);
absl::Status WrongElement(const FactPlace& list, int64_t index, int64_t element_bytes, absl::string_view problem);
template <typename Number>
absl::Status WrongElement(const FileFact<std::vector<Number>>& list, int64_t index, absl::string_view problem) {
  return WrongElement(list.place, index, sizeof(Number), problem);
}

// Returns NotFound with file and key.
absl::Status NoSuchFact(const FactPlace& place);

// Returns the value; an error if there is none.
template <typename T>
absl::StatusOr<T> Needed(const FileFact<T>& fact) {
  RETURN_IF_ERROR(fact.problem);
  if (!fact.value.has_value()) return NoSuchFact(fact.place);
  return *fact.value;
}

// Like Needed, but moves the value: for values that are expensive to copy.
template <typename T>
absl::StatusOr<T> TakeNeeded(FileFact<T>& fact) {
  RETURN_IF_ERROR(fact.problem);
  if (!fact.value.has_value()) return NoSuchFact(fact.place);
  return *std::move(fact.value);
}

// Returns the value; `otherwise` if there is none.
template <typename T>
absl::StatusOr<T> ValueOr(const FileFact<T>& fact, T otherwise) {
  RETURN_IF_ERROR(fact.problem);
  return fact.value.value_or(otherwise);
}

}  // namespace tessera

// The matrices of a model that was written in other forms: a table by kind and form for people, and each tensor as JSON.
//
//   RETURN_IF_ERROR(WriteOutput(MatrixTable(matrices)));             // From MatricesOf, perhaps measured.
//
// Thread-safe (pure functions).
#pragma once

#include <string>

#include "absl/types/span.h"
#include "tessera/base/json_writer.h"
#include "tessera/model/files/forms_instead.h"
#include "tessera/model/files/weight_errors.h"

namespace tessera {

// Returns a table with a row for each kind and form, in the order of each group's first tensor, and a row for all. The error is the root
// mean square of the errors divided by the root mean square of the weights; "-": not measured. Padding has a column if there is any.
std::string MatrixTable(absl::Span<const WrittenMatrix> matrices);

// Writes an array of objects: "tensor", "form", "weights", "bytes", "bits_per_weight", "padding_bytes", "relative_error" (null: not
// measured).
void WriteMatrices(absl::Span<const WrittenMatrix> matrices, JsonWriter& json);

// Writes an array of objects: "tensor", "wanted", "form".
void WriteFormsInstead(absl::Span<const FormInstead> instead, JsonWriter& json);

}  // namespace tessera

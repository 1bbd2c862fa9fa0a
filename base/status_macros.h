// RETURN_IF_ERROR and ASSIGN_OR_RETURN: pass a failed absl::Status on to the caller in one line.
//
//   absl::StatusOr<int64_t> PanelBytes(int64_t rows, int64_t columns) {
//     ASSIGN_OR_RETURN(const int64_t values, CheckedMul(rows, columns));
//     RETURN_IF_ERROR(CheckBelow(values, kLargestPanel));
//     return values;
//   }
//
// Only for .cc files: the names are short, so no public header includes status_macros.h.
#pragma once

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tessera/base/cpp20.h"

#define TESSERA_CONCAT_INNER(a, b) a##b
#define TESSERA_CONCAT(a, b) TESSERA_CONCAT_INNER(a, b)

#ifndef RETURN_IF_ERROR
#define RETURN_IF_ERROR(expression)                      \
  do {                                                   \
    absl::Status tessera_status = (expression);          \
    if (!tessera_status.ok()) return tessera_status;     \
  } while (false)
#endif

#ifndef ASSIGN_OR_RETURN
#define ASSIGN_OR_RETURN(target, expression) \
  TESSERA_ASSIGN_OR_RETURN_INNER(TESSERA_CONCAT(tessera_result_, __LINE__), target, expression)
#endif

#define TESSERA_ASSIGN_OR_RETURN_INNER(result, target, expression) \
  auto result = (expression);                                      \
  if (!result.ok()) return std::move(result).status();             \
  target = *std::move(result)

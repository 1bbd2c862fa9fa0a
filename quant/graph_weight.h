// What a graph reads and never writes, as a device wants it: a vector or a matrix, and the bytes that it takes.
//
//   GraphWeight weight = {.spec = {"ffn_up.weight", BlockFormat::kQ4_1, 1536, 576}, .vector = false};
//   ASSIGN_OR_RETURN(int64_t bytes, WeightBytes(weight, WeightEncoding::kPacked));
//
// Those that lay out a file's weights and those that run graphs agree on this and need not know each other. Thread-safe (plain data
// and a pure function).
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "tessera/quant/packed_matrix.h"

namespace tessera {

// How a device wants its matrices: packed in panels (quant/packed_matrix.h), or row-major FP32.
enum class WeightEncoding : uint8_t { kPacked, kFloat32 };

// Read-only bytes given to each run: a vector of FP32, or a matrix in the encoding that the device asks for.
struct GraphWeight {
  MatrixSpec spec = {};
  bool vector = false;
};

// Bytes of a weight as `encoding` has it. The errors of PackedMatrix::BytesFor; OutOfRange if the size overflows.
absl::StatusOr<int64_t> WeightBytes(const GraphWeight& weight, WeightEncoding encoding);

}  // namespace tessera

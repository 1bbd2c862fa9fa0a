// Shares out products of the same rows with one or several matrices among the workers of a pool: y = W x for every row x and matrix W.
//
//   const PanelShape matrices[] = {gate.shape(), up.shape()};
//   const PanelSchedule schedule({.matrices = matrices, .rows = rows, .workers = pool.threads()});
//   std::vector<TakenParts> taken(pool.threads());                 // All 0 before the workers begin.
//   pool.Run([&](int worker) {
//     const uint64_t arrival = pool.Arrive();                      // After this worker has prepared its share of the rows.
//     schedule.Run(taken.data(), worker, multiply, [&] { pool.AwaitOthers(arrival); });    // multiply(matrix, panels, rows)
//   });
//
// Every output of every row is in exactly one piece, whatever the shapes and workers; a worker that is held up leaves its pieces to
// the others (base/shared_work.h). No bit depends on how the products are cut or on which worker computes a piece.
// quant/matmul.h and the host device (npu/host) both compute by this schedule. Thread-safe: constant data.
#pragma once

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "tessera/base/shared_work.h"
#include "tessera/base/thread_pool.h"
#include "tessera/quant/packed_matrix.h"

namespace tessera {

class PanelSchedule {
 public:
  struct Work {
    absl::Span<const PanelShape> matrices = {};  // Of the same in_features; they outlive the schedule.
    int64_t rows = 0;
    int workers = 1;
    // Does a row cost something for each part, beside its products, as one with an adapter does? Then many rows have fewer parts.
    bool costly_parts = false;
  };
  // Panels [begin, end) of matrices[matrix] times rows [begin, end). By reference: on the stack, shares would be copied as one, by loads
  // wider than the stores just made, which wait for these (quant/kernels/panel_kernel.h).
  using Multiply = absl::FunctionRef<void(int matrix, const Share& panels, const Share& rows)>;

  explicit PanelSchedule(const Work& work);

  // Calls multiply for every piece that falls to `worker`, none of which is empty. Every worker calls it once; together they compute
  // all. await_rows is called once, before the first piece with rows other than ShareOf(rows, worker, workers), so that a worker whose
  // own rows are ready does not wait for the others' first. taken: one per worker, 0 at first.
  void Run(TakenParts* taken, int worker, Multiply multiply, absl::FunctionRef<void()> await_rows) const;

 private:
  void MultiplyPart(int64_t part, Multiply multiply) const;

  const Work work_;
  int64_t bytes_ = 0;   // Of all panels.
  // A part is one block of one owner's rows times one cut of the panels. The blocks of a cut follow each other.
  int owners_ = 1;      // Each has a share of the rows; 1: all rows are of all workers.
  int64_t blocks_ = 1;  // Of an owner's rows.
  int64_t cuts_ = 0;    // Of the panels, about equal in bytes.
};

}  // namespace tessera

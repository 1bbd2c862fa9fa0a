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
    absl::Span<const PanelShape> matrices = {};  // All with the same in_features. They must outlive the schedule.
    int64_t rows = 0;
    int workers = 1;
    // Does a row cost something in each part besides its products, as an adapter does? Then many rows are cut into fewer parts.
    bool costly_parts = false;
    // Do weights cost something in each part besides their products, as those in tiles do, which are widened? Then parts have more rows.
    bool costly_weights = false;
  };
  // Panels [begin, end) of matrices[matrix] times rows [begin, end). Shares are passed by reference. By value they would be copied on the
  // stack with loads that are wider than the stores just made, and such loads wait for the stores (quant/kernels/panel_kernel.h).
  using Multiply = absl::FunctionRef<void(int matrix, const Share& panels, const Share& rows)>;

  explicit PanelSchedule(const Work& work);

  // Calls multiply for every piece that falls to `worker`, none of which is empty. Every worker calls it once; together they compute
  // all. await_rows is called once, before the first piece with rows other than ShareOf(rows, worker, workers), so that a worker whose
  // own rows are ready does not wait for the others' first. taken: one per worker, 0 at first.
  void Run(TakenParts* taken, int worker, Multiply multiply, absl::FunctionRef<void()> await_rows) const;

 private:
  void MultiplyPart(int64_t part, Multiply multiply) const;

  const Work work_;
  int64_t bytes_ = 0;   // All panels of all matrices.
  // A part is one block of one owner's rows times one cut of the panels. The parts of one cut follow each other, block by block.
  int owners_ = 1;      // Workers that have a share of the rows each. 1: rows are not shared out, and all workers compute with all of them.
  int64_t blocks_ = 1;  // Blocks that an owner's rows are cut into.
  int64_t cuts_ = 0;    // Cuts that the panels are divided into, about equal in bytes.
};

}  // namespace tessera

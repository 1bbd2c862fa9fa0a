// Divides the products of some rows with one or several matrices among the workers of a pool: y = W x for every row x and matrix W.
//
//   const PanelShape matrices[] = {gate.shape(), up.shape()};
//   const PanelSchedule schedule({.matrices = matrices, .rows = rows, .workers = pool.threads()});
//   std::vector<TakenParts> taken(pool.threads());                 // All 0 before the workers begin.
//   pool.Run([&](int worker) {
//     const uint64_t arrival = pool.Arrive();                      // After this worker has prepared its share of the rows.
//     schedule.Run(taken.data(), worker, multiply, [&] { pool.AwaitOthers(arrival); });    // multiply(matrix, panels, rows)
//   });
//
// Every output of every row is in exactly one piece, for any shapes and number of workers. A delayed worker leaves its pieces to the others
// (base/shared_work.h). No bit depends on the cut of the products or on the worker of a piece. Both quant/matmul.h and the host device
// (npu/host) compute by this schedule. Thread-safe: constant data.
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
    absl::Span<const PanelShape> matrices = {};  // All with the same in_features. The shapes must outlive the schedule.
    int64_t rows = 0;
    int workers = 1;
    // True if a row has a cost in each part in addition to its products, as with an adapter. Many rows are then cut into fewer parts.
    bool costly_parts = false;
    // True if weights have a cost in each part in addition to their products, as with weights in tiles, which are widened. Parts then have
    // more rows.
    bool costly_weights = false;
  };
  // Multiplies panels [begin, end) of matrices[matrix] by rows [begin, end). Shares are passed by reference. By value, shares would be
  // copied on the stack with loads wider than the preceding stores. Such loads wait for the stores (quant/kernels/panel_kernel.h).
  using Multiply = absl::FunctionRef<void(int matrix, const Share& panels, const Share& rows)>;

  explicit PanelSchedule(const Work& work);

  // Calls multiply for every piece of `worker`; no piece is empty. Every worker calls Run once; together the workers compute all pieces.
  // Calls await_rows once, before the first piece with rows other than ShareOf(rows, worker, workers). So a worker whose own rows are ready
  // does not wait for the others' rows first. taken: one per worker, 0 at first.
  void Run(TakenParts* taken, int worker, Multiply multiply, absl::FunctionRef<void()> await_rows) const;

 private:
  void MultiplyPart(int64_t part, Multiply multiply) const;

  const Work work_;
  int64_t bytes_ = 0;   // All panels of all matrices.
  // A part is one block of one owner's rows times one cut of the panels. The parts of one cut follow each other, block by block.
  int owners_ = 1;      // Number of workers that have a share of the rows. 1: rows are not divided; all workers compute with all rows.
  int64_t blocks_ = 1;  // Number of blocks of each owner's rows.
  int64_t cuts_ = 0;    // Number of cuts of the panels, about equal in bytes.
};

}  // namespace tessera

// Runs a pass in a random way: straight through, or with stops at some layers, where rows are dropped, and with other chunks and graphs
// from layer to layer. No bit of a remaining row may depend on the way.
//
//   RandomWalk walk(random, machine.runner());
//   const HiddenRows done = walk.Run(rows, machine.cache(), wanted, {.in_order = true, .may_go = {false, false, true}});
//   if (walk.dropped()[2]) ...
//
// Operations that cannot fail in a right program are CHECKed. Thread-compatible.
#pragma once

#include <algorithm>
#include <functional>
#include <vector>

#include <glog/logging.h>

#include "tessera/base/random.h"
#include "tessera/model/pass_runner.h"
#include "tessera/tests/fakes/must.h"

namespace tessera {

class RandomWalk {
 public:
  RandomWalk(SeededRandom& random, PassRunner& runner) : random_(random), runner_(runner) {}

  struct About {
    bool in_order = false;           // No row attends to a later row, so chunks may be small.
    std::vector<bool> may_go = {};   // By row: whether no other row needs its keys and values after the pass. Wanted rows stay anyway.
    std::function<void(int layer, int row, absl::Span<const float> state)> on_state = nullptr;   // At each stop, called for each row.
  };
  HiddenRows Run(absl::Span<const PassRow> rows, const KvCache& cache, absl::Span<const int> wanted, const About& about) {
    dropped_.assign(rows.size(), false);
    if (random_.Below(3) == 0) return Must(runner_.Run(rows, cache, wanted));
    Pass pass = Must(runner_.Begin(rows, cache));
    const int layers = runner_.model().layers();
    while (pass.layer() < layers && random_.Below(3) > 0) {
      const int to = pass.layer() + static_cast<int>(random_.Below(layers - pass.layer() + 1));
      Must(pass.RunTo(to, Runs(to - pass.layer(), about.in_order)));
      ShowStates(pass, about);
      for (int i = 0; i < 4; ++i) Drop(pass, rows, wanted, about.may_go);
      ++stops_;
    }
    return Must(pass.Finish(wanted, Runs(layers - pass.layer(), about.in_order)));
  }

  const std::vector<bool>& dropped() const { return dropped_; }   // By row of the last run.
  int64_t stops() const { return stops_; }                        // In all runs.
  int64_t drops() const { return drops_; }

 private:
  static void ShowStates(const Pass& pass, const About& about) {
    const TensorView<const float> states = Must(pass.Hidden());
    CHECK_EQ(states.rows(), static_cast<int64_t>(pass.rows().size()));
    for (int64_t i = 0; about.on_state != nullptr && i < states.rows(); ++i) {
      about.on_state(pass.layer(), pass.rows()[static_cast<size_t>(i)], {states.row(i), static_cast<size_t>(states.columns())});
    }
  }

  std::vector<LayerRun> Runs(int layers, bool in_order) {
    if (random_.Below(2) == 0) return {};
    const int most = runner_.model().rows_together();
    std::vector<LayerRun> runs(static_cast<size_t>(layers));
    for (LayerRun& run : runs) {
      if (in_order) run.chunk_rows = static_cast<int>(random_.Below(std::min(most, 12) + 1));
      run.graph_rows = random_.Below(2) == 0 ? 0 : run.chunk_rows + static_cast<int>(random_.Below(most - run.chunk_rows + 1));
      if (!in_order) run.graph_rows = random_.Below(2) == 0 ? 0 : most;
    }
    return runs;
  }

  // Returns whether `reader` attends to `row`.
  static bool Reads(const PassRow& reader, const PassRow& row) {
    const SlotRange& last = row.paths[0].back();
    const int32_t slot = last.begin + last.count - 1;
    return std::any_of(reader.paths[0].begin(), reader.paths[0].end(),
                       [slot](const SlotRange& range) { return slot >= range.begin && slot - range.begin < range.count; });
  }

  // Drops a row and all rows that attend to the row, if all may go. CHECKs that dropping the row alone is refused.
  void Drop(Pass& pass, absl::Span<const PassRow> rows, absl::Span<const int> wanted, const std::vector<bool>& may_go) {
    if (pass.rows().empty()) return;
    const int row = pass.rows()[static_cast<size_t>(random_.Below(static_cast<int64_t>(pass.rows().size())))];
    std::vector<int> readers;
    for (const int other : pass.rows()) {
      if (Reads(rows[static_cast<size_t>(other)], rows[static_cast<size_t>(row)])) readers.push_back(other);
    }
    if (readers.size() > 1) CHECK(absl::IsInvalidArgument(pass.Drop({row})));
    for (const int reader : readers) {
      if (!may_go[static_cast<size_t>(reader)] || std::binary_search(wanted.begin(), wanted.end(), reader)) return;
    }
    Must(pass.Drop(readers));
    for (const int reader : readers) dropped_[static_cast<size_t>(reader)] = true;
    drops_ += static_cast<int64_t>(readers.size());
  }

  SeededRandom& random_;
  PassRunner& runner_;
  std::vector<bool> dropped_;
  int64_t stops_ = 0, drops_ = 0;
};

}  // namespace tessera

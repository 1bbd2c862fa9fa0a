// A text in a machine's cache, and its rows, one per token.
//
//   PassText text(machine, {72, 101, 108});
//   const HiddenRows done = Must(text.Begin().FinishAll());
//   EXPECT_EQ(text.LogitsOf(done, 2), expected);
//
// Operations that cannot fail in a right program are CHECKed. Thread-compatible.
#pragma once

#include <atomic>
#include <vector>

#include "tessera/tests/fakes/loaded_model.h"

namespace tessera {

class PassText {
 public:
  PassText(Machine& machine, absl::Span<const TokenId> tokens) : machine_(machine), sequence_(machine.cache().NewSequence()) {
    const int count = static_cast<int>(tokens.size());
    Must(machine.cache().MakeRoom(count));
    Must(machine.cache().Extend(sequence_, count));
    for (int i = 0; i < count; ++i) paths_.push_back(machine.cache().PathsOf(sequence_, i + 1));
    for (size_t i = 0; i < tokens.size(); ++i) rows.push_back({.token = tokens[i], .paths = paths_[i]});
  }
  PassText(const PassText&) = delete;
  ~PassText() { machine_.cache().Release(sequence_); }

  Pass Begin(const std::atomic<bool>* cancel = nullptr) { return Must(machine_.runner().Begin(rows, machine_.cache(), cancel)); }
  std::vector<float> LogitsOf(const HiddenRows& done, int row) {
    std::vector<float> logits(static_cast<size_t>(machine_.config().vocabulary));
    Must(machine_.runner().Logits(done, {row}, TensorView<float>(logits.data(), 1, machine_.config().vocabulary)));
    return logits;
  }

  std::vector<PassRow> rows;

 private:
  Machine& machine_;
  const KvCache::SequenceId sequence_;
  std::vector<KvCache::Paths> paths_;
};

inline std::vector<float> RowOfView(TensorView<const float> view, int64_t row) { return {view.row(row), view.row(row) + view.columns()}; }

}  // namespace tessera

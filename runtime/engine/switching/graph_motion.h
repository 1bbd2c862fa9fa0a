// Moves a model from its prefill graphs to its decode graphs while a prompt is read, and back. The device has room for one graph of each
// block of layers (sd.npu, section 3.2).
//
//   ASSIGN_OR_RETURN(const std::unique_ptr<GraphMotion> motion, GraphMotion::Create(runner, options));
//   RETURN_IF_ERROR(motion->SetTimes(times));                  // of each block: measure_switching.h
//   RETURN_IF_ERROR(motion->BeginPrompt(tokens));              // plans (npu/graph_switch.h), from the graphs that blocks have
//   ASSIGN_OR_RETURN(HiddenRows rows, motion->Finish(pass, wanted));     // each pass of the prompt, then those of decoding
//   RETURN_IF_ERROR(motion->EndPrompt());                      // loads that are left; DropPrompt where the prompt failed
//   RETURN_IF_ERROR(motion->BeginReturn());                    // the next turn's prefill graphs, while a user types
//
// Switching changes no bit of a row: a block with its decode graph computes chunks in the decode graph's sub-chunks. A load begins at the
// first block that computes after the load's planned time. A failed load is the error of the pass or prompt that wanted the graph; the next
// pass that needs the graph loads the graph again.
// Threads: as the runner.
#pragma once

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tessera/model/pass_runner.h"
#include "tessera/npu/graph_switch.h"

namespace tessera {

struct SwitchingOptions {
  SwitchRule rule = SwitchRule::kPlanned;
  int blocks = 4;          // At most the model's layers.
  int prefill_rows = 256;  // A chunk: the rows of a pass over a prompt.
  int decode_rows = 32;    // A sub-chunk, and the most rows of a decode pass.
  // Ends of the blocks, in layers: one per block, ascending; the last is the model's number of layers. Empty: equal shares.
  std::vector<int> ends = {};
};

// Counts since the motion was made.
struct MotionReport {
  int prompts = 0;
  int switched_in_prompt = 0;   // Blocks that had their decode graph before the prompt ended.
  int switched_after = 0;
  int returned = 0;             // Blocks that got their prefill graph back.
};

class GraphMotion {
 public:
  // Loads the prefill graphs of all blocks. The runner must outlive the motion, and must load no graphs by itself (PassRunner::Options).
  // InvalidArgument (found, expected) for options out of range; the device's errors.
  static absl::StatusOr<std::unique_ptr<GraphMotion>> Create(PassRunner& runner, const SwitchingOptions& options);

  int blocks() const { return static_cast<int>(ends_.size()); }
  // Returns the first layer of a block. The block's layers end below FirstOf(block + 1).
  int FirstOf(int block) const { return block == 0 ? 0 : ends_[static_cast<size_t>(block) - 1]; }
  const std::vector<int>& ends() const { return ends_; }
  // Sets the times. InvalidArgument (found, expected) unless there is one entry per block.
  absl::Status SetTimes(std::vector<SwitchTimes> times);

  // Begins a prompt of `tokens` tokens, in passes of prefill_rows. Blocks that have their decode graph keep it, or all of these blocks
  // first get the prefill graph back and switch again, whichever ends sooner. FailedPrecondition before SetTimes; the errors of PlanSwitch
  // and of loading. REQUIRES: tokens >= 1.
  absl::Status BeginPrompt(int tokens);
  // Begins the plan's last loads, which had to wait for the prompt's end. Does nothing without a prompt. Tries all loads and returns the
  // first error.
  absl::Status EndPrompt();
  // Ends a prompt that failed, and moves no more graphs: blocks keep their present graphs. Does nothing without a prompt.
  void DropPrompt() { ForgetPrompt(); }
  // Whether a prompt is under way: from BeginPrompt to EndPrompt, DropPrompt or an error of Finish.
  bool in_prompt() const { return in_prompt_; }
  // Finishes a pass with the blocks' present graphs, and begins the loads that are due. Returns the errors of Pass and of loading.
  absl::StatusOr<HiddenRows> Finish(Pass& pass, absl::Span<const int> wanted);

  // Loads the decode graphs of all blocks, without a prompt. Tries all loads and returns the first error.
  absl::Status SwitchAll();
  // Loads the prefill graphs of all blocks, in the order in which the next prompt needs the graphs.
  absl::Status BeginReturn();
  // Loads the graphs that blocks do not have yet. `decode` has one entry per block: true for the decode graph. Tries all loads and returns
  // the first error. REQUIRES: no prompt is being read.
  absl::Status SetGraphs(const std::vector<bool>& decode);
  // Loads the prefill graphs of all blocks, even if the runner was told to load others meanwhile. Forgets the prompt.
  absl::Status Reset();

  const MotionReport& report() const { return report_; }
  const SwitchingOptions& options() const { return options_; }
  // Returns whether a block has its decode graph, or is about to get the graph.
  bool IsSwitched(int block) const { return switched_[static_cast<size_t>(block)]; }

 private:
  GraphMotion(PassRunner& runner, const SwitchingOptions& options);
  absl::Status Switch(int block, bool decode);
  absl::StatusOr<SwitchPlan> PlanFor(const SwitchPrompt& prompt) const;
  void ForgetPrompt();
  absl::StatusOr<HiddenRows> FinishBlocks(Pass& pass, absl::Span<const int> wanted);
  // Begins the loads that are due before a block computes, as far as the loader is free.
  absl::Status BeginLoads(int step);
  LayerRun RunOf(int block, int rows) const;

  PassRunner& runner_;
  const SwitchingOptions options_;
  std::vector<int> ends_;              // Ends of the blocks, in layers.
  std::vector<bool> switched_;
  std::vector<SwitchTimes> times_;
  SwitchPlan plan_;                    // The plan of the prompt that is read.
  size_t next_load_ = 0;               // The plan's next load.
  int last_loaded_ = -1;               // The block whose load began last.
  int step_ = 0;                       // Blocks that have computed since the prompt began.
  bool in_prompt_ = false;
  MotionReport report_;
};

}  // namespace tessera

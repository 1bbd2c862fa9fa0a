// Moves a model from its prefill graphs to its decode graphs while a prompt is read, and back, on a device that has room for one graph of
// each block of layers (sd.npu, section 3.2).
//
//   ASSIGN_OR_RETURN(const std::unique_ptr<GraphMotion> motion, GraphMotion::Create(runner, options));
//   RETURN_IF_ERROR(motion->SetTimes(times));                  // of each block: measure_switching.h
//   RETURN_IF_ERROR(motion->BeginPrompt(tokens));              // plans (npu/graph_switch.h), from the graphs that blocks have
//   ASSIGN_OR_RETURN(HiddenRows rows, motion->Finish(pass, wanted));     // each pass of the prompt, then those of decoding
//   RETURN_IF_ERROR(motion->EndPrompt());                      // loads that are left; DropPrompt where the prompt failed
//   RETURN_IF_ERROR(motion->BeginReturn());                    // the next turn's prefill graphs, while a user types
//
// Bits of rows do not depend on any of it: chunks are cut into the decode graph's sub-chunks where a block has that. A load begins at the
// first block that computes after its time has come. A load that fails is the error of the pass or prompt that wanted it; whoever needs the
// graph next has it loaded again. Threads: those of the runner.
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
  int decode_rows = 32;    // A sub-chunk, and the most of a pass that decodes.
  // Where blocks end, in layers: as many as blocks, ascending, the last at the model's last layer. Empty: equal shares.
  std::vector<int> ends = {};
};

// What happened since the motion was made.
struct MotionReport {
  int prompts = 0;
  int switched_in_prompt = 0;   // Blocks that had their decode graph before the prompt ended.
  int switched_after = 0;
  int returned = 0;             // Blocks that got their prefill graph back.
};

class GraphMotion {
 public:
  // All blocks get their prefill graphs. The runner must outlive it, and load no graphs by itself (PassRunner::Options). InvalidArgument
  // (found, expected) for options out of range; the device's errors.
  static absl::StatusOr<std::unique_ptr<GraphMotion>> Create(PassRunner& runner, const SwitchingOptions& options);

  int blocks() const { return static_cast<int>(ends_.size()); }
  // The layers of a block: from FirstOf(block) to below FirstOf(block + 1).
  int FirstOf(int block) const { return block == 0 ? 0 : ends_[static_cast<size_t>(block) - 1]; }
  const std::vector<int>& ends() const { return ends_; }
  // InvalidArgument (found, expected) unless there is one for each block.
  absl::Status SetTimes(std::vector<SwitchTimes> times);

  // A prompt of so many tokens comes, in passes of prefill_rows. Blocks that have their decode graph keep it, or all of them get the
  // prefill graph back first and switch again, whichever ends sooner. FailedPrecondition before SetTimes; the errors of PlanSwitch and of
  // loading. REQUIRES: tokens >= 1.
  absl::Status BeginPrompt(int tokens);
  // What is left of the plan: loads that had to wait for the prompt's end. Without a prompt, nothing. All are tried; the first error.
  absl::Status EndPrompt();
  // A prompt that failed moves no more graphs: blocks keep those that they have. Without a prompt, nothing.
  void DropPrompt() { ForgetPrompt(); }
  bool in_prompt() const { return in_prompt_; }   // Between BeginPrompt and what ends a prompt: EndPrompt, DropPrompt, an error of Finish.
  // Finishes a pass by the graphs that blocks have, and begins the loads whose time has come. Errors: those of Pass and of loading.
  absl::StatusOr<HiddenRows> Finish(Pass& pass, absl::Span<const int> wanted);

  // Loads the decode graphs of all blocks, without a prompt. All are tried; the first error.
  absl::Status SwitchAll();
  // Loads the prefill graphs of all blocks, in the order in which the next prompt needs them.
  absl::Status BeginReturn();
  // Loads those graphs that blocks do not have; one entry per block: its decode graph. All are tried; the first error. REQUIRES: no prompt
  // is being read.
  absl::Status SetGraphs(const std::vector<bool>& decode);
  // All blocks get their prefill graphs, whatever the runner was told to load meanwhile; nothing is left of a prompt.
  absl::Status Reset();

  const MotionReport& report() const { return report_; }
  const SwitchingOptions& options() const { return options_; }
  // Whether a block has its decode graph, or is about to get it.
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
  std::vector<int> ends_;              // Where blocks end, in layers.
  std::vector<bool> switched_;
  std::vector<SwitchTimes> times_;
  SwitchPlan plan_;                    // For the prompt that is read, and
  size_t next_load_ = 0;               // how far it is carried out.
  int last_loaded_ = -1;               // The block whose load began last.
  int step_ = 0;                       // Blocks that have computed since the prompt began.
  bool in_prompt_ = false;
  MotionReport report_;
};

}  // namespace tessera

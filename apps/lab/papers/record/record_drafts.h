// Records a draft model's answers after every token of texts that a target writes (draft_recording.h).
//
//   ASSIGN_OR_RETURN(DraftRecorder recorder, DraftRecorder::Create(*target, *expander, {.texts = 6, .most_tokens = 128}));
//   for (const PromptCategory& set : sets) RETURN_IF_ERROR(recorder.Record(set, [] {}, recording));        // bench/lever_prompts.h
//
// The target writes each text greedily, by itself or with SAM decoding as a TextRecorder does ("sam" of record_texts.h), whose passes are
// recorded too: the text is the same. Then the draft reads the text token by token, and answers after each. The draft also answers after
// the likeliest token that did not come, to measure how far kOffPathRule is from the draft. Time plays no part, so each run gives the same
// recording.
// Threads: as the engines.
#pragma once

#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tessera/apps/bench/spec/spec_bench_prompts.h"
#include "tessera/apps/lab/papers/record/draft_recording.h"
#include "tessera/apps/lab/papers/record/record_texts.h"
#include "tessera/runtime/engine/engine.h"
#include "tessera/spec/trees/expander.h"

namespace tessera {

class DraftRecorder {
 public:
  // Both must outlive the recorder. The errors of TextRecorder::Create. REQUIRES: as TextRecorder::Create, and a draft with the target's
  // tokens.
  static absl::StatusOr<DraftRecorder> Create(Engine& target, Expander& draft, const RecordLimits& limits);

  // Adds a set's texts to `recording`, in the order of its prompts, and the answers after wrong tokens; calls `written` after each text of
  // the target. The errors of TextRecorder::Record, and of the draft. REQUIRES: the set's name is one of kLeverSets.
  absl::Status Record(const PromptCategory& set, absl::FunctionRef<void()> written, DraftRecording& recording);

 private:
  DraftRecorder(TextRecorder target, Expander& draft) : target_(std::move(target)), draft_(&draft) {}
  absl::StatusOr<DraftedText> Drafted(const WrittenAnswer& answer, DraftRecording& recording);

  TextRecorder target_;
  Expander* draft_;
};

}  // namespace tessera

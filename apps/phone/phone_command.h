// tessera_inspect --device: predicts the run of a model on a phone's NPU from the phone's profile, operator by operator.
//
//   RETURN_IF_ERROR(CheckPhoneReportFlags());                                 // without --device none of the flags that belong to it
//   if (IsGiven("device")) return ShowPhoneReport();
//
// The report has the speed of prompts, and of decoding by rows of a pass. The report also has the time to the first token, loading, memory,
// energy compared with one row, and the bound of each operator. No pass is computed, so a shape is enough. With --jsonl, questions are read
// from standard input, a JSON object per line with the flags as keys; the flags count for all lines. Threads: one at a time.
#pragma once

#include "absl/status/status.h"
#include "tessera/apps/cli/flags/flags.h"

namespace tessera {

// Returns the flags of a report, without --model, --recipe and --json, which other reports of the program have, too.
const FlagGroup& PhoneReportFlags();

// Returns wrong usage of the first flag of a report that is given without --device.
absl::Status CheckPhoneReportFlags();

// Writes the report that the flags ask for to standard output: a table, JSON, or an answer per line of --jsonl.
absl::Status ShowPhoneReport();

}  // namespace tessera

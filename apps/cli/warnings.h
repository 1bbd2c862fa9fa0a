// Warns of conditions that are not as asked for, or not as they should be, although the program works. Each warning appears once, on
// standard error.
//
//   WarnOfShortages(engine);      // after Engine::Open, once the weights are loaded, and at the end
//
// Libraries log nothing, so programs ask for such facts. Threads: one at a time.
#pragma once

#include <optional>
#include <string>

#include "tessera/model/text/tokenizer.h"
#include "tessera/runtime/draft/speculation.h"
#include "tessera/runtime/engine/engine.h"

namespace tessera {

// Warns of an engine's shortages.
// - Threads: fewer than asked for, also for loading.
// - Context: larger than the trained one, or smaller than usual because of a budget.
// - Manifest: damaged, so the copy is used.
// - Recipe: formats that do not fit some matrices.
// - Files: no memory for a copy of a file, which must then not be changed.
// - Streaming: a model that is streamed through the page cache.
void WarnOfShortages(const Engine& engine);

// Logs a warning, unless the text is empty or was logged before.
void WarnOnce(const std::string& warning);

// Returns true at the first call with this text: for lines that are no warnings, and appear once.
bool IsSaidFirst(const std::string& text);

// Shares the warnings among the processes that this process forks from now on: no two processes give the same warning.
void ShareWhatIsSaid();

// Warns of fewer threads than asked for, or of more threads than a quota of CPU time serves. WarnOfShortages warns of the engine's threads,
// too.
void WarnOfThreads(int asked, int taken);

// Returns the text of WarnOfThreads; empty: no warning. quota: a result of CpuQuota.
std::string ThreadsWarning(int asked, int taken, std::optional<double> quota);

// Warns of marks of a vocabulary that the file types as plain text. WarnOfShortages warns of the engine's vocabulary, too.
void WarnOfVocabulary(const Tokenizer& tokenizer);

// Warns of bytes that the vocabulary has no token for, in all texts that were encoded so far. WarnOfShortages warns of the engine's
// vocabulary, too.
void WarnOfLostBytes(const Tokenizer& tokenizer);

// Warns of a history whose file could not be read, or was damaged and is replaced. Does nothing for null, or without a history.
void WarnOfHistory(const Speculation* speculation);

// Warns of a history that none of the chosen drafters reads: answers are kept, but not drafted from. Does nothing for "none": nobody then
// expects drafts.
void WarnOfUnreadHistory(const SpeculationOptions& options);

}  // namespace tessera

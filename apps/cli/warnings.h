// What is not as it was asked for or should be, though the program works all the same: each said once, on standard error.
//
//   WarnOfShortages(engine);      // after Engine::Open, once the weights are loaded, and at the end
//
// Libraries log nothing, so programs ask for these facts. Threads: one at a time.
#pragma once

#include <optional>
#include <string>

#include "tessera/model/text/tokenizer.h"
#include "tessera/runtime/draft/speculation.h"
#include "tessera/runtime/engine/engine.h"

namespace tessera {

// Fewer threads than asked for, also for loading; a context above the trained one, or one that a budget made smaller than usual; a damaged
// manifest whose copy is used; a recipe whose formats do not fit some matrices; no memory for a copy of a file that must not be changed
// then; a model that is streamed through the page cache.
void WarnOfShortages(const Engine& engine);

// Logs a warning, unless it is empty or was said before.
void WarnOnce(const std::string& warning);

// True the first time that it is asked about this text: for lines that are no warnings, and are to be said once.
bool IsSaidFirst(const std::string& text);

// From here on what one of the processes that this one forks has said is not said by the others.
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

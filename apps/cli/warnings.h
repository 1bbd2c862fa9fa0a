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

// Fewer threads than asked for, or more than a quota of CPU time serves. WarnOfShortages says it of the engine's, too.
void WarnOfThreads(int asked, int taken);

// What WarnOfThreads says; empty: nothing. quota: as CpuQuota has it.
std::string ThreadsWarning(int asked, int taken, std::optional<double> quota);

// Marks of a vocabulary that its file types as plain text. WarnOfShortages says it of the engine's, too.
void WarnOfVocabulary(const Tokenizer& tokenizer);

// Bytes of texts that the vocabulary has no token for, of all that were encoded so far. WarnOfShortages says it of the engine's, too.
void WarnOfLostBytes(const Tokenizer& tokenizer);

// A history whose file could not be read, or was damaged and is replaced. Nothing for null, or without a history.
void WarnOfHistory(const Speculation* speculation);

// A history that none of the drafters that were asked for reads: answers are kept, and not drafted from. Nothing for "none", which says so.
void WarnOfUnreadHistory(const SpeculationOptions& options);

}  // namespace tessera

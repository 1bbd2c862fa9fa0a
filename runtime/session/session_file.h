// A session in a file: saved, and continued in another process with the bits that it would have had there.
//
//   RETURN_IF_ERROR(SaveSession(*session, "story.session"));
//   ASSIGN_OR_RETURN(LoadedSession loaded, LoadSession(*engine, "story.session"));             // a new process, the same model
//   ASSIGN_OR_RETURN(Generation rest, Generate(*loaded.session, sampler, options));
//
// The file holds the tokens, the keys and values of all positions that the cache holds, the logits after the last token, and notes, which
// are the caller's: what a text means to those that read it. It is of one model, adapter or none, device, format of keys and values and
// version of the numerics, and each other is refused; an adapter at another scale is another one. Models and adapters are known by SHA-256:
// nobody can make two that are taken for each other (internal/model_sum.h has the one limit). The sum is computed when a session is first
// written or read: of a packed model by its manifest, of a GGUF file by all weights. Threads, rows of a pass, instruction set, streaming
// and context are the loader's own, as long as the context has room; it does not matter whether the model is a GGUF file or what was packed
// from it. Where the loader's cache keeps windows in another way than the saver's, so that what it needs is not in the file, the next
// Append computes the tokens again, with the same bits. Bits are promised where the device promises them (docs/numerics.md): those of the
// reference path are its own on each machine.
//
// A file is hostile until checked: nothing is believed before its checksum is right, and each size is compared with the file's. It is
// written whole or not at all. Layout: internal/session_format.h. Threads: as Session; other threads' calls are refused meanwhile.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tessera/runtime/engine/engine.h"
#include "tessera/runtime/session/session.h"

namespace tessera {

// Rises whenever the same model, tokens and format give other bits than before: with each change of tests/golden/tiny/logit_bits.jsonl.
inline constexpr uint32_t kNumericsVersion = 1;
inline constexpr int64_t kLongestNotes = int64_t{16} << 20;

struct LoadedSession {
  std::unique_ptr<Session> session;
  std::string notes;
};

// Begins to compute the model's SHA-256 on a thread beside, of the lowest priority, so that SaveSession need not wait for it. Changes
// nothing else; nothing at all while another call is under way. REQUIRES: the weights are loaded.
void PrepareSaving(Engine& engine);

// Waits until the model's SHA-256 is there, so that SaveSession computes none. FailedPrecondition while another call is under way; the
// errors of reading the weights. REQUIRES: the weights are loaded.
absl::Status FinishPreparing(Engine& engine);

// The bytes of weights whose SHA-256 sessions took, and the seconds that a call waited for the sum; 0 and 0 before a session was written or
// read, and no bytes where a packed model's manifest was enough.
struct SavingCost { int64_t bytes = 0; double waited_seconds = 0; };

// Returns the cost of the model's SHA-256 so far.
SavingCost CostOfSaving(const Engine& engine);

// InvalidArgument if the notes are longer than kLongestNotes; the errors of AtomicFileWriter, after any of which the old file is there as
// it was; those of a session's calls. REQUIRES: no tree is waiting for Keep.
absl::Status SaveSession(const Session& session, const std::string& path, absl::string_view notes = {});

// InvalidArgument: another program, version, model, adapter, device, format or numerics wrote it. DataLoss: it was damaged since. Both name
// file, field, what was found and what expected. ResourceExhausted if the tokens do not fit into the engine's context (marked as limited by
// it), or their positions beside other sessions in its cache; the errors of RandomAccessFile and Engine::NewSession.
absl::StatusOr<LoadedSession> LoadSession(Engine& engine, const std::string& path, const SessionOptions& options = {});

// Returns whether the file is a session's, by its first bytes: a program asks before it replaces a file that a person names. The errors of
// RandomAccessFile::Open.
absl::StatusOr<bool> IsSessionFile(const std::string& path);

}  // namespace tessera

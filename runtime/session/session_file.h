// A session in a file. Another process can load and continue the session with the bits that the first process would have computed.
//
//   RETURN_IF_ERROR(SaveSession(*session, "story.session"));
//   ASSIGN_OR_RETURN(LoadedSession loaded, LoadSession(*engine, "story.session"));             // a new process, the same model
//   ASSIGN_OR_RETURN(Generation rest, Generate(*loaded.session, sampler, options));
//
// The file holds the tokens, the keys and values of all positions in the cache, the logits after the last token, and notes. The notes
// belong to the caller: they tell a reader about the text.
//
// A file belongs to one model, one adapter or none, one device, one format of keys and values, and one version of the numerics. Every other
// combination is refused; an adapter at another scale is another adapter. Models and adapters are identified by SHA-256, so nobody can make
// two that are confused (internal/model_sum.h has the one limit). The sum is computed when a session is first written or read: from the
// manifest of a packed model, from all weights of a GGUF file.
//
// The loader may choose threads, rows of a pass, instruction set, streaming and context freely, as long as the context has room. The model
// may be a GGUF file or a file that was packed from the GGUF file. The loader's cache may keep windows in another way than the saver's
// cache and so need entries that the file lacks. The next Append then computes the tokens again, with the same bits. Bits are promised
// where the device promises bits (docs/numerics.md); the reference path has other bits on each machine.
//
// A file is hostile until checked: nothing is believed before its checksum is right, and each size is compared with the file's size. A file
// is written whole or not at all. Layout: internal/session_format.h.
// Threads: as Session; other threads' calls are refused meanwhile.
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

// Begins to compute the model's SHA-256 on a separate thread of the lowest priority, so that SaveSession need not wait for the sum. Changes
// nothing else. Does nothing while another call is under way. REQUIRES: the weights are loaded.
void PrepareSaving(Engine& engine);

// Waits until the model's SHA-256 is computed, so that SaveSession computes none. FailedPrecondition while another call is under way.
// Also returns the errors of reading the weights. REQUIRES: the weights are loaded.
absl::Status FinishPreparing(Engine& engine);

// The cost of the model's SHA-256: bytes of summed weights, and seconds that a call waited for the sum. Both are 0 before a session was
// written or read. `bytes` is 0 if a packed model's manifest was enough.
struct SavingCost { int64_t bytes = 0; double waited_seconds = 0; };

// Returns the cost of the model's SHA-256 so far.
SavingCost CostOfSaving(const Engine& engine);

// Writes the session to a file. InvalidArgument if the notes are longer than kLongestNotes. Also returns the errors of AtomicFileWriter,
// after which the old file is unchanged, and those of a session's calls. REQUIRES: no tree is waiting for Keep.
absl::Status SaveSession(const Session& session, const std::string& path, absl::string_view notes = {});

// Reads a session from a file. Errors name the file, the field, the value found and the value expected.
// InvalidArgument: another program, version, model, adapter, device, format or numerics wrote the file. DataLoss: the file was damaged
// after writing. ResourceExhausted if the tokens do not fit in the engine's context (marked as limited by the context), or if the positions
// do not fit in the cache next to other sessions. Also returns the errors of RandomAccessFile and Engine::NewSession.
absl::StatusOr<LoadedSession> LoadSession(Engine& engine, const std::string& path, const SessionOptions& options = {});

// Returns whether the first bytes of the file are a session's. A program asks before replacing a file that a person names. Returns the
// errors of RandomAccessFile::Open.
absl::StatusOr<bool> IsSessionFile(const std::string& path);

}  // namespace tessera

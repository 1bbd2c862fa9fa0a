#include "tessera/runtime/session/session_file.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include <glog/logging.h>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "tessera/base/crc32c.h"
#include "tessera/base/file.h"
#include "tessera/base/out_of_memory.h"
#include "tessera/base/status_macros.h"
#include "tessera/runtime/engine/cached_text.h"
#include "tessera/runtime/engine/core.h"
#include "tessera/runtime/session/internal/session_format.h"

namespace tessera {
namespace {

constexpr int64_t kPiece = int64_t{1} << 20;   // Bytes of keys and values that are copied at once.

// Returns the owner of this engine's sessions with this adapter.
absl::StatusOr<SessionHeader> OwnerOf(EngineCore& core, const LoraAdapter* adapter) {
  SessionHeader owner;
  if (adapter != nullptr) owner.adapter = adapter->Sum();
  ASSIGN_OR_RETURN(owner.model, core.ModelIdentity());
  const absl::string_view device = core.device().name();
  if (device.size() > sizeof owner.device) {
    return absl::InvalidArgumentError(absl::StrCat("session: found a device named ", device, ", expected at most ", sizeof owner.device,
                                                   " bytes"));
  }
  std::copy(device.begin(), device.end(), owner.device);
  owner.numerics = kNumericsVersion;
  owner.kv_format = static_cast<uint32_t>(core.device().kv_format());
  owner.layers = static_cast<uint32_t>(core.model().config().layers.size());
  owner.position_bytes = static_cast<uint32_t>(core.cache().PositionBytes());
  owner.vocabulary = static_cast<uint32_t>(core.model().config().vocabulary);
  return owner;
}

// Calls copy(first position, bytes) for pieces of a layer. The call may fill or read the bytes.
template <typename Copy>
absl::Status ForEachPiece(const SessionHead& head, int layer, std::vector<std::byte>& buffer, Copy copy) {
  const int position_bytes = static_cast<int>(head.header.position_bytes), end = static_cast<int>(head.header.held);
  const int most = static_cast<int>(std::max<int64_t>(1, kPiece / position_bytes));
  for (int first = head.held_from[layer]; first < end; first += most) {
    buffer.resize(static_cast<size_t>(std::min(most, end - first)) * position_bytes);
    RETURN_IF_ERROR(copy(first, absl::MakeSpan(buffer)));
  }
  return absl::OkStatus();
}

absl::Span<const std::byte> BytesOf(const uint32_t& number) { return {reinterpret_cast<const std::byte*>(&number), sizeof number}; }

absl::Status WriteSession(const SessionHead& head, const KvCache& cache, KvCache::SequenceId sequence, const std::string& path) {
  ASSIGN_OR_RETURN(AtomicFileWriter writer, AtomicFileWriter::Create(path));
  const std::string bytes = head.Encode();
  RETURN_IF_ERROR(writer.Append({reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()}));
  std::vector<std::byte> buffer;
  for (int layer = 0; layer < static_cast<int>(head.held_from.size()); ++layer) {
    uint32_t checksum = 0;
    RETURN_IF_ERROR(ForEachPiece(head, layer, buffer, [&](int first, absl::Span<std::byte> piece) {
      cache.CopyOut(sequence, layer, first, piece);
      checksum = Crc32c(piece, checksum);
      return writer.Append(piece);
    }));
    RETURN_IF_ERROR(writer.Append(BytesOf(checksum)));
  }
  return writer.Commit();
}

// Fills an empty sequence from the file, if the file has enough entries to continue. Else the sequence stays empty. The file is checked in
// both cases.
absl::Status ReadPositions(const RandomAccessFile& file, const SessionHead& head, EngineCore& core, KvCache::SequenceId sequence) {
  KvCache& cache = core.cache();
  const auto adopt = [&] { return cache.Adopt(sequence, static_cast<int>(head.header.held), head.held_from); };
  absl::Status adopted = adopt();
  while (absl::IsResourceExhausted(adopted) && core.prefixes().EvictOldest()) adopted = adopt();
  if (!adopted.ok() && !absl::IsFailedPrecondition(adopted)) {
    return absl::Status(adopted.code(), absl::StrCat(file.path(), ": ", adopted.message()));
  }
  int64_t offset = head.Bytes();
  std::vector<std::byte> buffer;
  for (int layer = 0; layer < static_cast<int>(head.held_from.size()); ++layer) {
    uint32_t found = 0, expected = 0;
    RETURN_IF_ERROR(ForEachPiece(head, layer, buffer, [&](int first, absl::Span<std::byte> piece) -> absl::Status {
      RETURN_IF_ERROR(file.Read(offset, piece));
      offset += static_cast<int64_t>(piece.size());
      found = Crc32c(piece, found);
      if (!adopted.ok()) return absl::OkStatus();
      const int skipped = std::max(0, cache.HeldFrom(sequence, layer) - first);
      const size_t skipped_bytes = static_cast<size_t>(skipped) * head.header.position_bytes;
      if (skipped_bytes < piece.size()) cache.CopyIn(sequence, layer, first + skipped, piece.subspan(skipped_bytes));
      return absl::OkStatus();
    }));
    RETURN_IF_ERROR(file.Read(offset, {reinterpret_cast<std::byte*>(&expected), sizeof expected}));
    offset += sizeof expected;
    if (found != expected) return WrongSessionChecksum(file.path(), absl::StrCat("checksum of layer ", layer), found, expected);
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status SaveSession(const Session& session, const std::string& path, absl::string_view notes) {
  const CachedText& text = *session.text_;
  CHECK(text.tree() == nullptr) << "a tree waits for Keep";
  if (static_cast<int64_t>(notes.size()) > kLongestNotes) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": notes: found ", notes.size(), " bytes, expected at most ", kLongestNotes));
  }
  EngineCore& core = *session.core_;
  return OrOutOfMemory([&]() -> absl::Status {
    ASSIGN_OR_RETURN(const EngineCore::Hold hold, core.TryHold());
    const KvCache& cache = core.cache();
    SessionHead head;
    ASSIGN_OR_RETURN(head.header, OwnerOf(core, session.adapter()));
    head.tokens.assign(text.tokens().begin(), text.tokens().end());
    head.logits.assign(session.logits().begin(), session.logits().end());
    head.notes.assign(notes.data(), notes.size());
    // Entries from which the sequence cannot continue are not worth their bytes.
    const int held = cache.CanExtend(text.sequence()) ? text.held() : 0;
    head.header.held = static_cast<uint32_t>(held);
    for (uint32_t layer = 0; layer < head.header.layers; ++layer) {
      head.held_from.push_back(std::min(held, cache.HeldFrom(text.sequence(), static_cast<int>(layer))));
    }
    return WriteSession(head, cache, text.sequence(), path);
  });
}

void PrepareSaving(Engine& engine) {
  const std::shared_ptr<EngineCore> core = SharedCoreOf(engine);
  CHECK(core->is_loaded()) << "PrepareSaving: found no weights";
  const absl::StatusOr<EngineCore::Hold> hold = core->TryHold();
  if (hold.ok()) core->BeginModelIdentity();
}

absl::Status FinishPreparing(Engine& engine) {
  const std::shared_ptr<EngineCore> core = SharedCoreOf(engine);
  return core->Guarded([&]() -> absl::Status {
    ASSIGN_OR_RETURN(const EngineCore::Hold hold, core->TryHold());
    return core->ModelIdentity().status();
  });
}

SavingCost CostOfSaving(const Engine& engine) {
  const EngineCore::IdentityCost& cost = CoreOf(engine).identity_cost();
  return {.bytes = cost.bytes, .waited_seconds = cost.waited_seconds};
}

absl::StatusOr<LoadedSession> LoadSession(Engine& engine, const std::string& path, const SessionOptions& options) {
  const std::shared_ptr<EngineCore> core = SharedCoreOf(engine);
  if (!core->is_loaded()) return absl::FailedPreconditionError("LoadSession: found no weights, expected LoadWeights before");
  if (options.adapter != nullptr) RETURN_IF_ERROR(options.adapter->CheckFits(engine.config()));
  return core->Guarded([&]() -> absl::StatusOr<LoadedSession> {
    ASSIGN_OR_RETURN(const EngineCore::Hold hold, core->TryHold());
    ASSIGN_OR_RETURN(const std::unique_ptr<RandomAccessFile> file, RandomAccessFile::Open(path));
    ASSIGN_OR_RETURN(const SessionHeader expected, OwnerOf(*core, options.adapter));
    ASSIGN_OR_RETURN(SessionHead head, ReadSessionHead(*file, expected, core->context()));
    auto text = std::make_unique<CachedText>(core->cache());
    text->Append(head.tokens);
    RETURN_IF_ERROR(ReadPositions(*file, head, *core, text->sequence()));
    auto session = std::unique_ptr<Session>(new Session(core, std::move(text), options));
    session->has_logits_ = !head.logits.empty();
    std::copy(head.logits.begin(), head.logits.end(), session->logits_buffer_.begin());
    return LoadedSession{std::move(session), std::move(head.notes)};
  });
}

absl::StatusOr<bool> IsSessionFile(const std::string& path) {
  ASSIGN_OR_RETURN(const std::unique_ptr<RandomAccessFile> file, RandomAccessFile::Open(path));
  return HasSessionMagic(*file);
}

}  // namespace tessera

// The reader of session files: what it accepts is a session of the engine, which goes on, and is saved and read again as it is; whatever
// else is refused in words that name the file, and leaves the cache as it was.
//
// The checksums would reveal nearly every change at once. So the first byte of an input says whether the rest is used as it is, or with
// the checksums made right, and which engine reads it: one that keeps all positions in FP16, or one with windows, in 8 bits.
#include <cstring>
#include <fstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "tessera/runtime/engine/core.h"
#include "tessera/tests/fakes/session_files.h"
#include "tessera/tests/fuzz/fuzz_target.h"

namespace tessera {
namespace {

constexpr int kSealed = 1, kWindowed = 2;   // Bits of the first byte.

Engine& EngineOf(bool windowed) {
  static const std::unique_ptr<Engine>* const plain = new auto(SessionEngine());
  static const std::unique_ptr<Engine>* const with_windows = new auto(WindowedSessionEngine());
  return windowed ? **with_windows : **plain;
}

// With the checksum of each layer made right, as far as the file has them, and then that of the head.
std::string Sealed(std::string bytes) {
  if (bytes.size() < sizeof(SessionHeader)) return bytes;
  const SessionHeader header = HeaderOfSession(bytes);
  const uint64_t table = sizeof header + 4 * uint64_t{header.tokens};
  uint64_t at = SessionHeadBytes(bytes);
  for (uint64_t layer = 0; layer < header.layers && table + 4 * (layer + 1) <= bytes.size(); ++layer) {
    uint32_t from;
    std::memcpy(&from, bytes.data() + table + 4 * layer, sizeof from);
    const uint64_t size = from > header.held ? 0 : uint64_t{header.held - from} * header.position_bytes;
    if (size + 4 > bytes.size() - at) break;
    const uint32_t crc = Crc32c({reinterpret_cast<const std::byte*>(bytes.data()) + at, size});
    std::memcpy(bytes.data() + at + size, &crc, sizeof crc);
    at += size + 4;
  }
  return SealedSession(bytes);
}

void Write(const std::string& path, const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; }

// Saved, it is read again as it is; and it goes on.
void UseSession(Engine& engine, const LoadedSession& loaded, const std::string& path) {
  Session& session = *loaded.session;
  CHECK_LE(session.length(), engine.context());
  const absl::Status saved = SaveSession(session, path, loaded.notes);
  CHECK(saved.ok()) << saved;
  const std::string once = BytesOfFile(path);
  {
    const auto again = LoadSession(engine, path);
    if (again.ok()) {
      CHECK(again->session->tokens() == session.tokens() && again->notes == loaded.notes);
      CHECK_EQ(again->session->logits().size(), session.logits().size());
      const absl::Status twice = SaveSession(*again->session, path, again->notes);
      CHECK(twice.ok() && BytesOfFile(path) == once) << twice;
    } else {
      CHECK(absl::IsResourceExhausted(again.status())) << again.status() << ": there may be no room for both";
    }
  }
  const absl::Status added = session.Append({1});
  CHECK(added.ok() || (absl::IsResourceExhausted(added) && session.length() == engine.context())) << added;
}

}  // namespace

absl::Status RunInput(absl::Span<const std::byte> input) {
  if (input.empty()) return absl::InvalidArgumentError("no kind of input");
  std::string bytes(reinterpret_cast<const char*>(input.data()) + 1, input.size() - 1);
  const int kind = static_cast<int>(input[0]);
  if ((kind & kSealed) != 0) bytes = Sealed(bytes);
  Engine& engine = EngineOf((kind & kWindowed) != 0);
  const KvCache& cache = CoreOf(engine).cache();
  const TemporaryFolder folder{TemporaryFolder::InMemory()};
  const std::string path = folder.Path("input");
  Write(path, bytes);
  absl::Status status;
  {
    const auto loaded = LoadSession(engine, path);
    status = loaded.status();
    CHECK(status.ok() || absl::StartsWith(status.message(), path + ": ")) << status;
    if (loaded.ok()) UseSession(engine, *loaded, path);
  }
  CHECK_EQ(cache.free_slots(), cache.slots());
  CHECK_EQ(folder.Files(), 1);
  return status;
}

std::vector<FuzzSeed> Seeds() {
  std::vector<FuzzSeed> seeds;
  for (const int windowed : {0, kWindowed}) {
    const std::string good = GoodSession(EngineOf(windowed != 0), windowed != 0 ? 40 : kSessionTokens);
    const auto add = [&](const std::string& name, const std::string& file) {
      for (const int bits : {windowed, windowed | kSealed}) {
        seeds.push_back({absl::StrCat(name, "_", bits), std::string(1, static_cast<char>(bits)) + file});
      }
    };
    add("good", good);
    if (windowed == 0) {
      for (const BadSession& bad : BadSessions(good)) {
        if (bad.bytes.size() < 2 * good.size()) add(bad.name, bad.bytes);   // Not 16 MiB of notes.
      }
    }
    // Each number of the header set to values at and beyond its borders.
    for (size_t offset = 8; offset < sizeof(SessionHeader); offset += 4) {
      for (const uint32_t value : {uint32_t{0}, uint32_t{1}, uint32_t{1} << 31, ~uint32_t{0}}) {
        std::string spoiled = good;
        std::memcpy(spoiled.data() + offset, &value, sizeof value);
        add(absl::StrCat("field", offset, "_", value), spoiled);
      }
    }
  }
  return seeds;
}

}  // namespace tessera

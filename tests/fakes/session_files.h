// Session files of a tiny engine, good and spoiled: for tests, and as seeds of fuzzing.
//
//   const auto engine = SessionEngine();
//   const std::string good = GoodSession(*engine);
//   for (const BadSession& bad : BadSessions(good)) Expect(LoadBytes(bad.bytes), bad.code, "PATH: " + bad.message);
//
// All bad files are the good one with one defect. Messages omit the file's path and ": ".
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tessera/base/crc32c.h"
#include "tessera/base/quoted.h"
#include "tessera/runtime/session/internal/session_format.h"
#include "tessera/runtime/session/session_file.h"
#include "tessera/tests/fakes/tiny_engine.h"

namespace tessera {

inline constexpr int kSessionContext = 32, kSessionTokens = 5;

// Makes an engine with one layer, whose keys and values have one head of 16 numbers: a position takes 64 bytes.
inline std::unique_ptr<Engine> SessionEngine() {
  return TinyEngine({.width = 32, .feed_forward = 32, .heads = 2, .kv_heads = 1, .head_size = 16, .layers = 1},
                    {.compute = {.threads = 1}, .cache = {.context = kSessionContext}});
}

// Like SessionEngine, with six layers, some of which have a window of 4, and codes of 8 bits.
inline std::unique_ptr<Engine> WindowedSessionEngine() {
  return TinyEngine({.architecture = "gemma3", .width = 32, .feed_forward = 32, .heads = 2, .kv_heads = 1, .head_size = 16, .layers = 6,
                     .window = 4},
                    {.compute = {.threads = 1, .row_capacity = 4},
                     .cache = {.context = 2 * kSessionContext, .kv_format = KvFormat::kInt8}});
}

inline std::string BytesOfFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

// Makes a file with tokens, their positions, the logits, and the notes "abc".
inline std::string GoodSession(Engine& engine, int tokens = kSessionTokens) {
  const TemporaryFolder folder{TemporaryFolder::InMemory()};
  const auto session = Must(engine.NewSession());
  Must(session->Append(RandomTokens(tokens, 1)));
  Must(SaveSession(*session, folder.Path("good"), "abc"));
  return BytesOfFile(folder.Path("good"));
}

inline SessionHeader HeaderOfSession(const std::string& bytes) {
  SessionHeader header;
  std::memcpy(&header, bytes.data(), std::min(bytes.size(), sizeof header));
  return header;
}

// Returns the number of bytes of the head by the header, or of all bytes if there are fewer.
inline size_t SessionHeadBytes(const std::string& bytes) {
  const SessionHeader header = HeaderOfSession(bytes);
  const uint64_t numbers = uint64_t{header.tokens} + header.layers + header.logits;
  return std::min<uint64_t>(bytes.size(), sizeof header + 4 * numbers + header.notes);
}

// Returns the bytes with a correct checksum of the head, if there is room for one.
inline std::string SealedSession(std::string bytes) {
  if (bytes.size() < 16) return bytes;
  const uint32_t crc = Crc32c({reinterpret_cast<const std::byte*>(bytes.data()) + 16, SessionHeadBytes(bytes) - 16});
  std::memcpy(bytes.data() + 12, &crc, sizeof crc);
  return bytes;
}

struct BadSession {
  std::string name;
  std::string bytes;
  absl::StatusCode code;
  std::string message;
};

class SessionSpoiler {
 public:
  explicit SessionSpoiler(const std::string& good) : good_(good), header_(HeaderOfSession(good)) {}

  std::vector<BadSession> All() {
    Origins();
    Owners();
    Counts();
    Tables();
    Sizes();
    return std::move(bad_);
  }

 private:
  static constexpr auto kOther = absl::StatusCode::kInvalidArgument, kDamaged = absl::StatusCode::kDataLoss;

  void Add(const std::string& name, const std::string& bytes, absl::StatusCode code, const std::string& message) {
    bad_.push_back({name, bytes, code, message});
  }
  template <typename Number>
  std::string With(size_t offset, Number number) const {
    std::string bytes = good_;
    std::memcpy(bytes.data() + offset, &number, sizeof number);
    return SealedSession(bytes);
  }
  std::string Size(const absl::AlphaNum& expected) const {
    return absl::StrCat("size: found ", good_.size(), " bytes, expected ", expected);
  }

  void Origins() {
    std::string changed = good_;
    changed[138] = static_cast<char>(changed[138] ^ 1);
    const uint32_t found = HeaderOfSession(SealedSession(changed)).checksum;
    Add("another-program", "#!/bin/sh\necho hello\n" + good_, kOther, "magic: found other bytes, expected those of a session");
    Add("newer", With(8, uint32_t{3}), kOther, "version: found 3, expected 2");
    Add("older", With(8, uint32_t{1}), kOther,
        "version: found 1, which knows models and adapters by 64 bits that can be forged, expected 2: write the text anew, to another "
        "file");
    Add("none", With(8, uint32_t{0}), kOther, "version: found 0, expected 2");
    Add("changed", changed, kDamaged, absl::StrCat("checksum: found ", absl::Hex(found), ", expected ", absl::Hex(header_.checksum)));
  }

  void Owners() {
    for (const size_t byte : {0, 31}) {
      Sha256Sum other = header_.model;
      other.bytes[byte] ^= 1;
      Add(absl::StrCat("another-model-by-byte-", byte), With(16, other), kOther,
          "model: found " + other.Hex() + ", expected " + header_.model.Hex());
    }
    Add("an-adapter", With(48, Sha256Sum{{0x12}}), kOther, "adapter: found 12" + std::string(62, '0') + ", expected none");
    Add("another-device", With(80, 'g'), kOther, "device: found \"gost\", expected \"host\"");
    Add("no-text-as-device", With(95, '\x1b'), kOther,
        absl::StrCat("device: found ", Quoted("host" + std::string(11, '\0') + "\x1b"), ", expected \"host\""));
    Add("later-numerics", With(96, kNumericsVersion + 1), kOther,
        absl::StrCat("numerics: found ", kNumericsVersion + 1, ", expected ", kNumericsVersion));
    Add("8-bit", With(100, uint32_t{1}), kOther, "format of keys and values: found 8-bit, expected FP16");
    Add("unknown-format", With(100, ~uint32_t{0}), kOther, "format of keys and values: found format 4294967295, expected FP16");
    Add("larger-positions", With(108, uint32_t{128}), kOther, "bytes of a position: found 128, expected 64");
    Add("no-positions", With(108, uint32_t{0}), kOther, "bytes of a position: found 0, expected 64");
    Add("larger-vocabulary", With(112, uint32_t{266}), kOther, "vocabulary: found 266, expected 265");
  }

  void Counts() {
    // One layer more, one token fewer: the head has the same size.
    std::string layers = With(104, uint32_t{2});
    const uint32_t fewer = kSessionTokens - 1, none = 0;
    std::memcpy(layers.data() + 116, &fewer, sizeof fewer);
    Add("more-layers", SealedSession(layers), kOther, "layers: found 2, expected 1");
    std::string long_text = With(116, uint32_t{kSessionContext + 1});
    long_text.insert(sizeof(SessionHeader), 4 * (kSessionContext + 1 - kSessionTokens), '\0');
    Add("longer-than-the-context", SealedSession(long_text), absl::StatusCode::kResourceExhausted,
        "context: found 33 tokens, expected at most 32");
    Add("more-tokens-than-fit", With(116, ~uint32_t{0}), kDamaged, Size("17179870383 or more"));
    Add("more-layers-than-fit", With(104, ~uint32_t{0}), kDamaged, Size("17179870399 or more"));
    Add("more-logits-than-fit", With(124, ~uint32_t{0}), kDamaged, Size("17179869343 or more"));
    Add("more-notes-than-fit", With(128, ~uint32_t{0}), kDamaged, Size("4294968515 or more"));
    Add("more-positions-than-tokens", With(120, uint32_t{6}), kDamaged, "positions: found 6, expected at most 5");
    Add("some-logits", With(124, uint32_t{264}), kDamaged, "logits: found 264, expected 0 or 265");
    std::string no_tokens = With(116, none);
    std::memcpy(no_tokens.data() + 120, &none, sizeof none);
    Add("logits-of-nothing", SealedSession(no_tokens), kDamaged, "logits: found 265, expected 0, as there are no tokens");
    std::string notes = With(128, static_cast<uint32_t>(kLongestNotes + 1));
    notes.insert(SessionHeadBytes(good_), kLongestNotes, 'x');
    Add("longer-notes", SealedSession(notes), kDamaged, "notes: found 16777217 bytes, expected at most 16777216");
    Add("not-zero", With(132, uint32_t{1}), kDamaged, "zero: found 1, expected 0");
  }

  void Tables() {
    Add("token-too-large", With(140, int32_t{265}), kDamaged, "token 1: found 265, expected 0 to 264");
    Add("token-negative", With(144, int32_t{-1}), kDamaged, "token 2: found -1, expected 0 to 264");
    Add("first-position-behind-the-end", With(156, uint32_t{6}), kDamaged, "first position of layer 0: found 6, expected 0 to 5");
    Add("first-position-negative", With(156, int32_t{-1}), kDamaged, "first position of layer 0: found 4294967295, expected 0 to 5");
    std::string keys = good_;
    keys[keys.size() - 5] = static_cast<char>(keys[keys.size() - 5] ^ 1);
    const std::byte* const bytes = reinterpret_cast<const std::byte*>(keys.data()) + SessionHeadBytes(good_);
    const uint32_t found = Crc32c({bytes, kSessionTokens * 64});
    uint32_t expected;
    std::memcpy(&expected, good_.data() + good_.size() - 4, sizeof expected);
    Add("changed-keys", keys, kDamaged, absl::StrCat("checksum of layer 0: found ", absl::Hex(found), ", expected ", absl::Hex(expected)));
  }

  void Sizes() {
    Add("empty", "", kDamaged, "size: found 0 bytes, expected 136 or more");
    Add("cut-in-header", good_.substr(0, 50), kDamaged, "size: found 50 bytes, expected 136 or more");
    Add("cut-in-tokens", good_.substr(0, 150), kDamaged,
        absl::StrCat("size: found 150 bytes, expected ", SessionHeadBytes(good_), " or more"));
    Add("cut-in-keys", good_.substr(0, good_.size() - 70), kDamaged,
        absl::StrCat("size: found ", good_.size() - 70, " bytes, expected ", good_.size()));
    Add("longer", good_ + "x", kDamaged, absl::StrCat("size: found ", good_.size() + 1, " bytes, expected ", good_.size()));
    Add("fewer-positions-than-bytes", With(120, uint32_t{4}), kDamaged, Size(good_.size() - 64));
    Add("later-first-position", With(156, uint32_t{2}), kDamaged, Size(good_.size() - 128));
  }

  const std::string good_;
  const SessionHeader header_;
  std::vector<BadSession> bad_;
};

inline std::vector<BadSession> BadSessions(const std::string& good) { return SessionSpoiler(good).All(); }

}  // namespace tessera

// The layout of a session's file: a head, which identifies the session and holds everything except keys and values, then the keys and
// values, layer by layer.
//
//   ASSIGN_OR_RETURN(const SessionHead head, ReadSessionHead(*file, expected, /*context=*/4096));
//   int64_t offset = head.Bytes();                                           // there the first layer's begin
//
// All numbers are little-endian:
//   0   8 bytes   "tsrsess" and a zero
//   8   uint32    version, 2; 1 had numbers of 64 bits for model and adapter
//   12  uint32    CRC-32C of all that follows in the head
//   16  byte[32]  the model: a SHA-256 (model_sum.h)
//   48  byte[32]  its adapter: a SHA-256 (LoraAdapter::Sum); zeros: none
//   80  char[16]  name of the device that computed it, and zeros
//   96  uint32    version of the numerics
//   100 uint32    format of keys and values: 0 FP16, 1 8-bit, 2 FP32
//   104 uint32    layers
//   108 uint32    bytes of a position in a layer (KvCache::PositionBytes)
//   112 uint32    vocabulary
//   116 uint32    tokens
//   120 uint32    held: so many positions, the first ones, have keys and values
//   124 uint32    logits after the last token: as many as the vocabulary has, or 0
//   128 uint32    bytes of notes
//   132 uint32    zero
//   136 int32[]   the tokens
//       uint32[]  by layer, its first position that the file has; all from there to `held` follow
//       float[]   the logits
//       bytes     the notes
//   by layer      its positions, as KvCache::CopyOut gives them, and their CRC-32C (uint32)
// Goals: one process reads the file of another, in pieces, with no more memory than the session takes. Not a goal: changing a file in
// place.
// Thread-safe (pure functions).
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tessera/base/file.h"
#include "tessera/base/sha256.h"
#include "tessera/base/token.h"

namespace tessera {

struct SessionHeader {
  char magic[8] = {};
  uint32_t version = 0;
  uint32_t checksum = 0;
  // The owner:
  Sha256Sum model = {};
  Sha256Sum adapter = {};
  char device[16] = {};
  uint32_t numerics = 0;
  uint32_t kv_format = 0;
  uint32_t layers = 0;
  uint32_t position_bytes = 0;
  uint32_t vocabulary = 0;
  // The content:
  uint32_t tokens = 0;
  uint32_t held = 0;
  uint32_t logits = 0;
  uint32_t notes = 0;
  uint32_t zero = 0;
};
static_assert(sizeof(SessionHeader) == 136 && std::is_trivially_copyable_v<SessionHeader>);

struct SessionHead {
  // Encode and ReadSessionHead set the content; the code that saves sets `held`.
  SessionHeader header = {};
  std::vector<TokenId> tokens = {};
  std::vector<int> held_from = {};   // By layer.
  std::vector<float> logits = {};
  std::string notes = {};

  // Returns the bytes of the head. REQUIRES: all counts fit in 32 bits.
  std::string Encode() const;
  int64_t Bytes() const;
};

// Reads the head. Checks that the head belongs to the owner `expected` and that the file has exactly the promised size. Returns the errors
// of LoadSession. Allocates memory only for sizes that agree with checksum, file, context and `expected`.
absl::StatusOr<SessionHead> ReadSessionHead(const RandomAccessFile& file, const SessionHeader& expected, int context);

// Returns whether the file begins like a session's file.
absl::StatusOr<bool> HasSessionMagic(const RandomAccessFile& file);

// Returns DataLoss "PATH: FIELD: found FOUND, expected EXPECTED", with checksums in hexadecimal.
absl::Status WrongSessionChecksum(const std::string& path, const std::string& field, uint32_t found, uint32_t expected);

}  // namespace tessera

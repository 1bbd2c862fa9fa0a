// The file of a session: a head, which says what it is and holds all but keys and values, and then these, layer by layer.
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
// Goals: a file of one process is read by another, in pieces, with no more memory than the session takes. Not a goal: changing a file in
// place. Thread-safe (pure functions).
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
  // Whose it is:
  Sha256Sum model = {};
  Sha256Sum adapter = {};
  char device[16] = {};
  uint32_t numerics = 0;
  uint32_t kv_format = 0;
  uint32_t layers = 0;
  uint32_t position_bytes = 0;
  uint32_t vocabulary = 0;
  // What it has:
  uint32_t tokens = 0;
  uint32_t held = 0;
  uint32_t logits = 0;
  uint32_t notes = 0;
  uint32_t zero = 0;
};
static_assert(sizeof(SessionHeader) == 136 && std::is_trivially_copyable_v<SessionHeader>);

struct SessionHead {
  SessionHeader header = {};       // What it has is set by Encode and ReadSessionHead; `held` by whoever saves.
  std::vector<TokenId> tokens = {};
  std::vector<int> held_from = {};   // By layer.
  std::vector<float> logits = {};
  std::string notes = {};

  // REQUIRES: all counts fit in 32 bits.
  std::string Encode() const;
  int64_t Bytes() const;
};

// The head, if it belongs to whom `expected` says and the whole file has the size that it promises. Errors are those of LoadSession.
// Memory is taken only for sizes that are right by checksum, file, context and what is expected.
absl::StatusOr<SessionHead> ReadSessionHead(const RandomAccessFile& file, const SessionHeader& expected, int context);

// Whether the file begins as a session's does.
absl::StatusOr<bool> HasSessionMagic(const RandomAccessFile& file);

// DataLoss "PATH: FIELD: found FOUND, expected EXPECTED", with checksums in hexadecimal.
absl::Status WrongSessionChecksum(const std::string& path, const std::string& field, uint32_t found, uint32_t expected);

}  // namespace tessera

// Debian 12 has libraries for SHA-256. libmd uses no special instructions and is a seventh as fast. OpenSSL is as fast as this file, but
// loading libcrypto takes a millisecond or two at the start of every program, a tenth of the time to a first token. Nettle is slower, and
// under the LGPL, which programs with static linking would have to follow. The function is short, and its paths are tested against each
// other and the standard's vectors.
#include "tessera/base/sha256.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "tessera/base/file.h"
#include "tessera/base/status_macros.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#define TESSERA_SHA256 __attribute__((target("sha,sse4.1,ssse3")))
#elif defined(__aarch64__)
#include <arm_neon.h>
#include <asm/hwcap.h>
#include <sys/auxv.h>
#define TESSERA_SHA256 __attribute__((target("+crypto")))
#endif

namespace tessera {
namespace {

static_assert(std::endian::native == std::endian::little, "words are turned to the standard's order, big-endian");

using State = std::array<uint32_t, 8>;
constexpr size_t kBlockBytes = 64;

// The first 32 bits of the fractions of the cube roots of the first 64 primes.
alignas(16) constexpr uint32_t kRounds[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be,
    0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa,
    0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85,
    0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3,
    0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f,
    0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

void AddBlockPortably(State& state, const std::byte* block) {
  uint32_t words[64];
  std::memcpy(words, block, kBlockBytes);
  for (int i = 0; i < 16; ++i) words[i] = __builtin_bswap32(words[i]);
  for (int i = 16; i < 64; ++i) {
    const uint32_t a = words[i - 15], b = words[i - 2];
    words[i] = words[i - 16] + (std::rotr(a, 7) ^ std::rotr(a, 18) ^ a >> 3) + words[i - 7];
    words[i] += std::rotr(b, 17) ^ std::rotr(b, 19) ^ b >> 10;
  }
  auto [a, b, c, d, e, f, g, h] = state;
  for (int i = 0; i < 64; ++i) {
    const uint32_t first = h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) + (g ^ (e & (f ^ g))) + kRounds[i] + words[i];
    const uint32_t second = (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) | (c & (a | b)));
    h = g, g = f, f = e, e = d + first, d = c, c = b, b = a, a = first + second;
  }
  const State after = {a, b, c, d, e, f, g, h};
  for (size_t i = 0; i < state.size(); ++i) state[i] += after[i];
}

void AddBlocksPortably(State& state, const std::byte* blocks, size_t count) {
  for (; count > 0; --count, blocks += kBlockBytes) AddBlockPortably(state, blocks);
}

// Both instruction sets take four words at a time. The words of rounds 4 i to 4 i + 3 are in words[i % 4]. After these rounds, the words of
// rounds 16 later take their place.
#if defined(__x86_64__)

bool HasInstructions() {
  constexpr unsigned kSha = 1u << 29;   // In EBX.
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b & kSha) != 0 && __builtin_cpu_supports("sse4.1");
}

// The instructions have the state as {f, e, b, a} and {h, g, d, c}, the last word first.
TESSERA_SHA256 void AddBlocksBySha(State& state, const std::byte* blocks, size_t count) {
  const __m128i to_words = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
  const auto load = [](const void* at) { return _mm_loadu_si128(static_cast<const __m128i*>(at)); };
  const __m128i dcba = load(&state[0]), hgfe = load(&state[4]);
  const __m128i cdab = _mm_shuffle_epi32(dcba, 0xB1), efgh = _mm_shuffle_epi32(hgfe, 0x1B);
  __m128i abef = _mm_alignr_epi8(cdab, efgh, 8), cdgh = _mm_blend_epi16(efgh, cdab, 0xF0);
  for (; count > 0; --count, blocks += kBlockBytes) {
    const __m128i abef_before = abef, cdgh_before = cdgh;
    __m128i words[4];
    for (int i = 0; i < 4; ++i) words[i] = _mm_shuffle_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(blocks) + i), to_words);
#pragma GCC unroll 16
    for (int i = 0; i < 16; ++i) {
      const __m128i now = words[i % 4];
      const __m128i sums = _mm_add_epi32(now, _mm_load_si128(reinterpret_cast<const __m128i*>(kRounds + 4 * i)));
      cdgh = _mm_sha256rnds2_epu32(cdgh, abef, sums);
      abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(sums, 0x0E));
      const __m128i last = words[(i + 3) % 4], next = _mm_sha256msg1_epu32(now, words[(i + 1) % 4]);
      words[i % 4] = _mm_sha256msg2_epu32(_mm_add_epi32(next, _mm_alignr_epi8(last, words[(i + 2) % 4], 4)), last);
    }
    abef = _mm_add_epi32(abef, abef_before);
    cdgh = _mm_add_epi32(cdgh, cdgh_before);
  }
  const __m128i feba = _mm_shuffle_epi32(abef, 0x1B), dchg = _mm_shuffle_epi32(cdgh, 0xB1);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(&state[0]), _mm_blend_epi16(feba, dchg, 0xF0));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(&state[4]), _mm_alignr_epi8(dchg, feba, 8));
}

#elif defined(__aarch64__)

bool HasInstructions() { return (getauxval(AT_HWCAP) & HWCAP_SHA2) != 0; }

TESSERA_SHA256 void AddBlocksBySha(State& state, const std::byte* blocks, size_t count) {
  uint32x4_t abcd = vld1q_u32(&state[0]), efgh = vld1q_u32(&state[4]);
  for (; count > 0; --count, blocks += kBlockBytes) {
    const uint32x4_t abcd_before = abcd, efgh_before = efgh;
    uint32x4_t words[4];
    for (int i = 0; i < 4; ++i) {
      words[i] = vreinterpretq_u32_u8(vrev32q_u8(vld1q_u8(reinterpret_cast<const uint8_t*>(blocks) + 16 * i)));
    }
    for (int i = 0; i < 16; ++i) {
      const uint32x4_t now = words[i % 4], sums = vaddq_u32(now, vld1q_u32(kRounds + 4 * i)), abcd_now = abcd;
      abcd = vsha256hq_u32(abcd, efgh, sums);
      efgh = vsha256h2q_u32(efgh, abcd_now, sums);
      words[i % 4] = vsha256su1q_u32(vsha256su0q_u32(now, words[(i + 1) % 4]), words[(i + 2) % 4], words[(i + 3) % 4]);
    }
    abcd = vaddq_u32(abcd, abcd_before);
    efgh = vaddq_u32(efgh, efgh_before);
  }
  vst1q_u32(&state[0], abcd);
  vst1q_u32(&state[4], efgh);
}

#endif

std::vector<Sha256Path> FindPaths() {
  std::vector<Sha256Path> paths = {{"portable", AddBlocksPortably}};
#ifdef TESSERA_SHA256
  if (HasInstructions()) paths.push_back({"SHA instructions", AddBlocksBySha});
#endif
  return paths;
}

}  // namespace

absl::Span<const Sha256Path> SupportedSha256Paths() {
  static const std::vector<Sha256Path>* const paths = new std::vector<Sha256Path>(FindPaths());
  return *paths;
}

void Sha256::Add(absl::Span<const std::byte> bytes) {
  static const auto add_blocks = SupportedSha256Paths().back().add_blocks;
  const size_t held = size_ % kBlock;
  size_ += bytes.size();
  if (held + bytes.size() >= kBlock) {
    if (held > 0) {
      std::copy_n(bytes.data(), kBlock - held, rest_.data() + held);
      bytes.remove_prefix(kBlock - held);
      add_blocks(state_, rest_.data(), 1);
    }
    add_blocks(state_, bytes.data(), bytes.size() / kBlock);
    bytes.remove_prefix(bytes.size() / kBlock * kBlock);
    std::copy(bytes.begin(), bytes.end(), rest_.begin());
    return;
  }
  std::copy(bytes.begin(), bytes.end(), rest_.begin() + static_cast<std::ptrdiff_t>(held));
}

void Sha256::AddNumber(uint64_t number) { Add({reinterpret_cast<const std::byte*>(&number), sizeof number}); }

void Sha256::AddSized(absl::string_view text) {
  AddNumber(text.size());
  Add(text);
}

// A bit that is one, zeros, and the number of bits in big-endian order fill whole blocks.
Sha256Sum Sha256::Take() {
  const uint64_t bits = __builtin_bswap64(size_ * 8);
  std::array<std::byte, kBlock + sizeof bits> end = {std::byte{0x80}};
  const size_t zeros = (kBlock - (size_ + 1 + sizeof bits) % kBlock) % kBlock;
  std::memcpy(end.data() + 1 + zeros, &bits, sizeof bits);
  Add(absl::MakeConstSpan(end).first(1 + zeros + sizeof bits));
  Sha256Sum sum;
  for (size_t i = 0; i < state_.size(); ++i) {
    const uint32_t word = __builtin_bswap32(state_[i]);
    std::memcpy(sum.bytes.data() + i * sizeof word, &word, sizeof word);
  }
  return sum;
}

Sha256Sum Sha256Of(absl::Span<const std::byte> bytes) {
  Sha256 hash;
  hash.Add(bytes);
  return hash.Take();
}

Sha256Sum Sha256Of(absl::string_view text) {
  Sha256 hash;
  hash.Add(text);
  return hash.Take();
}

absl::StatusOr<Sha256Sum> Sha256OfFile(const std::string& path) {
  constexpr int64_t kPartBytes = 1 << 20;
  ASSIGN_OR_RETURN(const std::unique_ptr<RandomAccessFile> file, RandomAccessFile::Open(path));
  Sha256 hash;
  std::vector<std::byte> part;
  for (int64_t offset = 0; offset < file->size(); offset += static_cast<int64_t>(part.size())) {
    part.resize(static_cast<size_t>(std::min(kPartBytes, file->size() - offset)));
    RETURN_IF_ERROR(file->Read(offset, absl::MakeSpan(part)));
    hash.Add(part);
  }
  RETURN_IF_ERROR(file->CheckUnchanged());
  return hash.Take();
}

std::string Sha256Sum::Hex() const {
  return absl::BytesToHexString({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

std::optional<Sha256Sum> Sha256Sum::Parse(absl::string_view hex) {
  Sha256Sum sum;
  const auto is_digit = [](char c) { return absl::ascii_isdigit(static_cast<unsigned char>(c)) || (c >= 'a' && c <= 'f'); };
  if (hex.size() != 2 * sum.bytes.size() || !std::all_of(hex.begin(), hex.end(), is_digit)) return std::nullopt;
  const std::string bytes = absl::HexStringToBytes(hex);
  std::memcpy(sum.bytes.data(), bytes.data(), sum.bytes.size());
  return sum;
}

}  // namespace tessera

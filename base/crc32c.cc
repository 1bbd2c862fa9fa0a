// Debian 12 has no library for this that a static program can link (its ISA-L is shared only, its Abseil has no CRC).
//
// A CRC is the remainder of the message, a polynomial over GF(2), so a CRC is linear. The CRC of A then B is a sum of two CRCs: the CRC
// of B, and the CRC of A followed by as many zeros as B has bytes. Appended zeros are a multiplication by a power of x. Two methods use
// this property:
//   - The CPU's CRC instruction takes 3 cycles but starts each cycle: three lanes side by side keep the unit busy (Gopal et al., Fast CRC
//     Computation for iSCSI Polynomial Using CRC32 Instruction, 2011).
//   - A carry-less multiplication moves 32 bytes of the message onto 32 later bytes and adds them up. A remainder is taken only at the
//     end (Gopal et al., Fast CRC Computation for Generic Polynomials Using PCLMULQDQ Instruction, 2009).
// The methods need different parts of the CPU, so the fastest path uses both at once.
#include "tessera/base/crc32c.h"

#include <array>
#include <bit>
#include <cstring>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#define TESSERA_CRC_LANES __attribute__((target("sse4.2,pclmul")))
#define TESSERA_CRC_FOLDING __attribute__((target("sse4.2,pclmul,avx2,vpclmulqdq")))
#elif defined(__aarch64__)
#include <arm_acle.h>
#include <arm_neon.h>
#include <asm/hwcap.h>
#include <sys/auxv.h>
#define TESSERA_CRC_LANES __attribute__((target("+crc+crypto")))
#endif

namespace tessera {
namespace {

static_assert(std::endian::native == std::endian::little, "words are read as they lie in memory");

constexpr uint32_t kPolynomial = 0x82F63B78;  // Bits reversed: bit 31 is x^0.

constexpr uint32_t TimesX(uint32_t bits) { return (bits >> 1) ^ (bits & 1 ? kPolynomial : 0); }

using Table = std::array<uint32_t, 256>;

// tables[k][b]: the CRC of byte b followed by k zeros.
constexpr std::array<Table, 8> MakeByteTables() {
  std::array<Table, 8> tables = {};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = TimesX(crc);
    tables[0][byte] = crc;
  }
  for (size_t k = 1; k < 8; ++k) {
    for (size_t byte = 0; byte < 256; ++byte) {
      const uint32_t shorter = tables[k - 1][byte];
      tables[k][byte] = (shorter >> 8) ^ tables[0][shorter & 0xFF];
    }
  }
  return tables;
}
constexpr std::array<Table, 8> kByteTables = MakeByteTables();

uint64_t Load(const std::byte* bytes) {
  uint64_t word;
  std::memcpy(&word, bytes, sizeof word);
  return word;
}

uint32_t PortableCrc32c(absl::Span<const std::byte> bytes, uint32_t crc) {
  crc = ~crc;
  for (; bytes.size() >= sizeof(uint64_t); bytes.remove_prefix(sizeof(uint64_t))) {
    const uint64_t word = Load(bytes.data()) ^ crc;
    crc = 0;
    for (size_t k = 0; k < 8; ++k) crc ^= kByteTables[7 - k][word >> (8 * k) & 0xFF];
  }
  for (const std::byte byte : bytes) crc = (crc >> 8) ^ kByteTables[0][(crc ^ static_cast<uint32_t>(byte)) & 0xFF];
  return ~crc;
}

// Below, CRCs are remainders: without the inversions before the first byte and after the last.
#ifdef TESSERA_CRC_LANES

// Returns the factor of a remainder followed by `bytes` zero bytes. The product of two numbers with reversed bits is one x too high, and
// Remainder multiplies the product by x^32.
constexpr uint32_t Zeros(size_t bytes) {
  uint32_t power = uint32_t{1} << 31;
  for (size_t i = 33; i < 8 * bytes; ++i) power = TimesX(power);
  return power;
}

#if defined(__x86_64__)
bool HasLanes() { return __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("pclmul"); }
TESSERA_CRC_LANES inline uint64_t WordStep(uint64_t crc, uint64_t word) { return _mm_crc32_u64(crc, word); }
TESSERA_CRC_LANES inline uint64_t Product(uint64_t a, uint32_t b) {
  return _mm_cvtsi128_si64(_mm_clmulepi64_si128(_mm_cvtsi64_si128(a), _mm_cvtsi64_si128(b), 0));
}
#else
bool HasLanes() {
  constexpr unsigned long kNeeded = HWCAP_CRC32 | HWCAP_PMULL;
  return (getauxval(AT_HWCAP) & kNeeded) == kNeeded;
}
TESSERA_CRC_LANES inline uint64_t WordStep(uint64_t crc, uint64_t word) { return __crc32cd(static_cast<uint32_t>(crc), word); }
TESSERA_CRC_LANES inline uint64_t Product(uint64_t a, uint32_t b) { return static_cast<uint64_t>(vmull_p64(a, b)); }
#endif

struct Lanes { uint64_t first = 0, second = 0, third = 0; };

template <size_t kLane>
TESSERA_CRC_LANES inline void Step(Lanes& lanes, const std::byte* in_first) {
  lanes.first = WordStep(lanes.first, Load(in_first));
  lanes.second = WordStep(lanes.second, Load(in_first + kLane));
  lanes.third = WordStep(lanes.third, Load(in_first + 2 * kLane));
}

// Returns the remainder of a message: first a part with the remainder `crc`, then kBytes more bytes. These bytes end with the three lanes
// and are zeros before the lanes.
template <size_t kLane, size_t kBytes>
TESSERA_CRC_LANES inline uint32_t Join(uint32_t crc, const Lanes& lanes) {
  constexpr uint32_t kAll = Zeros(kBytes), kTwo = Zeros(2 * kLane), kOne = Zeros(kLane);
  const uint64_t before_third = Product(crc, kAll) ^ Product(lanes.first, kTwo) ^ Product(lanes.second, kOne);
  return static_cast<uint32_t>(WordStep(0, before_third) ^ lanes.third);
}

// Returns the remainder of all `bytes`. Lanes are short, because memory is read at full speed only in one forward stream. Lanes of a few
// hundred bytes or more look like several streams to the hardware prefetcher.
TESSERA_CRC_LANES uint32_t LanesCrc32c(absl::Span<const std::byte> bytes, uint32_t crc) {
  constexpr size_t kLane = 128, kWindow = 3 * kLane;
  crc = ~crc;
  for (; bytes.size() >= kWindow; bytes.remove_prefix(kWindow)) {
    Lanes lanes;
    for (size_t i = 0; i < kLane; i += sizeof(uint64_t)) Step<kLane>(lanes, bytes.data() + i);
    crc = Join<kLane, kWindow>(crc, lanes);
  }
  for (; bytes.size() >= sizeof(uint64_t); bytes.remove_prefix(sizeof(uint64_t))) {
    crc = static_cast<uint32_t>(WordStep(crc, Load(bytes.data())));
  }
  return PortableCrc32c(bytes, ~crc);
}

#endif
#ifdef TESSERA_CRC_FOLDING

bool HasFolding() { return HasLanes() && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("vpclmulqdq"); }

// Factors that move each 16 bytes of a register forward by kBytes bytes; the first of the two words moves 8 bytes further.
template <size_t kBytes>
TESSERA_CRC_FOLDING inline __m256i Ahead() {
  constexpr uint32_t kFirst = Zeros(kBytes + sizeof(uint64_t)), kSecond = Zeros(kBytes);
  return _mm256_set_epi64x(kSecond, kFirst, kSecond, kFirst);
}

TESSERA_CRC_FOLDING inline __m256i Fold(__m256i sum, __m256i ahead, const std::byte* bytes) {
  const __m256i from_first = _mm256_clmulepi64_epi128(sum, ahead, 0x00), from_second = _mm256_clmulepi64_epi128(sum, ahead, 0x11);
  const __m256i added = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(bytes));
  return _mm256_xor_si256(_mm256_xor_si256(from_first, added), from_second);
}

// Each window has bytes that are folded, into three sums by turns, and then three lanes. The sums go on from window to window; for the
// remainder the folded bytes count as zeros. Windows are long, since joining lanes takes time, so memory is prefetched here, in order and
// well ahead.
TESSERA_CRC_FOLDING uint32_t FoldingCrc32c(absl::Span<const std::byte> bytes, uint32_t crc) {
  constexpr size_t kLane = 512, kLanes = 3 * kLane, kFolded = kLanes, kWindow = kFolded + kLanes;
  constexpr size_t kSum = sizeof(__m256i), kSums = 3 * kSum, kCacheLine = 64, kAskedAhead = 8192;
  if (bytes.size() < kWindow) return LanesCrc32c(bytes, crc);
  crc = ~crc;
  const __m256i step = Ahead<kSums>(), step_over_lanes = Ahead<kSums + kLanes>();
  __m256i first = _mm256_setzero_si256(), second = first, third = first;
  for (; bytes.size() >= kWindow; bytes.remove_prefix(kWindow)) {
    Lanes lanes;
    __m256i ahead = step_over_lanes;
    for (size_t of_lane = 0; of_lane < kLane; of_lane += kSum, ahead = step) {
      const std::byte* const folded = bytes.data() + 3 * of_lane;
      const std::byte* const in_first = bytes.data() + kFolded + of_lane;
      const std::byte* const asked = bytes.data() + kAskedAhead + 6 * of_lane;
      for (size_t i = 0; i < 2 * kSums; i += kCacheLine) __builtin_prefetch(asked + i);
      for (size_t i = 0; i < kSum; i += sizeof(uint64_t)) Step<kLane>(lanes, in_first + i);
      first = Fold(first, ahead, folded);
      second = Fold(second, ahead, folded + kSum);
      third = Fold(third, ahead, folded + 2 * kSum);
    }
    crc = Join<kLane, kWindow>(crc, lanes);
  }
  uint64_t words[kSums / sizeof(uint64_t)], of_sums = 0;
  std::memcpy(words, &first, kSum);
  std::memcpy(words + kSum / sizeof(uint64_t), &second, kSum);
  std::memcpy(words + 2 * kSum / sizeof(uint64_t), &third, kSum);
  for (const uint64_t word : words) of_sums = WordStep(of_sums, word);
  constexpr uint32_t kAfter = Zeros(kLanes);
  crc ^= static_cast<uint32_t>(WordStep(0, Product(of_sums, kAfter)));
  _mm256_zeroupper();  // GCC omits vzeroupper before this tail call; following SSE code would be up to twenty times slower.
  return LanesCrc32c(bytes, ~crc);
}

#endif

std::vector<Crc32cPath> FindPaths() {
  std::vector<Crc32cPath> paths = {{"portable", PortableCrc32c}};
#ifdef TESSERA_CRC_LANES
  if (HasLanes()) paths.push_back({"lanes", LanesCrc32c});
#endif
#ifdef TESSERA_CRC_FOLDING
  if (HasFolding()) paths.push_back({"lanes and folding", FoldingCrc32c});
#endif
  return paths;
}

}  // namespace

absl::Span<const Crc32cPath> SupportedCrc32cPaths() {
  static const std::vector<Crc32cPath>* const paths = new std::vector<Crc32cPath>(FindPaths());
  return *paths;
}

uint32_t Crc32c(absl::Span<const std::byte> bytes, uint32_t crc) {
  static const auto fastest = SupportedCrc32cPaths().back().crc;
  return fastest(bytes, crc);
}

}  // namespace tessera

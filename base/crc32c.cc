// A library's would do, but Debian 12 has none that a static program can link (its ISA-L is shared only, its Abseil has no CRC).
//
// A CRC is the remainder of the message, a polynomial over GF(2), so it is linear: the CRC of A then B is that of A followed by
// as many zeros as B has bytes, plus that of B. The CPU's instruction takes 3 cycles but starts each cycle: three lanes side by
// side keep it busy, and two multiplications by a power of x, from tables, put their results together (Gopal et al., Fast CRC
// Computation for iSCSI Polynomial Using CRC32 Instruction, 2011).
#include "tessera/base/crc32c.h"

#include <array>
#include <bit>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#define TESSERA_CRC_INSTRUCTION __attribute__((target("sse4.2")))
#elif defined(__aarch64__)
#include <arm_acle.h>
#include <asm/hwcap.h>
#include <sys/auxv.h>
#define TESSERA_CRC_INSTRUCTION __attribute__((target("+crc")))
#endif

namespace tessera {
namespace {

static_assert(std::endian::native == std::endian::little, "words are read as they lie in memory");

constexpr uint32_t kPolynomial = 0x82F63B78;  // Bits reversed: bit 31 is x^0.
constexpr size_t kLaneBytes = 4096;           // Large beside the cost of two multiplications, small beside a block.

using Table = std::array<uint32_t, 256>;

// tables[k][b]: the CRC of byte b followed by k zeros.
constexpr std::array<Table, 8> MakeByteTables() {
  std::array<Table, 8> tables = {};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (crc & 1 ? kPolynomial : 0);
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

uint32_t ByteStep(uint32_t crc, std::byte byte) {
  return (crc >> 8) ^ kByteTables[0][(crc ^ static_cast<uint32_t>(byte)) & 0xFF];
}

#ifdef TESSERA_CRC_INSTRUCTION

using Columns = std::array<uint32_t, 32>;  // A linear map of 32 bits: what each bit becomes.

constexpr uint32_t Apply(const Columns& map, uint32_t bits) {
  uint32_t result = 0;
  for (const uint32_t column : map) {
    if (bits & 1) result ^= column;
    bits >>= 1;
  }
  return result;
}

// kLaneShift[k][b]: what byte k of a CRC, if it is b, becomes when a lane of zeros follows.
constexpr std::array<Table, 4> MakeLaneShift() {
  Columns shift = {};  // By one byte; then squared until it is by a lane.
  for (uint32_t bit = 0; bit < 32; ++bit) shift[bit] = ((uint32_t{1} << bit) >> 8) ^ kByteTables[0][(uint32_t{1} << bit) & 0xFF];
  for (size_t bytes = 1; bytes < kLaneBytes; bytes *= 2) {
    Columns twice = {};
    for (size_t bit = 0; bit < 32; ++bit) twice[bit] = Apply(shift, shift[bit]);
    shift = twice;
  }
  std::array<Table, 4> tables = {};
  for (uint32_t k = 0; k < 4; ++k) {
    for (uint32_t byte = 0; byte < 256; ++byte) tables[k][byte] = Apply(shift, byte << (8 * k));
  }
  return tables;
}
static_assert(std::has_single_bit(kLaneBytes));
constexpr std::array<Table, 4> kLaneShift = MakeLaneShift();

uint32_t ShiftByLane(uint32_t crc) {
  return kLaneShift[0][crc & 0xFF] ^ kLaneShift[1][crc >> 8 & 0xFF] ^ kLaneShift[2][crc >> 16 & 0xFF] ^ kLaneShift[3][crc >> 24];
}

#if defined(__x86_64__)
bool HasInstruction() { return __builtin_cpu_supports("sse4.2"); }
TESSERA_CRC_INSTRUCTION inline uint64_t WordStep(uint64_t crc, uint64_t word) { return _mm_crc32_u64(crc, word); }
#else
bool HasInstruction() { return (getauxval(AT_HWCAP) & HWCAP_CRC32) != 0; }
TESSERA_CRC_INSTRUCTION inline uint64_t WordStep(uint64_t crc, uint64_t word) {
  return __crc32cd(static_cast<uint32_t>(crc), word);
}
#endif

// Takes what it can of `bytes` from their beginning.
TESSERA_CRC_INSTRUCTION uint32_t WordsStep(uint32_t start, absl::Span<const std::byte>& bytes) {
  uint64_t crc = start;
  const std::byte* at = bytes.data();
  const std::byte* const end = at + bytes.size();
  for (; static_cast<size_t>(end - at) >= 3 * kLaneBytes; at += 3 * kLaneBytes) {
    uint64_t second = 0, third = 0;
    for (size_t i = 0; i < kLaneBytes; i += sizeof(uint64_t)) {
      crc = WordStep(crc, Load(at + i));
      second = WordStep(second, Load(at + kLaneBytes + i));
      third = WordStep(third, Load(at + 2 * kLaneBytes + i));
    }
    const uint32_t first_two = ShiftByLane(static_cast<uint32_t>(crc)) ^ static_cast<uint32_t>(second);
    crc = ShiftByLane(first_two) ^ static_cast<uint32_t>(third);
  }
  for (; static_cast<size_t>(end - at) >= sizeof(uint64_t); at += sizeof(uint64_t)) crc = WordStep(crc, Load(at));
  bytes.remove_prefix(at - bytes.data());
  return static_cast<uint32_t>(crc);
}

#endif

}  // namespace

uint32_t PortableCrc32c(absl::Span<const std::byte> bytes, uint32_t crc) {
  crc = ~crc;
  for (; bytes.size() >= sizeof(uint64_t); bytes.remove_prefix(sizeof(uint64_t))) {
    const uint64_t word = Load(bytes.data()) ^ crc;
    crc = 0;
    for (size_t k = 0; k < 8; ++k) crc ^= kByteTables[7 - k][word >> (8 * k) & 0xFF];
  }
  for (const std::byte byte : bytes) crc = ByteStep(crc, byte);
  return ~crc;
}

uint32_t Crc32c(absl::Span<const std::byte> bytes, uint32_t crc) {
#ifdef TESSERA_CRC_INSTRUCTION
  static const bool has_instruction = HasInstruction();
  if (has_instruction) {
    crc = ~WordsStep(~crc, bytes);
  }
#endif
  return PortableCrc32c(bytes, crc);
}

}  // namespace tessera

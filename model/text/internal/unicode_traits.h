// The traits of code points, by Unicode 15.0.0: the general category, and the few other properties that tokenizers need.
//
//   EXPECT_TRUE(TraitsOf(U'\u00e9') & kLetter);
//   EXPECT_TRUE(TraitsOf(0x3042) & kOtherLetter && !(TraitsOf(0x3042) & kHan));
//
// The data is a table in this folder, not in a library: a text has the same tokens on every machine. Code points that later versions of
// Unicode added are kUnassigned here. Thread-safe (constant data).
#pragma once

#include <cstdint>

namespace tessera {

// Sets of code points: one bit per general category, in the order of the table, and two more bits.
inline constexpr uint32_t kUpper = 1u << 0;              // Lu
inline constexpr uint32_t kLower = 1u << 1;              // Ll
inline constexpr uint32_t kTitle = 1u << 2;              // Lt
inline constexpr uint32_t kModifierLetter = 1u << 3;     // Lm
inline constexpr uint32_t kOtherLetter = 1u << 4;        // Lo
inline constexpr uint32_t kLetter = 0x1fu;               // L
inline constexpr uint32_t kMark = 7u << 5;               // M
inline constexpr uint32_t kDecimal = 1u << 8;            // Nd
inline constexpr uint32_t kLetterNumber = 1u << 9;       // Nl
inline constexpr uint32_t kNumber = 7u << 8;             // N
inline constexpr uint32_t kConnector = 1u << 11;         // Pc
inline constexpr uint32_t kPunctuation = 0x7fu << 11;    // P
inline constexpr uint32_t kSymbol = 0xfu << 18;          // S
inline constexpr uint32_t kUnassigned = 1u << 29;        // Cn
inline constexpr uint32_t kWhiteSpace = 1u << 30;        // The property White_Space.
inline constexpr uint32_t kHan = 1u << 31;               // The script Han.

class UnicodeTable {
 public:
  static const UnicodeTable& Get();

  // REQUIRES (for Traits and Unsettled): code <= 0x10ffff.
  uint32_t Traits(uint32_t code) const { return traits_[Entry(code)]; }
  uint32_t AsciiTraits(uint32_t code) const { return ascii_[code]; }  // REQUIRES: code < 0x80. Faster.
  // Returns true if normalization to form C may change the code point, or the code points in front. All other code points stay in place
  // unchanged.
  bool Unsettled(uint32_t code) const { return (Entry(code) & 0x40) != 0; }

 private:
  UnicodeTable();
  uint8_t Entry(uint32_t code) const { return blocks_[block_of_[code >> 8]][code & 0xff]; }

  uint32_t ascii_[0x80];
  uint8_t block_of_[0x1100];
  uint8_t blocks_[256][256];  // The distinct blocks: about 200 of 4,352.
  uint32_t traits_[256];      // By value of an entry.
};

inline uint32_t TraitsOf(uint32_t code) { return UnicodeTable::Get().Traits(code); }

}  // namespace tessera

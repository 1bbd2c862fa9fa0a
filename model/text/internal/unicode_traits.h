// What a code point is, by Unicode 15.0.0: its general category, and the few properties that tokenizers ask for besides.
//
//   EXPECT_TRUE(TraitsOf(U'\u00e9') & kLetter);
//   EXPECT_TRUE(TraitsOf(0x3042) & kOtherLetter && !(TraitsOf(0x3042) & kHan));
//
// The data is a table in this folder, not a library's: a text has the same tokens on every machine. What later versions of Unicode have
// added is kUnassigned here. Thread-safe (constant data).
#pragma once

#include <cstdint>

namespace tessera {

// Sets of code points: one bit for each general category, in the order of the table, and two more.
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

  // REQUIRES (of both): code <= 0x10ffff.
  uint32_t Traits(uint32_t code) const { return traits_[Entry(code)]; }
  uint32_t AsciiTraits(uint32_t code) const { return ascii_[code]; }  // REQUIRES: code < 0x80. Faster.
  // It may change, or change what precedes it, when a text is normalized to form C: all others stay as they are and where they are.
  bool Unsettled(uint32_t code) const { return (Entry(code) & 0x40) != 0; }

 private:
  UnicodeTable();
  uint8_t Entry(uint32_t code) const { return blocks_[block_of_[code >> 8]][code & 0xff]; }

  uint32_t ascii_[0x80];
  uint8_t block_of_[0x1100];
  uint8_t blocks_[256][256];  // Those that are used: of 4,352 blocks about 200 differ.
  uint32_t traits_[256];      // For each value of an entry.
};

inline uint32_t TraitsOf(uint32_t code) { return UnicodeTable::Get().Traits(code); }

}  // namespace tessera

#include "tessera/model/text/byte_alphabet.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "tessera/model/text/internal/utf8.h"

namespace tessera {
namespace {

TEST(ByteAlphabet, HeaderExample) {
  EXPECT_EQ(ByteCharacter(' '), "Ġ");
  EXPECT_EQ(BytesFromAlphabet("Ġhello"), " hello");
}

TEST(ByteAlphabet, GivesEachByteItsOwnCharacter) {
  std::set<std::string> characters;
  for (int byte = 0; byte < 256; ++byte) {
    const std::string character = ByteCharacter(static_cast<uint8_t>(byte));
    EXPECT_EQ(ReadUtf8(character).size, character.size());
    EXPECT_EQ(BytesFromAlphabet(character), std::string(1, static_cast<char>(byte)));
    characters.insert(character);
  }
  EXPECT_EQ(characters.size(), 256u);
  EXPECT_EQ(BytesFromAlphabet("中 \xFF"), "中 \xFF");
}

}  // namespace
}  // namespace tessera

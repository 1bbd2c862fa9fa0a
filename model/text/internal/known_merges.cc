#include "tessera/model/text/internal/known_merges.h"

#include <cstddef>
#include <cstdint>

#include "tessera/base/crc32c.h"

namespace tessera {
namespace {

// The list of merges in a GGUF file: number of merges, bytes including the lengths, and the checksum of these bytes.
struct KnownMerges {
  uint64_t count, bytes;
  uint32_t crc;
  absl::string_view rule;
};
constexpr KnownMerges kKnown[] = {
    {280147, 5204765, 0xdfa2850d, "llama-bpe"},    {151387, 2731548, 0x3ec5fa8d, "qwen2"},
    {50000, 806304, 0x052a91b2, "gpt-2"},          {50009, 806647, 0x3330a0ba, "mpt"},  // GPT-NeoX has the same merges.
    {48872, 783795, 0xda9a1557, "starcoder"},      {48891, 784033, 0x7d30dc21, "refact"},
    {64784, 1044601, 0xfda14cbf, "falcon"},        {99757, 1805739, 0x99983a13, "deepseek-llm"},
    {31757, 525410, 0x00bbe87c, "deepseek-coder"}, {253333, 5027702, 0xb4929b29, "command-r"},
    {48900, 808677, 0x54af5bd3, "smollm"},
};

}  // namespace

absl::string_view RuleOfMerges(const LengthPrefixedStrings& merges) {
  const absl::string_view bytes = merges.bytes();
  for (const KnownMerges& known : kKnown) {
    if (merges.size() != known.count || bytes.size() != known.bytes) continue;
    if (Crc32c({reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()}) == known.crc) return known.rule;
  }
  return "";
}

}  // namespace tessera

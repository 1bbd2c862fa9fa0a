#include "tessera/model/text/internal/unicode_traits.h"

#include <glog/logging.h>

#include <algorithm>
#include <cstring>
#include <iterator>

namespace tessera {
namespace {

struct Run {
  uint32_t begin;
  uint8_t entry;  // The number of the category in the lowest five bits, then kHan, Unsettled, kWhiteSpace.
};
constexpr Run kRuns[] = {
#include "tessera/model/text/internal/unicode_15_0.inc"
};

}  // namespace

UnicodeTable::UnicodeTable() {
  for (uint32_t entry = 0; entry < 256; ++entry) {
    traits_[entry] = 1u << (entry & 0x1f) | ((entry & 0x20) != 0 ? kHan : 0u) | ((entry & 0x80) != 0 ? kWhiteSpace : 0u);
  }
  std::fill(std::begin(block_of_), std::end(block_of_), uint8_t{0});
  int used = 0, all_alike[256];
  std::fill(std::begin(all_alike), std::end(all_alike), -1);
  const Run* run = kRuns;
  for (uint32_t block = 0; block < std::size(block_of_); ++block) {
    const uint32_t first = block << 8, after = first + 256;
    while (run + 1 < std::end(kRuns) && run[1].begin <= first) ++run;
    const bool alike = run + 1 == std::end(kRuns) || run[1].begin >= after;
    if (alike && all_alike[run->entry] >= 0) {
      block_of_[block] = static_cast<uint8_t>(all_alike[run->entry]);
      continue;
    }
    CHECK_LT(used, 256);
    if (alike) all_alike[run->entry] = used;
    for (uint32_t code = first; code < after; ++code) {
      if (run + 1 < std::end(kRuns) && run[1].begin == code) ++run;
      blocks_[used][code & 0xff] = run->entry;
    }
    block_of_[block] = static_cast<uint8_t>(used++);
  }
  for (uint32_t code = 0; code < std::size(ascii_); ++code) ascii_[code] = Traits(code);
}

const UnicodeTable& UnicodeTable::Get() {
  static const UnicodeTable table;
  return table;
}

}  // namespace tessera

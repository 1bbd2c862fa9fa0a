#include "tessera/base/text_hash.h"

#include "absl/hash/hash.h"

namespace tessera {

size_t TextHash::operator()(absl::string_view text) const { return absl::Hash<absl::string_view>()(text); }

}  // namespace tessera

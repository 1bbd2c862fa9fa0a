// The inside of a parsed JSON document, shared by the parser (json.cc) and the getters (json_value.cc).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "tessera/base/json.h"

namespace tessera {

// A document is one flat array of nodes, the outermost first. Strings, keys and lists of children are in pools behind the array.
struct JsonValue::Node {
  Kind kind = Kind::kNull;
  uint32_t parent = 0;                          // The outermost node is its own parent.
  uint32_t place = 0;                           // Position among the parent's children.
  uint32_t key_begin = 0, key_size = 0;         // In `text`, for a member of an object.
  uint32_t begin = 0, size = 0;                 // A string in `text`, or the children in `children` and `by_key`.
  union { bool truth; int64_t integer; uint64_t natural; double real = 0; };
};

struct JsonValue::Document {
  std::string source;
  std::vector<Node> nodes;
  std::string text;
  std::vector<uint32_t> children;               // In the order of the text.
  std::vector<uint32_t> by_key;                 // Equal ranges; ranges of objects are sorted by key.

  absl::string_view Key(uint32_t node) const { return {text.data() + nodes[node].key_begin, nodes[node].key_size}; }
  absl::string_view Text(const Node& node) const { return {text.data() + node.begin, node.size}; }
};

// Returns text from outside in the form for errors: short, printable.
std::string ShownJson(absl::string_view text);

}  // namespace tessera

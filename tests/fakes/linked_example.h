// Whether a document leads to its example, a header of tests/.
//
//   EXPECT_TRUE(LinksToExample("docs/adding_a_device.md", "tests/runtime/engine/device/example_device.h"));
#pragma once

#include <fstream>
#include <iterator>
#include <string>

namespace tessera {

inline std::string TextOfSource(const std::string& path) {
  std::ifstream file(std::string(TESSERA_SOURCE_DIR) + "/" + path);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline bool LinksToExample(const std::string& document, const std::string& header) {
  return TextOfSource(document).find("](../" + header + ")") != std::string::npos;
}

}  // namespace tessera

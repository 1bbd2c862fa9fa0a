// Whether a document quotes the class or function of a header of tests/, word for word.
//
//   EXPECT_TRUE(QuotesExample("docs/adding_a_device.md", "tests/runtime/engine/example_device.h", "class RowCountingDevice"));
//
// The quoted part goes from `begin` to the end of the namespace, and stands in the document as a block of C++.
#pragma once

#include <fstream>
#include <iterator>
#include <string>

namespace tessera {

inline std::string TextOfSource(const std::string& path) {
  std::ifstream file(std::string(TESSERA_SOURCE_DIR) + "/" + path);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline bool QuotesExample(const std::string& document, const std::string& header, const std::string& begin) {
  const std::string code = TextOfSource(header);
  const size_t first = code.find(begin), end = code.find("}  // namespace tessera");
  if (first == std::string::npos || end == std::string::npos || end < first) return false;
  return TextOfSource(document).find("```cpp\n" + code.substr(first, end - first - 1) + "```") != std::string::npos;
}

}  // namespace tessera

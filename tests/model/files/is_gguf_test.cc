#include "tessera/model/files/is_gguf.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "tessera/tests/fakes/gguf_builder.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/fakes/temporary_folder.h"

namespace tessera {
namespace {

TEST(IsGguf, HeaderExample) {
  const TemporaryFolder folder;
  GgufBuilder().WriteTo(folder.Path("reward.gguf"));
  EXPECT_TRUE(Must(IsGguf(folder.Path("reward.gguf"))));
}

TEST(IsGguf, TellsByTheFirstBytesAlone) {
  const TemporaryFolder folder;
  const std::string path = folder.Path("file");
  for (const auto& [text, is_gguf] : {std::pair<std::string, bool>{"", false}, {"GGU", false}, {"GGUF", true}, {"GGUFx", true},
                                      {"gguf", false}, {" GGUF", false}}) {
    std::ofstream(path) << text;
    EXPECT_EQ(Must(IsGguf(path)), is_gguf) << text;
  }
  EXPECT_TRUE(absl::IsNotFound(IsGguf(folder.Path("none")).status()));
}

}  // namespace
}  // namespace tessera

// The lists of tests/fakes/architectures.h leave out no architecture and no tiny model.
#include "tessera/tests/fakes/architectures.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tessera/model/files/internal/architecture.h"

namespace tessera {
namespace {

using Names = std::vector<std::string>;

Names Sorted(Names names) {
  std::sort(names.begin(), names.end());
  return names;
}

TEST(TestedArchitectures, AreAllOfTheRegistry) {
  Names registered;
  for (const Architecture* architecture : Architectures()) registered.push_back(architecture->name);
  EXPECT_EQ(Sorted(Names(std::begin(kArchitectures), std::end(kArchitectures))), Sorted(registered));
}

TEST(TestedArchitectures, TinyModelsAreAllFilesOfTheirFolderAndOneOfEachArchitecture) {
  Names files;
  for (const auto& entry : std::filesystem::directory_iterator(TESSERA_SOURCE_DIR "/tests/golden/tiny")) {
    if (entry.path().extension() == ".gguf") files.push_back(entry.path().stem().string());
  }
  EXPECT_EQ(Sorted(Names(std::begin(kTinyModels), std::end(kTinyModels))), Sorted(files));
  for (const char* architecture : kArchitectures) EXPECT_EQ(std::count(files.begin(), files.end(), architecture), 1) << architecture;
}

TEST(TestedArchitectures, ATestMayLeaveSomeOut) {
  EXPECT_EQ(ArchitecturesBut({}).size(), std::size(kArchitectures));
  for (const char* const architecture : ArchitecturesBut({"gemma3"})) EXPECT_STRNE(architecture, "gemma3");
}

}  // namespace
}  // namespace tessera

// The folder of a grid: made once, compared afterwards, and hostile until checked.
#include "tessera/apps/lab/scale/grid/grid_folder.h"

#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/fakes/temporary_folder.h"

namespace tessera {
namespace {

GridAbout About() {
  return {.command = "tessera_scale grid --into=\"x\"",
          .model = "m.gguf",
          .model_sha256 = std::string(64, 'a'),
          .parameters = 135,
          .settings = {{"temperature", "0.8"}, {"seed", "0"}},
          .tasks = {{.task = "gsm8k", .questions = 40, .problems = 660, .sha256 = std::string(64, 'b')}}};
}

TEST(GridFolder, KeepsTheSettingsOfAGrid) {
  const TemporaryFolder folder;
  const std::string grid = folder.Path("grid");
  Must(BeginGrid(grid, About()));
  const GridAbout read = Must(ReadGridAbout(grid));
  EXPECT_EQ(read.command, About().command);
  EXPECT_EQ(read.model, "m.gguf");
  EXPECT_EQ(read.model_sha256, About().model_sha256);
  EXPECT_EQ(read.parameters, 135);
  EXPECT_EQ(read.settings, About().settings);
  ASSERT_EQ(read.tasks.size(), 1u);
  EXPECT_EQ(read.tasks[0].questions, 40);
  EXPECT_EQ(read.tasks[0].problems, 660);
  Must(BeginGrid(grid, About()));
  GridAbout other = About();
  other.command = "another one";
  Must(BeginGrid(grid, other));
  EXPECT_EQ(Must(ReadGridAbout(grid)).command, About().command) << "that which made it";
}

TEST(GridFolder, NamesTheFirstSettingThatDiffers) {
  const TemporaryFolder folder;
  const std::string grid = folder.Path("grid");
  Must(BeginGrid(grid, About()));
  const auto error = [&](const GridAbout& about) { return std::string(BeginGrid(grid, about).message()); };
  GridAbout other = About();
  other.settings[1].second = "7";
  EXPECT_EQ(error(other), grid + "/grid.json: seed: found 0, expected 7, that of this run");
  other = About();
  other.settings.emplace_back("min_p", "0.1");
  EXPECT_EQ(error(other), grid + "/grid.json: min_p: found none, expected 0.1, that of this run");
  other = About();
  other.settings.pop_back();
  EXPECT_EQ(error(other), grid + "/grid.json: seed: found 0, expected none, that of this run");
  other = About();
  other.model_sha256 = std::string(64, 'c');
  EXPECT_TRUE(absl::StrContains(error(other), "model's sha256: found aaa")) << error(other);
  other = About();
  other.tasks[0].task = "mbpp";
  EXPECT_TRUE(absl::StrContains(error(other), "task: found gsm8k, expected mbpp")) << error(other);
  other = About();
  other.tasks[0].sha256 = std::string(64, 'd');
  EXPECT_TRUE(absl::StrContains(error(other), "questions of gsm8k: found 40 of sha256 bbb")) << error(other);
}

TEST(GridFolder, FilesAreHostileUntilChecked) {
  const TemporaryFolder folder;
  const std::string grid = folder.Path("grid");
  Must(BeginGrid(grid, About()));
  std::ifstream file(grid + "/grid.json");
  const std::string whole{std::istreambuf_iterator<char>(file), {}};
  const std::pair<const char*, const char*> changes[] = {{"\"format\": 1", "\"format\": 2"},
                                                         {"\"gsm8k\"", "\"../../etc\""},
                                                         {"\"questions\": 40", "\"questions\": 0"},
                                                         {"\"problems\": 660", "\"problems\": 39"},
                                                         {"\"parameters\": 135", "\"parameters\": -1"},
                                                         {"bbbb\"", "bbb/\""},
                                                         {"\"0.8\"", "0.8"},
                                                         {"\"settings\"", "\"setting\""}};
  for (const auto& [from, to] : changes) {
    ASSERT_TRUE(absl::StrContains(whole, from)) << from;
    std::ofstream(grid + "/grid.json") << absl::StrReplaceAll(whole, {{from, to}});
    const absl::Status status = ReadGridAbout(grid).status();
    EXPECT_FALSE(status.ok()) << to;
    EXPECT_TRUE(absl::StartsWith(status.message(), grid + "/grid.json: ")) << status;
    EXPECT_FALSE(BeginGrid(grid, About()).ok()) << "it is not replaced: " << to;
  }
}

TEST(GridFolder, AFileInItsPlaceIsRefused) {
  const TemporaryFolder folder;
  std::ofstream(folder.Path("file")) << "x";
  EXPECT_FALSE(BeginGrid(folder.Path("file"), About()).ok());
  EXPECT_FALSE(BeginGrid(folder.Path("none") + "/below", About()).ok()) << "only the last folder is made";
}

TEST(GridFolder, TheHashIsOfTheQuestionsThatAreAsked) {
  Task task = {.name = "gsm8k"};
  for (const char* id : {"1", "2", "3"}) task.problems.push_back({.id = id, .prompt = "p", .answer = "a"});
  const std::string two = HashOfQuestions(task, 2);
  EXPECT_NE(two, HashOfQuestions(task, 3));
  task.problems[2].prompt = "other";
  EXPECT_EQ(two, HashOfQuestions(task, 2));
  task.problems[1].answer = "b";
  EXPECT_NE(two, HashOfQuestions(task, 2));
  task.problems[1] = {.id = "2", .prompt = "pa", .answer = ""};   // The same letters, but other texts.
  EXPECT_NE(two, HashOfQuestions(task, 2));
}

}  // namespace
}  // namespace tessera

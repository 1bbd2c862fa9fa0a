// The line that tells slow from hung: what it says about reading, and where programs show it.
#include "tessera/apps/cli/screen/pass_progress.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <fstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tessera/base/status_macros.h"
#include "tessera/runtime/session/session.h"
#include "tessera/tests/fakes/packed_file.h"
#include "tessera/tests/fakes/programs/run_program.h"

namespace tessera {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20, kSecond = 1'000'000'000;

// Larger than the ring, so that each pass reads it anew.
const std::string& Model() {
  static const PackedModel* const model = new PackedModel(TinyPath("gemma3"));
  return model->path();
}

TEST(PassProgress, HeaderExample) {
  const std::unique_ptr<Engine> loaded =
      *Engine::Load({.model_path = Model(), .compute = {.threads = 1}, .streaming = {.memory_budget = 1 << 30}});
  Engine& engine = *loaded;
  const std::vector<TokenId> tokens = {1, 2, 3};
  const std::unique_ptr<Session> session = *engine.NewSession();
  testing::internal::CaptureStderr();
  const auto run = [&]() -> absl::Status {
    {
      PassProgress progress(engine, "prompt", /*total=*/tokens.size(), /*flash_bytes_per_second=*/0);
      RETURN_IF_ERROR(session->Append(tokens));
    }
    return absl::OkStatus();
  };
  EXPECT_EQ(run(), absl::OkStatus());
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");  // No terminal, and done within five seconds.
}

TEST(ReadingNote, SaysHowFarThePassIsAndHowFastReadingWasInTheLastSecond) {
  ReadingNote note({.nanos = 0, .passes = 7, .bytes = 500 * kMiB}, /*pass_bytes=*/100 * kMiB, /*flash=*/50e6);
  EXPECT_EQ(note.Text({0, 8, 500 * kMiB}), "pass 1: 0 B of 100 MiB, 0 B in all, 0 GB/s, 0 % of the flash");
  EXPECT_EQ(note.Text({kSecond, 8, 520 * kMiB}), "pass 1: 20.0 MiB of 100 MiB, 20.0 MiB in all, 0.021 GB/s, 42 % of the flash");
  EXPECT_EQ(note.Text({2 * kSecond, 8, 560 * kMiB}), "pass 1: 60.0 MiB of 100 MiB, 60.0 MiB in all, 0.0419 GB/s, 84 % of the flash");
  // Reading that has come to a stand is seen as such, whatever the mean.
  EXPECT_EQ(note.Text({3 * kSecond, 8, 560 * kMiB}), "pass 1: 60.0 MiB of 100 MiB, 60.0 MiB in all, 0 GB/s, 0 % of the flash");
  // The next pass counts from where it began; what is read beyond a pass is the next one's.
  EXPECT_EQ(note.Text({4 * kSecond, 9, 600 * kMiB}), "pass 2: 0 B of 100 MiB, 100 MiB in all, 0.0419 GB/s, 84 % of the flash");
  EXPECT_TRUE(absl::StartsWith(note.Text({5 * kSecond, 9, 720 * kMiB}), "pass 2: 100 MiB of 100 MiB, 220 MiB in all, "));
}

TEST(ReadingNote, WithoutASpeedToCompareWithThereIsNoShare) {
  ReadingNote note({.nanos = 0, .passes = 0, .bytes = 0}, /*pass_bytes=*/100 * kMiB, /*flash=*/0);
  EXPECT_EQ(note.Text({2 * kSecond, 1, 20 * kMiB}), "pass 1: 20.0 MiB of 100 MiB, 20.0 MiB in all, 0.0105 GB/s");
}

// A terminal, and what was written to it.
class Terminal {
 public:
  Terminal() : master_(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)) {
    PCHECK(master_ >= 0 && grantpt(master_) == 0 && unlockpt(master_) == 0);
    path_ = ptsname(master_);
    held_ = open(path_.c_str(), O_RDWR | O_NOCTTY | O_CLOEXEC);  // It stays open between programs.
    PCHECK(held_ >= 0);
  }
  ~Terminal() {
    close(held_);
    close(master_);
  }

  const std::string& path() const { return path_; }
  // REQUIRES: less than a terminal takes without a reader, some kilobytes.
  std::string Written() {
    fcntl(master_, F_SETFL, O_NONBLOCK);
    std::string text(1 << 16, '\0');
    const ssize_t count = read(master_, text.data(), text.size());
    text.resize(std::max<ssize_t>(count, 0));
    return text;
  }

 private:
  const int master_;
  int held_;
  std::string path_;
};

class SlowFlash : public testing::Test {
 protected:
  // A pass takes about half a second.
  void SetUp() override {
    std::ofstream(folder_.Path("flash")) << "name: \"slow\" speed { block_bytes: 1048576 depth: 1 megabytes_per_second: 1 source: \"-\" }";
  }
  // Runs it in a shell with standard output and standard error as given; returns the exit code.
  int Run(const std::string& program, const std::string& flags, const std::string& redirections) const {
    const std::string command = absl::StrCat(TESSERA_BINARY_DIR, "/bin/", program, " --model=", Model(), " --threads=1 --pin=none ",
                                             "--memory_budget=1GiB --flash=", folder_.Path("flash"), " ", flags, " ", redirections);
    return WEXITSTATUS(std::system(command.c_str()));
  }
  std::string Read(const std::string& name) const {
    std::ifstream in(folder_.Path(name));
    return std::string(std::istreambuf_iterator<char>(in), {});
  }

  const TemporaryFolder folder_;
};

// The last of the lines that were drawn over each other, and what erased it.
void ExpectDrawnAndErased(const std::string& written, const std::string& label) {
  const size_t last = written.rfind("\r\x1b[?7l" + label + ": ");
  ASSERT_NE(last, std::string::npos) << label << " in " << written;
  const std::string line = written.substr(last, written.find('\r', last + 1) - last);
  for (const char* part : {"; pass ", " in all, ", " GB/s, ", " % of the flash\x1b[K\x1b[?7h"}) {
    EXPECT_NE(line.find(part), std::string::npos) << part << " in " << line;
  }
  EXPECT_EQ(written.compare(last + line.size(), 4, "\r\x1b[K"), 0) << "it is not erased: " << written;
}

TEST_F(SlowFlash, OnATerminalALineIsDrawnWhileAPromptAndAnAnswerTakeTheirTime) {
  Terminal terminal;
  const std::string generate = "--raw --prompt=abc --n_predict=2 --temperature=0";
  ASSERT_EQ(Run("tessera_generate", generate, "> " + folder_.Path("out") + " 2> " + terminal.path()), 0);
  const std::string written = terminal.Written();
  ExpectDrawnAndErased(written, "prompt");
  ExpectDrawnAndErased(written, "answer");
  EXPECT_NE(written.find("prompt: 0 % (0 of 3), "), std::string::npos) << "inside the first pass: " << written;
  EXPECT_EQ(Read("out").find('\x1b'), std::string::npos);
}

TEST_F(SlowFlash, OnTheSameTerminalTheProgressLineStandsOnlyBeforeTheText) {
  Terminal terminal;
  const std::string generate = "--raw --prompt=abc --n_predict=2 --temperature=0";
  ASSERT_EQ(Run("tessera_generate", generate, "> " + terminal.path() + " 2>&1"), 0);
  const std::string written = terminal.Written();
  ExpectDrawnAndErased(written, "prompt");
  EXPECT_EQ(written.find("answer: "), std::string::npos) << written;
}

TEST_F(SlowFlash, WithoutATerminalNothingIsDrawn) {
  const std::string to_files = "> " + folder_.Path("out") + " 2> " + folder_.Path("errors");
  ASSERT_EQ(Run("tessera_generate", "--raw --prompt=abc --n_predict=1 --json", to_files), 0);
  EXPECT_EQ(Read("errors").find('\x1b'), std::string::npos) << Read("errors");
  EXPECT_EQ(Read("errors").find("% of the flash\n"), std::string::npos) << "a line within five seconds: " << Read("errors");
}

TEST_F(SlowFlash, ScoringATextAndShowingLogitsDrawTheProgressLine) {
  std::ofstream(folder_.Path("text")) << std::string(64, 'a');
  for (const char* program : {"tessera_perplexity", "tessera_logits"}) {
    SCOPED_TRACE(program);
    Terminal terminal;
    const std::string window = absl::StartsWith(program, "tessera_p") ? "--window=4 --max_windows=1" : "";
    ASSERT_EQ(Run(program, absl::StrCat(window, " --prompt_file=", folder_.Path("text")), "> /dev/null 2> " + terminal.path()), 0);
    ExpectDrawnAndErased(terminal.Written(), "tokens");
  }
}

}  // namespace
}  // namespace tessera

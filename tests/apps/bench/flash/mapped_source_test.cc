#include "tessera/apps/bench/flash/mapped_source.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "tessera/tests/fakes/programs/run_program.h"
#include "tessera/tests/fakes/temporary_folder.h"
#include "tessera/tests/fakes/tsr_sample.h"

namespace tessera {
namespace {

const std::vector<int64_t> kUnitBytes = {5000, (3 << 20) + 100, 64, 1 << 20, 4096};

class MappedSourceTest : public testing::Test {
 protected:
  MappedSourceTest() : path_(folder_.path() + "/sample.tsr") {
    CHECK_EQ(WriteTsrSample(path_, sample_), absl::OkStatus());
    absl::StatusOr<std::unique_ptr<TsrReader>> file = TsrReader::Open(path_);
    CHECK(file.ok()) << file.status();
    file_ = *std::move(file);
    plan_.pins.pinned = {false, false, true, false, true};  // Small: the right to lock memory may be small, too.
  }

  const TsrSample sample_ = MakeTsrSample(kUnitBytes);
  const TemporaryFolder folder_;
  const std::string path_;
  std::unique_ptr<TsrReader> file_;
  StreamPlan plan_;
};

TEST_F(MappedSourceTest, UnitsAndPartsEqualTheBytesOfTheFile) {
  const absl::StatusOr<std::unique_ptr<WeightSource>> source = OpenMapped(*file_, plan_);
  ASSERT_TRUE(source.ok()) << source.status();
  ASSERT_EQ((*source)->units(), static_cast<int>(kUnitBytes.size()));
  for (int unit = 0; unit < (*source)->units(); ++unit) {
    const absl::StatusOr<WeightLease> lease = (*source)->Acquire(unit);
    ASSERT_TRUE(lease.ok()) << lease.status();
    EXPECT_TRUE(std::ranges::equal(lease->bytes(), sample_.units[unit])) << unit;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(lease->bytes().data()) % 4096, 0) << unit;
  }
  const std::vector<UnitPart> parts = {{3, 640, 100}, {1, 2 << 20, 64}};
  const absl::StatusOr<std::vector<WeightLease>> leases = (*source)->AcquireParts(parts);
  ASSERT_TRUE(leases.ok()) << leases.status();
  ASSERT_EQ(leases->size(), parts.size());
  for (size_t i = 0; i < parts.size(); ++i) {
    const absl::Span<const std::byte> unit = sample_.units[parts[i].unit];
    EXPECT_TRUE(std::ranges::equal((*leases)[i].bytes(), unit.subspan(parts[i].offset, parts[i].bytes))) << i;
  }
}

TEST_F(MappedSourceTest, AFileThatHasLostItsNameIsMappedAllTheSame) {
  std::filesystem::remove(path_);
  const absl::StatusOr<std::unique_ptr<WeightSource>> source = OpenMapped(*file_, plan_);
  ASSERT_TRUE(source.ok()) << source.status();
  const absl::StatusOr<WeightLease> lease = (*source)->Acquire(0);
  ASSERT_TRUE(lease.ok()) << lease.status();
  EXPECT_TRUE(std::ranges::equal(lease->bytes(), sample_.units[0]));
}

TEST_F(MappedSourceTest, AFileThatWasCutIsNamed) {
  std::filesystem::resize_file(path_, 4096);
  const absl::Status status = OpenMapped(*file_, plan_).status();
  EXPECT_NE(status.message().find(path_), absl::string_view::npos) << status;
}

TEST_F(MappedSourceTest, TheBenchmarkGeneratesFromAMappedFileUnderABudget) {
  const std::string model = folder_.path() + "/tiny.tsr";
  ASSERT_EQ(RunProgram("tessera_pack", {TinyPath("llama"), model}).code, 0);
  const std::vector<std::string> arguments = {"--model=" + model, "--prompt_tokens=0", "--generate_tokens=4", "--repetitions=1", "--json",
                                              "--mapped"};
  std::vector<std::string> with_budget = arguments;
  with_budget.push_back("--memory_budget=1GiB");
  const Ended ended = RunProgram("tessera_bench speed", with_budget);
  EXPECT_EQ(ended.code, 0) << ended.errors;
  EXPECT_NE(ended.output.find("\"generation\""), std::string::npos) << ended.output;
  with_budget.push_back("--pin=none");  // Its plan's pins are what is locked.
  EXPECT_EQ(RunProgram("tessera_bench speed", with_budget).code, 0);
}

TEST_F(MappedSourceTest, TheBenchmarkRefusesFlagsThatAMappedFileCannotUse) {
  const std::string model = folder_.path() + "/tiny.tsr", gguf = TinyPath("llama"), budget = "--memory_budget=1GiB";
  ASSERT_EQ(RunProgram("tessera_pack", {gguf, model}).code, 0);
  struct Case { std::vector<std::string> flags; std::string said; };
  for (const Case& c : {Case{{"--model=" + model}, "--mapped: found without --memory_budget, expected both"},
                        Case{{"--model=" + gguf, budget}, "--mapped: found with " + gguf + ", expected a model packed"},
                        Case{{"--model=" + model, budget, "--io=auto"}, "--io: found beside --mapped, expected one of them: a mapped"},
                        Case{{"--model=" + model, budget, "--verify=first"}, "--verify: found beside --mapped"},
                        Case{{"--model=" + model, budget, "--flash=ufs4.0"}, "--flash: found beside --mapped"}}) {
    std::vector<std::string> flags = {"--mapped", "--prompt_tokens=0", "--generate_tokens=4", "--repetitions=1"};
    flags.insert(flags.end(), c.flags.begin(), c.flags.end());
    const Ended ended = RunProgram("tessera_bench speed", flags);
    EXPECT_EQ(ended.code, 2) << c.said;
    EXPECT_NE(ended.errors.find(c.said), std::string::npos) << ended.errors;
    EXPECT_TRUE(ended.output.empty()) << ended.output;
  }
}

}  // namespace
}  // namespace tessera

#include "tessera/runtime/engine/loaded_model.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

#include "tessera/base/status_macros.h"
#include "tessera/runtime/engine/weight_plan.h"
#include "tessera/tests/fakes/packed_file.h"
#include "tessera/tests/fakes/tiny_engine.h"

namespace tessera {
namespace {

TEST(LoadedModel, HeaderExample) {
  const TemporaryFolder folder;
  const std::string path = folder.Path("model.gguf");
  TinyModelBuilder({}).WriteTo(path);
  ThreadPool pool(2);
  const auto run = [&]() -> absl::StatusOr<size_t> {
    ASSIGN_OR_RETURN(std::unique_ptr<LoadedModel> model, LoadedModel::Open(path, {.encoding = WeightEncoding::kPacked}));
    RETURN_IF_ERROR(model->AwaitTokenizer());
    RETURN_IF_ERROR(model->LoadWeights(pool));
    ASSIGN_OR_RETURN(WeightLease lease, model->weights().Acquire(0));
    EXPECT_EQ(model->tokenizer().vocabulary_size(), model->config().vocabulary);
    EXPECT_EQ(model->streamer(), nullptr);
    EXPECT_FALSE(model->streams());
    EXPECT_EQ(model->weight_bytes(), model->layout().TotalBytes());
    return lease.bytes().size();
  };
  EXPECT_GT(Must(run()), 0u);
}

TEST(LoadedModel, StreamsTheUnpinnedUnits) {
  const PackedModel packed(TinyModelBuilder({.layers = 8}));  // More than a ring has room for.
  const auto model = Must(LoadedModel::Open(packed.path(), {}));
  Must(model->AwaitTokenizer());
  const StreamNeeds needs = WeightNeedsOf(model->config(), model->layout());
  const StreamPlan plan = Must(PlanStreaming(needs, int64_t{1} << 30, PinPolicy::kNone));
  Must(model->StreamWeights(plan, {}, /*hooks=*/nullptr, /*timeline=*/nullptr));
  ASSERT_NE(model->streamer(), nullptr);
  EXPECT_TRUE(model->streams());
  EXPECT_EQ(model->weight_bytes(), plan.bytes);
}

// The thread that makes it reads the file, which ends with the model.
TEST(LoadedModel, MayEndBeforeItsTokenizerIsMade) {
  const PackedModel packed(TinyModelBuilder({}));
  for (int i = 0; i < 20; ++i) Must(LoadedModel::Open(packed.path(), {.weights = ModelFile::Weights::kAtOnce}));
}

// As a program has it that was given a descriptor and no path.
TEST(LoadedModel, AModelOnADescriptorIsReadByItsPathInProc) {
  const PackedModel packed(TinyModelBuilder({}));
  const TemporaryFolder folder;
  const std::string gguf = folder.Path("model.gguf");
  TinyModelBuilder({}).WriteTo(gguf);
  ThreadPool pool(1);
  for (const std::string& path : {packed.path(), gguf}) {
    const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    ASSERT_GE(descriptor, 0);
    ASSERT_EQ(unlink(path.c_str()), 0);
    const auto model = Must(LoadedModel::Open("/proc/self/fd/" + std::to_string(descriptor), {.encoding = WeightEncoding::kPacked}));
    Must(model->AwaitTokenizer());
    Must(model->LoadWeights(pool));
    EXPECT_EQ(Must(model->weights().Acquire(0)).unit(), 0) << path;
    close(descriptor);
  }
}

TEST(LoadedModel, AMissingFileIsNamed) {
  const absl::Status status = LoadedModel::Open("/nowhere/model.gguf", {}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_NE(status.message().find("/nowhere/model.gguf"), std::string::npos);
}

}  // namespace
}  // namespace tessera

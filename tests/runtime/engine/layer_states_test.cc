#include "tessera/runtime/engine/layer_states.h"

#include <gtest/gtest.h>

#include <map>
#include <utility>
#include <vector>

#include "tessera/base/status_macros.h"
#include "tessera/runtime/engine/cached_text.h"
#include "tessera/runtime/engine/core.h"
#include "tessera/tests/fakes/tiny_engine.h"

namespace tessera {
namespace {

// Notes what it is told.
class Notes : public LayerListener {
 public:
  explicit Notes(std::vector<int> layers) : layers_(std::move(layers)) {}
  absl::Span<const int> layers() const override { return layers_; }
  void BeginPass(int rows) override { this->rows = rows, states.clear(); }
  void Take(int index, int row, absl::Span<const float> state) override {
    EXPECT_TRUE(states.emplace(std::pair(index, row), std::vector<float>(state.begin(), state.end())).second);
  }
  void EndPass(int first, absl::Span<const TokenId> tokens, absl::Span<const int> rows) override {
    EXPECT_EQ(tokens.size(), rows.size());
    end = first + static_cast<int>(tokens.size());
  }

  int rows = 0, end = 0;
  std::map<std::pair<int, int>, std::vector<float>> states;   // By index and row.

 private:
  const std::vector<int> layers_;
};

class LayerStates : public testing::Test {
 protected:
  LayerStates() : engine_(TinyEngine({.layers = 4}, {.compute = {.threads = 1}})), core_(CoreOf(*engine_)), text_(core_.cache()) {}

  // A pass over so many tokens that come next.
  Pass Begin(int count) {
    const std::vector<TokenId> tokens = RandomTokens(count, /*seed=*/1);
    text_.Append(tokens);
    text_.MakeExtendable();
    Must(core_.MakeRoom(count));
    rows_.clear();
    Must(text_.PlaceNext(count, /*adapter=*/nullptr, rows_));
    return Must(core_.Begin(rows_, /*cancel=*/nullptr));
  }

  const std::unique_ptr<Engine> engine_;
  EngineCore& core_;
  CachedText text_;
  std::vector<PassRow> rows_;
};

TEST_F(LayerStates, HeaderExample) {
  Notes listener({0, 2});
  Pass pass = Begin(8);
  const auto run = [&]() -> absl::Status {
    const ListeningRows listening[] = {{&listener, /*first_row=*/3, /*rows=*/5}};
    RETURN_IF_ERROR(TellLayers(pass, listening));
    ASSIGN_OR_RETURN(const HiddenRows done, core_.Finish(pass, {7}));
    return absl::OkStatus();
  };
  Must(run());
  listener.EndPass(/*first=*/40, {17, 5, 9}, {0, 2, 3});
  EXPECT_EQ(listener.rows, 5);
  EXPECT_EQ(listener.end, 43);
  EXPECT_EQ(listener.states.size(), 2u * 5);
}

TEST_F(LayerStates, EachIsToldOfItsOwnRowsAndLayers) {
  Notes one({1, 4}), two({0, 1});
  Pass pass = Begin(6);
  const ListeningRows listening[] = {{&one, 0, 2}, {&two, 2, 4}};
  EXPECT_EQ(LayersWanted(listening), std::vector<int>({0, 1, 4}));
  Must(TellLayers(pass, listening));
  EXPECT_EQ(pass.layer(), 4);
  EXPECT_EQ(one.states.size(), 2u * 2);
  EXPECT_EQ(two.states.size(), 2u * 4);
  const TensorView<const float> hidden = Must(pass.Hidden());
  const std::vector<float>& last = one.states.at({1, 1});
  EXPECT_TRUE(std::equal(last.begin(), last.end(), hidden.row(1)));
  Must(pass.Finish({}).status());
}

TEST_F(LayerStates, RowsThatAreDroppedAreToldNoFurther) {
  Notes notes({1, 3});
  Pass pass = Begin(4);
  const ListeningRows listening[] = {{&notes, 0, 4}};
  notes.BeginPass(4);
  Must(TellSomeLayers(pass, listening, 0, 3));
  EXPECT_EQ(pass.layer(), 1);
  Must(pass.RunTo(2));
  Must(pass.Drop({3}));
  Must(TellSomeLayers(pass, listening, 2, 5));
  EXPECT_EQ(pass.layer(), 3);
  Must(pass.Finish({}).status());
  EXPECT_EQ(notes.states.size(), 4u + 3);
  EXPECT_FALSE(notes.states.contains({1, 3}));
}

}  // namespace
}  // namespace tessera

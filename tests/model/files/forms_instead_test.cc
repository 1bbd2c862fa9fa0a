#include "tessera/model/files/forms_instead.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tessera/model/files/config.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/fakes/temporary_folder.h"
#include "tessera/tests/fakes/tiny_model.h"

namespace tessera {
namespace {

FormInstead Of(const std::string& tensor, BlockFormat wanted, BlockFormat taken, int64_t row) {
  return {.tensor = tensor, .wanted = wanted, .taken = taken, .row = row};
}

TEST(FormsInstead, HeaderExample) {
  const TemporaryFolder folder;
  TinyModelBuilder({.tied = true}).WriteTo(folder.Path("model.gguf"));
  const auto file = Must(GgufFile::Open(folder.Path("model.gguf")));
  const ModelConfig config = Must(ReadModelConfig(*file));
  const WeightRecipe recipe = Must(WeightRecipe::Parse("head=Q4_K"));
  std::string said;
  const auto Say = [&](const std::string& text) { said = text; };
  const std::vector<FormInstead> instead = FormsInstead(*file, config.tied_head, recipe);
  Say(FormsInsteadText(instead));
  EXPECT_EQ(said, "Q5_0 instead of Q4_K in 1 matrix (token_embd), whose rows of 64 weights are no whole blocks of 256");
}

TEST(FormsInstead, ASentenceNamesFormatsKindsAndRows) {
  const std::vector<FormInstead> instead = {
      Of("token_embd.weight", BlockFormat::kQ6_K, BlockFormat::kQ8_0, 576),
      Of("blk.0.ffn_up.weight", BlockFormat::kQ4_K, BlockFormat::kQ5_0, 576),
      Of("blk.1.ffn_up.weight", BlockFormat::kQ4_K, BlockFormat::kQ5_0, 576),
      Of("blk.1.attn_q.weight", BlockFormat::kQ4_K, BlockFormat::kQ5_0, 64)};
  EXPECT_EQ(FormsInsteadText(instead),
            "Q8_0 instead of Q6_K in 1 matrix (token_embd), whose rows of 576 weights are no whole blocks of 256; "
            "Q5_0 instead of Q4_K in 3 matrices (ffn_up, attn_q), whose rows of 64 or 576 weights are no whole blocks of 256");
  EXPECT_EQ(FormsInsteadText({}), "");
}

}  // namespace
}  // namespace tessera

#include "tessera/runtime/chat/other_fields.h"

#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(OtherFields, HeaderExample) {
  EXPECT_EQ(ForeignFieldHint("max_tokens", {"id", "text", "n_predict"}), "; did you mean n_predict?");
  EXPECT_EQ(ForeignFieldHint("logprobs", {"id", "text"}),
            "; probabilities are not written beside an answer: tessera_logits shows them for a given text");
  EXPECT_EQ(ForeignFieldHint("txet", {"id", "text"}), "; did you mean text?");
}

TEST(OtherFields, EachStandsOnceAndSaysOneThing) {
  std::set<std::string> seen;
  for (const OtherField& field : OtherFields()) {
    EXPECT_TRUE(seen.insert(field.theirs).second) << field.theirs;
    EXPECT_NE(*field.ours != 0, *field.note != 0) << field.theirs;
  }
}

TEST(OtherFields, NoFieldIsNamedThatTheRequestCannotHave) {
  EXPECT_EQ(ForeignFieldHint("max_tokens", {"id", "text"}), "");
  EXPECT_EQ(ForeignFieldHint("zzz", {"id", "text"}), "");
  EXPECT_EQ(ForeignFieldHint(std::string(100'000, 'a'), {"id", "text"}), "");
}

}  // namespace
}  // namespace tessera

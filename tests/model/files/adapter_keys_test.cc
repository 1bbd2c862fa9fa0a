#include "tessera/model/files/internal/adapter_keys.h"

#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tessera/base/status_macros.h"
#include "tessera/tests/fakes/must.h"

namespace tessera {
namespace {

absl::Status Example(const JsonValue& json) {
  RETURN_IF_ERROR(JudgeAdapterKeys(json, PeftKeys()));
  return absl::OkStatus();
}

TEST(AdapterKeys, HeaderExample) {
  EXPECT_TRUE(Example(Must(JsonValue::Parse("{\"r\":8,\"use_dora\":false}"))).ok());
  EXPECT_FALSE(Example(Must(JsonValue::Parse("{\"r\":8,\"use_dora\":true}"))).ok());
}

TEST(AdapterKeys, EachKeyIsJudgedOnceWithAReason) {
  for (const AdapterKeys keys : {PeftKeys(), MlxKeys(), MlxParameterKeys()}) {
    std::set<std::string> names;
    for (const AdapterKey& key : keys) {
      EXPECT_TRUE(names.insert(key.key).second) << key.key;
      EXPECT_NE(std::string(key.why), "") << key.key;
      const JsonValue given = Must(JsonValue::Parse(absl::StrCat("{\"", key.key, "\":1}")));
      const absl::Status status = JudgeAdapterKeys(given, keys);
      EXPECT_EQ(status.ok(), key.judgement != AdapterKey::kNothing) << status;
      EXPECT_TRUE(status.ok() || absl::EndsWith(status.message(), absl::StrCat("expected nothing: ", key.why))) << status;
      EXPECT_TRUE(JudgeAdapterKeys(Must(JsonValue::Parse(absl::StrCat("{\"", key.key, "\":null}"))), keys).ok());
    }
  }
}

// The page shows what changes nothing as it stands in the code.
TEST(AdapterKeys, TheirPageShowsEachThatChangesNothing) {
  std::ifstream in(std::string(TESSERA_SOURCE_DIR) + "/docs/adapters.md");
  const std::string page((std::istreambuf_iterator<char>(in)), {});
  for (const AdapterKeys keys : {PeftKeys(), MlxKeys(), MlxParameterKeys()}) {
    for (const AdapterKey& key : keys) {
      if (key.judgement != AdapterKey::kNoEffect) continue;
      EXPECT_TRUE(absl::StrContains(page, absl::StrCat("| `", key.key, "` | ", key.why, " |"))) << key.key << ": " << key.why;
    }
  }
}

}  // namespace
}  // namespace tessera

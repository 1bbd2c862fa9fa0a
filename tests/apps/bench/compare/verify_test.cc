// tessera_inspect --verify on good and bad files: what it prints, and how it ends.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tessera/apps/show/describe_problems.h"
#include "tessera/base/json.h"
#include "tessera/tests/fakes/gguf_builder.h"
#include "tessera/tests/fakes/programs/run_program.h"
#include "tessera/tests/fakes/temporary_folder.h"

namespace tessera {
namespace {

Ended Verify(const std::string& path, const std::vector<std::string>& more = {}) {
  std::vector<std::string> arguments = {"--verify", "--model=" + path};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return RunProgram("tessera_inspect", arguments);
}

TEST(InspectVerify, AGoodFileEndsWithZero) {
  const Ended ended = Verify(TinyPath("gemma3"));
  EXPECT_EQ(ended.code, 0) << ended.errors;
  EXPECT_EQ(ended.errors, "");
  EXPECT_NE(ended.output.find("93 tensors, "), std::string::npos) << ended.output;
  EXPECT_NE(ended.output.find(TinyPath("gemma3") + ": nothing wrong\n"), std::string::npos) << ended.output;
}

TEST(InspectVerify, ABadFileEndsWithOneAndALineForEachProblem) {
  const TemporaryFolder folder;
  const std::string path = folder.Path("bad.gguf");
  GgufBuilder().Tensor("a", {2}, 0, std::string("\0\0\x80\x3f\0\0\xc0\x7f", 8)).WriteTo(path);  // 1 and a NaN, and no model.
  const std::string problems[] = {
      path + ": metadata \"tokenizer.ggml.model\": found no such key", path + ": metadata \"general.architecture\": found no such key",
      path + ": tensor \"a\": found a NaN or an infinity in 1 of 2 F32 values, the first at byte 68, expected finite numbers"};
  const Ended text = Verify(path);
  EXPECT_EQ(text.code, 1);
  EXPECT_EQ(text.output, absl::StrCat(problems[0], "\n", problems[1], "\n", problems[2], "\n", path,
                                      ": 1 tensors, 8 B; not used: 0 tensors, 0 B between and after tensors\n", path,
                                      ": 3 problems\n"));
  EXPECT_EQ(text.errors, absl::StrCat("tessera_inspect: ", path, ": found 3 problems, expected none\n"));
  const Ended json = Verify(path, {"--json"});
  EXPECT_EQ(json.code, 1);
  const JsonValue report = *JsonValue::Parse(json.output);
  EXPECT_FALSE(*report.Bool("ok"));
  for (int64_t i = 0; i < 3; ++i) EXPECT_EQ(*(*report.Array("problems"))[i].String("message"), problems[i]);
  const JsonValue last = (*report.Array("problems"))[2];
  EXPECT_EQ(*last.String("file"), path);
  EXPECT_EQ(*last.String("tensor"), "a");
  EXPECT_EQ(*last.Int("offset"), 68);
}

TEST(InspectVerify, AFileThatIsNoneIsAProblemToo) {
  const Ended ended = Verify("/dev/null", {"--json"});
  EXPECT_EQ(ended.code, 1);
  const JsonValue report = *JsonValue::Parse(ended.output);
  EXPECT_EQ(*(*report.Array("problems"))[0].String("message"), "/dev/null: found a device, expected a regular file");
}

TEST(InspectVerify, WhyATensorIsNotUsedIsSaid) {
  const VerifyReport report = {.tensors = 3, .unused_tensors = 2, .unused_reasons = {"a tower"}, .tensor_bytes = 8};
  EXPECT_EQ(ReportText("m", report), "m: 3 tensors, 8 B; not used: 2 tensors, 0 B between and after tensors\n"
                                     "m: not used, and no text depends on it: a tower\n"
                                     "m: nothing wrong\n");
  EXPECT_EQ(*(*JsonValue::Parse(ReportJson("m", report))->Array("unused_reasons")).AsStrings(), std::vector<std::string>{"a tower"});
}

TEST(InspectVerify, GraphAndVerifyExcludeEachOther) { EXPECT_EQ(Verify(TinyPath("llama"), {"--graph"}).code, 2); }

}  // namespace
}  // namespace tessera

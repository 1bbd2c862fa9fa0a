// Files of tessera_quantize states as far as another program of ours reads them, their texts: a file is refused in words that name it and
// can be shown, or its texts lie one after the other, none empty or too long, with tokens of the vocabulary; what is written again reads
// alike.
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "tessera/apps/show/states_file.h"
#include "tessera/tests/fakes/bad_safetensors_files.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/fakes/temporary_folder.h"
#include "tessera/tests/fuzz/fuzz_target.h"
#include "tessera/tests/fuzz/refusal.h"

namespace tessera {
namespace {

constexpr int kContext = 6, kVocabulary = 50;

const TemporaryFolder& TheFolder() {
  static const auto folder = std::make_unique<TemporaryFolder>(TemporaryFolder::InMemory());   // It goes when the program ends.
  return *folder;
}

void CheckTexts(const StatesTexts& texts) {
  CHECK_EQ(texts.starts().size(), static_cast<size_t>(texts.count()) + 1);
  CHECK_EQ(texts.rows(), static_cast<int64_t>(texts.tokens().size()));
  int64_t rows = 0, given = 0;
  for (int64_t i = 0; i < texts.count(); ++i) {
    const absl::Span<const TokenId> text = texts.Text(i);
    CHECK(!text.empty() && text.size() <= kContext) << i;
    for (const TokenId token : text) CHECK(token >= 0 && token < kVocabulary) << token;
    const int64_t prompt = texts.prompts()[static_cast<size_t>(i)];
    CHECK(prompt >= 0 && prompt <= static_cast<int64_t>(text.size())) << i;
    rows += static_cast<int64_t>(text.size());
    given += prompt;
  }
  CHECK_EQ(rows, texts.rows());
  CHECK_EQ(texts.written(), rows - given);
}

std::string NumbersOf(const std::vector<int64_t>& numbers, bool wide) {
  std::string bytes;
  for (const int64_t number : numbers) {
    bytes += wide ? SafetensorsBuilder::BytesOf(number) : SafetensorsBuilder::BytesOf(static_cast<int32_t>(number));
  }
  return bytes;
}

std::string File(const std::vector<int64_t>& tokens, const std::vector<int64_t>& starts, const std::vector<int64_t>& prompts) {
  SafetensorsBuilder builder;
  builder.metadata = R"({"made_by":"tessera_states"})";
  builder.entries.clear();
  builder.data.clear();
  const auto add = [&](const char* name, const std::vector<int64_t>& numbers, bool wide) {
    const size_t begin = builder.data.size();
    builder.data += NumbersOf(numbers, wide);
    builder.entries.push_back({name, wide ? "\"I64\"" : "\"I32\"", absl::StrCat("[", numbers.size(), "]"),
                               absl::StrCat("[", begin, ",", builder.data.size(), "]")});
  };
  add("tokens", tokens, false);
  add("starts", starts, true);
  add("prompts", prompts, true);
  return builder.Build();
}

}  // namespace

absl::Status RunInput(absl::Span<const std::byte> input) {
  const std::string path = TheFolder().Path("a.safetensors"), again_path = TheFolder().Path("again.safetensors");
  std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(input.data()), static_cast<std::streamsize>(input.size()));
  const auto texts = StatesTexts::Read(path, kContext, kVocabulary, RequestLimits());
  if (!texts.ok()) return Refused(texts.status(), path + ": ");
  CheckTexts(*texts);
  {
    StatesFile file = Must(StatesFile::Create(again_path, {.width = 1, .vocabulary = kVocabulary}, *texts));
    Must(file.Commit());
  }
  const auto again = StatesTexts::Read(again_path, kContext, kVocabulary, RequestLimits());
  CHECK(again.ok()) << again.status();
  CHECK(again->tokens() == texts->tokens() && again->starts() == texts->starts() && again->prompts() == texts->prompts());
  return absl::OkStatus();
}

std::vector<FuzzSeed> Seeds() {
  std::vector<FuzzSeed> seeds = {{"empty", ""}};
  const auto add = [&](const std::string& file) { seeds.push_back({absl::StrCat("file_", seeds.size()), file}); };
  const std::string good = File({1, 2, 3, 4, 49}, {0, 2, 5}, {1, 0});
  add(good);
  add(File({7}, {0, 1}, {1}));
  add(File({}, {0}, {}));
  add(File({1, 2, 3, 4, 5, 6, 7}, {0, 7}, {1}));
  for (const int64_t number : {int64_t{-1}, int64_t{50}, int64_t{1} << 40}) {
    add(File({1, number, 3}, {0, 2, 3}, {1, 0}));
    add(File({1, 2, 3}, {0, number, 3}, {1, 0}));
    add(File({1, 2, 3}, {number, 2, 3}, {1, 0}));
    add(File({1, 2, 3}, {0, 2, number}, {1, 0}));
    add(File({1, 2, 3}, {0, 2, 3}, {1, number}));
  }
  add(File({1, 2, 3}, {0, 3}, {1, 0}));
  add(File({1, 2, 3}, {}, {}));
  add(File({1, 2, 3}, {0, 0, 3}, {0, 0}));
  for (size_t cut = 1; cut < good.size(); cut += 17) add(good.substr(0, cut));
  for (const BadSafetensors& bad : BadSafetensorsFiles()) seeds.push_back({bad.name, bad.bytes});
  return seeds;
}

}  // namespace tessera

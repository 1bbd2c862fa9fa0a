// Adapters: the configuration or the numbers of a folder of PEFT or of mlx-lm beside the other part of a good one, a GGUF file, or a
// pattern of names and a name. What is refused is refused in words that name the file and can be shown; what is accepted has pairs in
// order, of the model's shapes and with finite numbers, and is read again as it was. A pattern means the same in a group and as a choice
// between two of it.
//
// An input's first byte says which of them follows; a zero byte ends a pattern.
#include <algorithm>
#include <cmath>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "tessera/model/files/adapter_file.h"
#include "tessera/model/files/internal/name_pattern.h"
#include "tessera/tests/fakes/golden.h"
#include "tessera/tests/fakes/mlx_builder.h"
#include "tessera/tests/fakes/temporary_folder.h"
#include "tessera/tests/fuzz/fuzz_bytes.h"
#include "tessera/tests/fuzz/fuzz_target.h"
#include "tessera/tests/fuzz/refusal.h"

namespace tessera {
namespace {

enum Kind : char { kPeftConfig, kPeftNumbers, kMlxConfig, kMlxNumbers, kGguf, kPattern, kKinds };

// The model, and folders in memory that all inputs are written to.
struct Place {
  const std::unique_ptr<GgufFile> file = Must(GgufFile::Open(GoldenPath("tiny/llama.gguf")));
  const ModelConfig config = Must(ReadModelConfig(*file));
  const TemporaryFolder folder{TemporaryFolder::InMemory()};
};

const Place& ThePlace() {
  static const auto place = std::make_unique<Place>();   // Its folder goes when the program ends.
  return *place;
}

void Write(const std::string& path, const std::string& bytes) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out << bytes;
  CHECK(out.flush().good()) << path;
}

// Where the input is a part of an adapter, the rest is a good one's.
std::string WriteAdapter(Kind kind, const std::string& bytes) {
  const Place& place = ThePlace();
  if (kind == kGguf) {
    Write(place.folder.Path("a.gguf"), bytes);
    return place.folder.Path("a.gguf");
  }
  const bool is_mlx = kind == kMlxConfig || kind == kMlxNumbers, is_config = kind == kPeftConfig || kind == kMlxConfig;
  static const PeftBuilder peft, mlx = MlxFolder();
  static const std::string numbers[] = {peft.Numbers(), mlx.Numbers()};
  const PeftBuilder& good = is_mlx ? mlx : peft;
  const std::string folder = place.folder.Path(is_mlx ? "mlx" : "peft");
  std::filesystem::create_directory(folder);
  Write(folder + "/adapter_config.json", is_config ? bytes : good.Config());
  Write(folder + "/" + good.numbers_file, is_config ? numbers[is_mlx ? 1 : 0] : bytes);
  return folder;
}

void CheckMatrix(const AdapterMatrix& matrix, int64_t rows, int64_t columns) {
  CHECK(matrix.rows == rows && matrix.columns == columns) << matrix.rows << " x " << matrix.columns;
  const std::vector<float> numbers = matrix.Floats();
  CHECK_EQ(static_cast<int64_t>(numbers.size()), rows * columns);
  CHECK(std::all_of(numbers.begin(), numbers.end(), [](float number) { return std::isfinite(number); }));
}

void CheckAdapter(const AdapterFile& adapter, const ModelConfig& config) {
  CHECK(!adapter.pairs.empty());
  int64_t bytes = 0;
  int layer = 0;
  for (const AdapterPair& pair : adapter.pairs) {
    CHECK(pair.layer >= layer && pair.layer < static_cast<int>(config.layers.size())) << pair.layer;
    layer = pair.layer;
    CHECK(pair.rank >= 1 && pair.rank <= kMostAdapterRank && std::isfinite(pair.scale)) << pair.rank << " " << pair.scale;
    const bool is_down = pair.matrix == "ffn_down", is_up = pair.matrix == "ffn_up" || pair.matrix == "ffn_gate";
    const bool is_narrow = pair.matrix == "attn_k" || pair.matrix == "attn_v";
    CheckMatrix(pair.a, pair.rank, is_down ? 96 : 64);
    CheckMatrix(pair.b, is_up ? 96 : is_narrow ? 32 : 64, pair.rank);
    bytes += static_cast<int64_t>(pair.a.bytes.size() + pair.b.bytes.size());
  }
  CHECK_EQ(adapter.Bytes(), bytes);
}

absl::Status UseAdapter(const std::string& path) {
  const Place& place = ThePlace();
  const auto reader = AdapterReader::Open(path, *place.file, place.config);
  if (absl::IsNotFound(reader.status())) {   // A configuration of the other program, whose numbers have another name.
    CHECK(absl::StartsWith(reader.status().message(), path) && absl::StrContains(reader.status().message(), ".safetensors: "));
    return reader.status();
  }
  if (!reader.ok()) return Refused(reader.status(), path);
  const auto adapter = (*reader)->Read();
  if (!adapter.ok()) return Refused(adapter.status(), path);
  CheckAdapter(*adapter, place.config);
  const auto again = ReadAdapter(path, *place.file, place.config);
  CHECK(again.ok() && again->pairs == adapter->pairs) << again.status();
  const auto shapes = ReadAdapter(path, *place.file, place.config, AdapterRead::kShapes);
  CHECK(shapes.ok() && shapes->pairs.size() == adapter->pairs.size() && shapes->Bytes() == 0) << shapes.status();
  return absl::OkStatus();
}

absl::Status UsePattern(const std::string& input) {
  const size_t end = std::min(input.find('\0'), input.size());
  const std::string text = input.substr(0, end), name = input.substr(std::min(end + 1, input.size()));
  const auto pattern = NamePattern::Parse(text);
  if (!pattern.ok()) return Refused(pattern.status(), "");
  CHECK(pattern->steps() >= 1 && pattern->steps() <= NamePattern::kMostSteps) << pattern->steps();
  const bool matches = pattern->Matches(name);
  for (const std::string& same : {absl::StrCat("(?:", text, ")"), absl::StrCat("(?:", text, ")|(?:", text, ")")}) {
    const auto other = NamePattern::Parse(same);
    if (other.ok()) CHECK_EQ(other->Matches(name), matches) << same;   // It may have too many steps, levels or groups of one name.
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status RunInput(absl::Span<const std::byte> input) {
  FuzzBytes bytes(input);
  const auto kind = static_cast<Kind>(bytes.Below(kKinds));
  return kind == kPattern ? UsePattern(bytes.Rest()) : UseAdapter(WriteAdapter(kind, bytes.Rest()));
}

std::vector<FuzzSeed> Seeds() {
  std::vector<FuzzSeed> seeds;
  const auto add = [&](Kind kind, const std::string& name, const std::string& bytes) {
    seeds.push_back({absl::StrCat(name, "_", seeds.size()), std::string(1, kind) + bytes});
  };
  const auto add_folder = [&](Kind config, const std::string& name, const PeftBuilder& builder) {
    add(config, name, builder.Config());
    add(static_cast<Kind>(config + 1), name, builder.Numbers());
  };
  add_folder(kPeftConfig, "peft", PeftBuilder());
  add_folder(kMlxConfig, "mlx", MlxFolder());
  for (const BadPeft& row : BadPeftFolders()) {
    PeftBuilder builder;
    row.spoil(builder);
    add_folder(kPeftConfig, row.name, builder);
  }
  for (const BadPeft& row : BadMlxFolders()) {
    PeftBuilder builder = MlxFolder();
    row.spoil(builder);
    add_folder(kMlxConfig, row.name, builder);
  }
  add(kPeftConfig, "patterns", R"json({"peft_type":"LORA","r":8,"lora_alpha":6,"target_modules":".*(q_proj|down_proj)",)json"
                               R"json("rank_pattern":{"q_proj":2,".*mlp.*":2},"alpha_pattern":{"^model\\.layers\\.1\\.":4}})json");
  add(kGguf, "gguf", SmallGgufAdapter().Build());
  for (const BadGgufAdapter& row : BadGgufAdapters()) {
    GgufBuilder builder = SmallGgufAdapter();
    row.spoil(builder);
    add(kGguf, row.name, builder.Build());
  }
  for (const char* pattern : {"q_proj", ".*\\.(0|1)\\.self_attn\\.[qv]_proj", "^a{2,5}?$", "(?=a)[^b-d\\d]+|\\w*\\b", "(?!x)(?P<n>y)?",
                              "((((a))))",
                              "a{65536}", "a{2}{3}{99}", "(", "[z-a]", "\\1", "(?<=a)", "a**", "\xff", "\\A.\\Z", ""}) {
    add(kPattern, "pattern", std::string(pattern) + '\0' + "model.layers.1.self_attn.q_proj");
  }
  return seeds;
}

}  // namespace tessera

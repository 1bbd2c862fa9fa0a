#include "tessera/runtime/plan/phone_report.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "glog/logging.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"
#include "tessera/model/files/known_shapes.h"
#include "tessera/model/files/model_file.h"
#include "tessera/npu/device.h"
#include "tessera/npu/modeled/place_operators.h"

namespace tessera {

namespace {

absl::Status CheckRange(absl::string_view name, int64_t found, int64_t least, int64_t most) {
  if (found >= least && found <= most) return absl::OkStatus();
  return WrongUsage(name, found, absl::StrCat(least, " to ", most));
}

constexpr size_t kMostTasks = 1000;

absl::Status CheckQuestion(const PhoneQuestion& question) {
  RETURN_IF_ERROR(CheckRange("prompt", question.prompt, 1, kMostPhoneTokens));
  RETURN_IF_ERROR(CheckRange("decode", question.decode, 1, kMostPhoneTokens));
  RETURN_IF_ERROR(CheckRange("context", question.context, 1, kMostPhoneTokens));
  RETURN_IF_ERROR(CheckRange("chunk_rows", question.chunk_rows, 0, kMostPhoneRows));
  RETURN_IF_ERROR(CheckRange("adapter_rank", question.adapter_rank, 0, kLargestAdapterRank));
  for (const int rank : question.lora_ranks) RETURN_IF_ERROR(CheckRange("lora_ranks", rank, 1, kLargestAdapterRank));
  if (question.lora_ranks.size() > kMostTasks) {
    return WrongUsage("lora_ranks", absl::StrCat(question.lora_ranks.size(), " of them"), absl::StrCat("at most ", kMostTasks));
  }
  if (!question.lora_ranks.empty() && question.adapter_rank > 0) return WrongUsage("adapter_rank", "beside lora_ranks", "one of them");
  if (question.rows.empty()) return WrongUsage("rows", "none", "at least one number");
  for (const int rows : question.rows) RETURN_IF_ERROR(CheckRange("rows", rows, 1, kMostPhoneRows));
  if (question.context < question.prompt + question.decode) {
    return WrongUsage("context", question.context,
                      absl::StrCat("at least ", question.prompt + question.decode, " for prompt and decoding together"));
  }
  return absl::OkStatus();
}

// Decoding token by token: time is a smooth function of the position, so that a few positions stand for all.
absl::StatusOr<double> DecodeSeconds(const PassCoster& coster, const PhoneQuestion& question) {
  constexpr int kPlaces = 16;
  double seconds = 0;
  const int places = std::min(kPlaces, question.decode);
  for (int i = 0; i < places; ++i) {
    const int position = question.prompt + 1 + static_cast<int>((i + 0.5) * question.decode / places);
    ASSIGN_OR_RETURN(const PassCost pass, coster.Of({.rows = 1, .positions = std::min(position, question.context)}));
    seconds += pass.seconds * question.decode / places;
  }
  return seconds;
}

// What the question names, or wrong usage of the field that names it.
template <typename T>
absl::StatusOr<T> Named(absl::string_view field, absl::StatusOr<T> found) {
  if (!found.ok()) return ForField(field, found.status());
  return found;
}

// A known shape, or a file that is packed or not.
struct OpenedShape {
  static absl::StatusOr<OpenedShape> Of(const PhoneQuestion& question) {
    OpenedShape opened;
    if (question.model.empty()) {
      ASSIGN_OR_RETURN(opened.known, Named("shape", OpenKnownShape(question.shape)));
    } else {
      ASSIGN_OR_RETURN(opened.file, ModelFile::Open(question.model));
    }
    return opened;
  }
  const GgufFile& gguf() const { return known != nullptr ? *known : file->gguf(); }

  std::unique_ptr<GgufFile> known;
  std::unique_ptr<ModelFile> file;
};

// A chunk with the logits of its last row, and a row half-way through decoding.
PassShape ChunkOf(const PhoneQuestion& question) {
  return {.rows = question.chunk_rows, .positions = std::min(question.chunk_rows, question.prompt)};
}
PassShape RowOf(const PhoneQuestion& question) {
  return {.rows = 1, .positions = std::min(question.context, question.prompt + question.decode / 2 + 1)};
}

absl::Status Answer(const PassCoster& coster, PhoneReport& report) {
  const PhoneQuestion& question = report.question;
  ASSIGN_OR_RETURN(report.prompt, coster.OfPrompt(question.prompt, question.chunk_rows));
  for (const int rows : question.rows) {
    const int64_t positions = std::min<int64_t>(question.context, question.prompt + question.decode / 2 + rows);
    const PassShape shape = {.rows = rows, .positions = positions, .logit_rows = rows};
    ASSIGN_OR_RETURN(PassCost pass, coster.Of(shape));
    report.passes.push_back(std::move(pass));
    report.shapes.push_back(shape);
  }
  ASSIGN_OR_RETURN(report.decode_seconds, DecodeSeconds(coster, question));
  if (report.phone.style.static_graphs) {
    ASSIGN_OR_RETURN(report.forms, CostsByForm(coster, ChunkOf(question), RowOf(question)));
  }
  if (!question.lora_ranks.empty()) {
    const Phone& phone = report.phone;
    ASSIGN_OR_RETURN(report.lora_ways, CostsByLoraMode(coster, report.config, phone.profile, phone.style, question.lora_ranks,
                                                       ChunkOf(question), RowOf(question)));
  }
  report.bits_per_weight = coster.bits_per_weight();
  report.memory = coster.memory();
  report.sessions = coster.sessions();
  report.load_seconds = coster.LoadSeconds();
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Phone> PhoneOf(absl::string_view text) {
  const std::vector<std::string> parts = absl::StrSplit(text, ':');
  if (parts.size() > 3) {
    return absl::InvalidArgumentError(absl::StrCat("found ", text, ", expected PHONE, PHONE:STYLE or PHONE:STYLE:MODE"));
  }
  Phone phone;
  ASSIGN_OR_RETURN(phone.profile, LoadDeviceProfile(parts[0]));
  if (parts.size() > 1) {
    ASSIGN_OR_RETURN(phone.style, ExecutionStyleByName(parts[1]));
  }
  if (parts.size() > 2) {
    ASSIGN_OR_RETURN(phone.profile, InMode(phone.profile, parts[2]));
  }
  return phone;
}

std::string RecipeOfStyle(const ExecutionStyle& style) {
  if (!style.static_graphs) return "001";
  return style.shared_weights ? "qnn" : "int8-channel-a8";
}

int ChunkRowsOfStyle(const ExecutionStyle& style) { return !style.static_graphs ? 512 : style.shared_weights ? 128 : 256; }

double PhoneReport::RelativeEnergy(size_t index) const {
  size_t one = 0;
  for (size_t i = 0; i < question.rows.size(); ++i) {
    if (question.rows[i] < question.rows[one]) one = i;
  }
  const auto of_token = [&](size_t i) { return passes[i].joules / question.rows[i]; };
  return of_token(index) / of_token(one);
}

absl::StatusOr<PhoneReport> MakePhoneReport(PhoneQuestion question) {
  RETURN_IF_ERROR(CheckQuestion(question));
  PhoneReport report;
  ASSIGN_OR_RETURN(report.phone, Named("device", PhoneOf(question.device)));
  const ExecutionStyle& style = report.phone.style;
  if (!question.lora_ranks.empty() && !style.static_graphs) {
    return WrongUsage("lora_ranks", absl::StrCat("with style ", style.name),
                      "static or unshared: by mailbox operators take adapters as they are");
  }
  if (question.recipe.empty()) question.recipe = RecipeOfStyle(style);
  if (question.chunk_rows == 0) question.chunk_rows = ChunkRowsOfStyle(style);
  ASSIGN_OR_RETURN(const OpenedShape opened, OpenedShape::Of(question));
  const GgufFile* const shape = &opened.gguf();
  ASSIGN_OR_RETURN(report.config, ReadModelConfig(*shape));
  ASSIGN_OR_RETURN(const WeightRecipe recipe, Named("recipe", WeightRecipe::Parse(question.recipe)));
  ASSIGN_OR_RETURN(const WeightLayout layout,
                   WeightLayout::Plan(*shape, report.config, WeightEncoding::kPacked));
  const PassCoster::Options options = {
      .style = style,
      .context = question.context,
      .most_rows = std::max(question.chunk_rows, *std::max_element(question.rows.begin(), question.rows.end())),
      .adapter_rank = question.adapter_rank};
  ASSIGN_OR_RETURN(report.coster, PassCoster::Create(report.config, layout, recipe, report.phone.profile, options));
  if (!question.lora_ranks.empty()) {
    const int rank = ComputedRank(question.lora_mode, question.lora_ranks);
    report.coster = report.coster->WithAdapters(rank, question.lora_mode == LoraMode::kMask);
  }
  report.question = std::move(question);
  RETURN_IF_ERROR(Answer(*report.coster, report));
  return report;
}

int64_t RecordPass(const PhoneReport& report, size_t index, Timeline& timeline) {
  const PassCost& pass = report.passes[index];
  int64_t begin_ns = NanosOf(pass.call_seconds);
  int32_t number = 0;
  const absl::Status walked = report.coster->Walk(report.shapes[index], [&](int layer, const Graph& graph, const GraphCost& cost) {
    const std::vector<std::string> labels = OperatorLabels(graph);
    const int64_t rows = report.shapes[index].rows;
    const int64_t end_ns = PlaceOperators(cost, begin_ns, timeline, {.labels = labels, .layer = layer, .rows = rows, .first = number});
    timeline.Record({Zone::kGraphRun, Resource::kNpu, layer, begin_ns, end_ns});
    begin_ns = end_ns;
    number += static_cast<int32_t>(cost.operators.size());
  });
  CHECK(walked.ok()) << walked.ToString() << ", of a pass that had a cost before";
  timeline.Record({Zone::kPass, Resource::kCpu, report.question.rows[index], 0, begin_ns});
  return begin_ns;
}

}  // namespace tessera

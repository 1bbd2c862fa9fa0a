// tessera_quantize statistics: collects statistics of a model's activations over a text.
#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tessera/apps/cli/app_main.h"
#include "tessera/apps/cli/flags/engine_flags.h"
#include "tessera/apps/cli/screen/pass_progress.h"
#include "tessera/apps/cli/text/input.h"
#include "tessera/apps/cli/text/output.h"
#include "tessera/apps/cli/warnings.h"
#include "tessera/apps/plan/dry_run.h"
#include "tessera/apps/quantize/subcommands.h"
#include "tessera/base/file.h"
#include "tessera/base/json_writer.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/table.h"
#include "tessera/base/usage_error.h"
#include "tessera/model/files/importance.h"
#include "tessera/model/files/tensor_names.h"
#include "tessera/npu/reference/reference_device.h"

namespace tessera {
namespace {

using Windows = std::vector<std::vector<TokenId>>;

absl::StatusOr<Windows> WindowsOfText(const Tokenizer& tokenizer, const std::string& text) {
  const std::vector<TokenId> tokens = tokenizer.Encode(text);
  if (tokens.empty()) return absl::InvalidArgumentError("text: found 0 tokens, expected at least 1");
  const bool add_bos = tokenizer.adds_bos() && tokenizer.bos().has_value();
  const size_t of_text = static_cast<size_t>(FLAGS_window) - (add_bos ? 1 : 0);
  Windows windows;
  for (size_t begin = 0; begin < tokens.size(); begin += of_text) {
    const size_t end = std::min(tokens.size(), begin + of_text);
    std::vector<TokenId> window;
    if (add_bos) window.push_back(*tokenizer.bos());
    window.insert(window.end(), tokens.begin() + static_cast<std::ptrdiff_t>(begin), tokens.begin() + static_cast<std::ptrdiff_t>(end));
    windows.push_back(std::move(window));
  }
  return windows;
}

int64_t TokensOf(const Windows& windows) {
  int64_t tokens = 0;
  for (const std::vector<TokenId>& window : windows) tokens += static_cast<int64_t>(window.size());
  return tokens;
}

// Collects sums of squares of each matrix's inputs.
class Collector {
 public:
  // Registers the matrices to watch. Graphs hold no layer number, so a product is known by the place of the weights, which do not move. A
  // matrix that is cut into several parts reads the same rows with each part, so only the first part counts. REQUIRES: the engine's weights
  // are resident.
  absl::Status Watch(const LoadedModel& model) {
    const WeightLayout& layout = model.layout();
    for (int unit = 0; unit < layout.units(); ++unit) {
      ASSIGN_OR_RETURN(const WeightLease lease, model.weights().Acquire(unit));
      for (const WeightLayout::Placed& placed : layout.PartsOfUnit(unit)) {
        const TensorPart& part = *placed.part;
        if (part.weight.vector || part.first_row > 0) continue;
        Sums& sums = by_tensor_[*placed.tensor];
        sums.squares.assign(static_cast<size_t>(part.weight.spec.in_features), 0.0);
        by_place_[lease.bytes().data() + part.offset] = &sums;
      }
    }
    return absl::OkStatus();
  }

  void Observe(const ReferenceDevice::ProductInput& input) {
    const auto found = by_place_.find(input.bytes.data());
    if (found == by_place_.end()) return;
    Sums& sums = *found->second;
    sums.rows += input.x.rows();
    for (int64_t r = 0; r < input.x.rows(); ++r) {
      const float* const row = input.x.row(r);
      for (size_t i = 0; i < sums.squares.size(); ++i) sums.squares[i] += double{row[i]} * row[i];
    }
  }

  // Returns the means. InvalidArgument (tensor, input, found) if a mean is not finite: a NaN or an infinity was among the activations.
  absl::StatusOr<Importance> Finish() const {
    Importance importance;
    for (const auto& [tensor, sums] : by_tensor_) {
      if (sums.rows == 0) continue;   // An embedding table that is not the head is no factor of a product.
      Importance::Entry entry = {.rows = sums.rows};
      for (const double square : sums.squares) entry.mean_squares.push_back(static_cast<float>(square / static_cast<double>(sums.rows)));
      RETURN_IF_ERROR(importance.Add(tensor, std::move(entry)));
    }
    return importance;
  }

 private:
  struct Sums {
    std::vector<double> squares = {};
    int64_t rows = 0;
  };
  std::map<std::string, Sums> by_tensor_;                          // Elements do not move.
  absl::flat_hash_map<const std::byte*, Sums*> by_place_;
};

// Reads the windows. Asks for the logits of every row, and ignores the logits, so that the last layer and the head compute all rows, too.
absl::Status ReadWindows(Engine& engine, const Windows& windows) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Session> session, engine.NewSession());
  PassProgress progress(engine, "tokens", TokensOf(windows), /*flash=*/0);
  for (const std::vector<TokenId>& window : windows) {
    session->Truncate(0);
    RETURN_IF_ERROR(session->AppendEach(window, [](int, absl::Span<const float>) { return absl::OkStatus(); }));
  }
  return absl::OkStatus();
}

// All matrices of one kind, such as ffn_up.weight, in all layers.
struct Kind {
  int tensors = 0;
  int64_t inputs = 0;
  double least = 0, mean = 0, most = 0;   // Mean squares; `mean` is over all inputs.
};

std::map<std::string, Kind> KindsOf(const Importance& importance, const ModelConfig& config) {
  std::map<std::string, Kind> kinds;
  for (const TensorNeed& need : AllNeeds(config)) {
    const absl::Span<const float> squares = importance.Of(need.name);
    if (squares.empty()) continue;
    Kind& kind = kinds[need.label];
    const auto [least, most] = std::minmax_element(squares.begin(), squares.end());
    kind.least = kind.tensors == 0 ? *least : std::min<double>(kind.least, *least);
    kind.most = std::max<double>(kind.most, *most);
    for (const float square : squares) kind.mean += square;
    kind.inputs += static_cast<int64_t>(squares.size());
    ++kind.tensors;
  }
  for (auto& [label, kind] : kinds) kind.mean /= static_cast<double>(kind.inputs);
  return kinds;
}

absl::Status Show(const Importance& importance, const ModelConfig& config, const Windows& windows) {
  const std::map<std::string, Kind> kinds = KindsOf(importance, config);
  if (FLAGS_json) {
    JsonWriter json;
    json.BeginObject().Key("path").String(FLAGS_out).Key("tokens").Int(TokensOf(windows));
    json.Key("windows").Int(static_cast<int64_t>(windows.size())).Key("window").Int(FLAGS_window);
    json.Key("tensors").Int(static_cast<int64_t>(importance.entries().size())).Key("kinds").BeginArray();
    for (const auto& [label, kind] : kinds) {
      json.BeginObject().Key("kind").String(label).Key("tensors").Int(kind.tensors).Key("inputs").Int(kind.inputs);
      json.Key("least").Double(kind.least).Key("mean").Double(kind.mean).Key("most").Double(kind.most).EndObject();
    }
    json.EndArray().Key("seconds").Double(SecondsSinceStart(), 4).EndObject();
    return WriteOutput(std::move(json).Take() + "\n");
  }
  Table what({{"what"}, {"value"}});
  what.AddRow({"file", FLAGS_out});
  what.AddRow({"text", absl::StrCat(TokensOf(windows), " tokens in ", windows.size(), " windows")});
  what.AddRow({"time", absl::StrFormat("%.2f s", SecondsSinceStart())});
  Table squares({{"mean square of inputs"}, {"tensors", Table::Align::kRight}, {"least", Table::Align::kRight},
                 {"mean", Table::Align::kRight}, {"most", Table::Align::kRight}});
  for (const auto& [label, kind] : kinds) {
    squares.AddRow({label, absl::StrCat(kind.tensors), absl::StrFormat("%.3g", kind.least), absl::StrFormat("%.3g", kind.mean),
                    absl::StrFormat("%.3g", kind.most)});
  }
  return WriteOutput(absl::StrCat(what.ToString(), "\n", squares.ToString()));
}

absl::Status CheckOut(const std::string& path) {
  if (path.empty()) return WrongUsage("out", "none", "a file to write");
  return ForFile("out", CheckWritable(path));
}

std::string NameOfText() { return FLAGS_prompt_file.empty() ? IsGiven("prompt") ? "--prompt" : "standard input" : FLAGS_prompt_file; }

absl::Status Collect(EngineOptions options) {
  ASSIGN_OR_RETURN(const std::string text, ReadPrompt());
  Collector collector;   // Outlives the engine, whose device calls the collector.
  options.compute.make_device = [&collector](ThreadPool& pool) -> absl::StatusOr<std::unique_ptr<Device>> {
    return std::make_unique<ReferenceDevice>(
        &pool, ReferenceDevice::Options{[&collector](const ReferenceDevice::ProductInput& input) { collector.Observe(input); }});
  };
  ASSIGN_OR_RETURN(const std::unique_ptr<Engine> engine, Engine::Open(options));
  WarnOfShortages(*engine);
  ASSIGN_OR_RETURN(const Windows windows, WindowsOfText(engine->tokenizer(), text));
  RETURN_IF_ERROR(engine->LoadWeights());
  RETURN_IF_ERROR(collector.Watch(engine->model()));
  const GgufFile& gguf = engine->model().gguf();
  ASSIGN_OR_RETURN(Importance::ModelMark mark, Importance::MarkOf(gguf, engine->config()));
  RETURN_IF_ERROR(ReadWindows(*engine, windows));
  ASSIGN_OR_RETURN(Importance importance, collector.Finish());
  importance.SetText({{NameOfText()}, static_cast<uint32_t>(windows.size()), static_cast<uint32_t>(FLAGS_window)});
  importance.SetMark(std::move(mark));
  RETURN_IF_ERROR(importance.CheckFits(gguf, engine->config()));
  RETURN_IF_ERROR(importance.Write(FLAGS_out));
  return Show(importance, engine->config(), windows);
}

absl::Status Run() {
  RETURN_IF_ERROR(CheckFlagRange("window", FLAGS_window, 2, 1 << 20));
  ASSIGN_OR_RETURN(EngineOptions options, EngineOptionsOfFlags(/*timeline=*/nullptr));
  RETURN_IF_ERROR(OpenGgufModel().status());   // A packed model's weights differ from the weights of the file to be quantized.
  if (!FLAGS_dry_run || !FLAGS_out.empty()) RETURN_IF_ERROR(CheckOut(FLAGS_out));
  options.compute.path = ComputePath::kReference;
  options.cache.context = FLAGS_window;
  options.workload.logit_rows = Session::kLogitRows + 1;
  options.workload.logits_of_each = true;
  if (!FLAGS_dry_run) return Collect(std::move(options));
  return ShowLoadPlan(options, [](const Engine& engine, const std::string& text) -> absl::StatusOr<int64_t> {
    ASSIGN_OR_RETURN(const Windows windows, WindowsOfText(engine.tokenizer(), text));
    return TokensOf(windows);
  });
}

}  // namespace

Command CollectStatistics() {
  return {{.subcommand = "statistics",
          .summary = "Collects statistics of activations over a text: the mean square of each input of each matrix, by which errors of "
                     "quantized weights are weighed. The whole text is computed in FP32, in windows that begin with BOS where the "
                     "model asks for it, each from an empty cache; the last may be shorter. The file is GGUF, as that of llama-imatrix.",
          .examples = {"tessera_quantize statistics --prompt_file=text.txt --out=statistics.gguf model.gguf",
                       "tessera_quantize statistics --window=256 --json model.gguf statistics.gguf < text.txt"},
          .groups = {{"Text", {"prompt", "prompt_file", "window"}},
                     {"Model", {"model", "threads"}},
                     {"Output", {"out", "dry_run", "json"}}},
          .plain_arguments = {"model", "out"}},
          Run};
}

}  // namespace tessera

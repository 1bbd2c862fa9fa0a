// Sliding windows: the width, the layers with a window, and the rotation of these layers.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/files/internal/architecture.h"

namespace tessera {
namespace {

constexpr uint64_t kWidestWindow = 1 << 24;  // Beyond every context: a wider window attends to all positions.

class WindowReader {
 public:
  WindowReader(const GgufFile& file, const FileDefaults& defaults, ModelConfig& config)
      : file_(file), defaults_(defaults), config_(config), width_key_(Full("attention.sliding_window")),
        pattern_key_(Full("attention.sliding_window_pattern")) {}

  absl::Status Read() {
    ASSIGN_OR_RETURN(const uint64_t width, file_.UintOr(width_key_, 0));
    ASSIGN_OR_RETURN(const std::vector<bool> windowed, Windowed(width));
    if (std::find(windowed.begin(), windowed.end(), true) == windowed.end()) {
      // If the file names a width and no layers, the layers do not matter while all positions lie in the window.
      if (file_.Find(pattern_key_) == nullptr && width > 0) config_.longest_context = static_cast<int>(std::min(width, kWidestWindow));
      return absl::OkStatus();
    }
    if (width == 0) return file_.Unexpected(pattern_key_, absl::StrCat("no layer with a window, since ", width_key_, " gives no width"));
    ASSIGN_OR_RETURN(const int rope, RopeOfWindows());
    for (size_t i = 0; i < windowed.size(); ++i) {
      if (windowed[i]) config_.layers[i] = LayerConfig{rope, static_cast<int>(std::min(width, kWidestWindow))};
    }
    return absl::OkStatus();
  }

 private:
  std::string Full(absl::string_view key) const { return absl::StrCat(config_.architecture, ".", key); }

  // Returns, by layer, true for a window.
  absl::StatusOr<std::vector<bool>> Windowed(uint64_t width) const {
    const GgufValue* const pattern = file_.Find(pattern_key_);
    if (pattern != nullptr && pattern->type == GgufType::kArray) return Listed(*pattern);
    if (pattern != nullptr) {
      ASSIGN_OR_RETURN(const uint64_t period, file_.Uint(pattern_key_));
      return EveryLayerBut(period);
    }
    if (width == 0) return std::vector<bool>(config_.layers.size());
    if (defaults_.window_period > 0) return EveryLayerBut(static_cast<uint64_t>(defaults_.window_period));
    if (width >= static_cast<uint64_t>(config_.context_length)) return std::vector<bool>(config_.layers.size());  // See Read.
    return file_.WrongValue(width_key_, absl::StrCat("found ", width, ", expected 0, or at least the context length ",
                                                     config_.context_length, ", or a key ", pattern_key_,
                                                     " that says which layers have the window"));
  }

  // Returns a window for each layer, except the last of each period; period 0: all layers have a window.
  std::vector<bool> EveryLayerBut(uint64_t period) const {
    std::vector<bool> windowed(config_.layers.size(), true);
    for (uint64_t i = period; period > 0 && i <= windowed.size(); i += period) windowed[i - 1] = false;
    return windowed;
  }

  // Reads a list of booleans, or of 0 and 1, one for each layer.
  absl::StatusOr<std::vector<bool>> Listed(const GgufValue& pattern) const {
    if (pattern.count != config_.layers.size()) {
      return file_.Unexpected(pattern_key_, absl::StrCat("a number, or one entry for each of ", config_.layers.size(), " layers"));
    }
    if (pattern.element_type == GgufType::kBool) return file_.Bools(pattern_key_);
    ASSIGN_OR_RETURN(const std::vector<int32_t> numbers, file_.Ints(pattern_key_));
    std::vector<bool> windowed(numbers.size());
    for (size_t i = 0; i < numbers.size(); ++i) {
      windowed[i] = numbers[i] == 1;
      if (numbers[i] == 0 || numbers[i] == 1) continue;
      return file_.WrongValue(pattern_key_, absl::StrCat("found ", numbers[i], ", expected 0 or 1"), static_cast<int64_t>(i));
    }
    return windowed;
  }

  // Returns the index of the rotation of layers with a window. Adds the rotation if it differs from the rotation of the other layers.
  absl::StatusOr<int> RopeOfWindows() {
    if (defaults_.window_rope_base == 0) return 0;
    const std::string key = Full("rope.freq_base_swa"), other = Full("rope.local.freq_base");  // Key of Ollama's converter.
    RopeConfig local = config_.ropes[0];
    local.scaling = RopeConfig::Scaling::kNone;  // Only layers without a window scale.
    local.frequency_factors.clear();
    ASSIGN_OR_RETURN(local.base, FloatOfEither(file_, key, other, defaults_.window_rope_base));
    const absl::Status usable = RopeTable::Create(local).status();
    // Everything except the base was checked with the other layers.
    const std::string& found = file_.Find(key) == nullptr ? other : key;
    if (!usable.ok()) return file_.WrongValue(found, absl::StripPrefix(usable.message(), "rope.freq_base: "));
    config_.ropes.push_back(local);
    return 1;
  }

  const GgufFile& file_;
  const FileDefaults& defaults_;
  ModelConfig& config_;
  const std::string width_key_, pattern_key_;
};

}  // namespace

absl::Status ReadWindows(const GgufFile& file, const FileDefaults& defaults, ModelConfig& config) {
  return WindowReader(file, defaults, config).Read();
}

}  // namespace tessera

// What the runtime keeps in small files and reads again: a switch profile, and the notes of a session. Either is refused in words that name
// it and can be shown, or is consistent, and the same after it was written and read again.
//
// An input's first byte says which of the two follows.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "tessera/base/length_prefixed_strings.h"
#include "tessera/runtime/chat/saved_text.h"
#include "tessera/runtime/engine/switching/switch_profile.h"
#include "tessera/tests/fuzz/fuzz_bytes.h"
#include "tessera/tests/fuzz/fuzz_target.h"
#include "tessera/tests/fuzz/refusal.h"

namespace tessera {
namespace {

constexpr char kSwitch = 0, kNotes = 1;
constexpr int kKinds = 2, kVocabulary = 265;

void CheckSame(const SwitchProfile& a, const SwitchProfile& b) {
  CHECK(a.device == b.device && a.model == b.model && a.graphs.size() == b.graphs.size());
  for (size_t i = 0; i < a.graphs.size(); ++i) {
    const GraphTimes &x = a.graphs[i], &y = b.graphs[i];
    CHECK(x.rows == y.rows && x.run_seconds == y.run_seconds && x.load_seconds == y.load_seconds && x.fixed_seconds == y.fixed_seconds);
  }
}

// Blocks of all layers, in order.
void CheckChoice(const SwitchProfile& profile) {
  const int rows = profile.graphs.back().rows;
  const int layers = static_cast<int>(profile.graphs[0].run_seconds.size());
  CHECK(profile.Check({.device = profile.device, .model = profile.model, .layers = layers}, {rows}).ok());
  CHECK(!profile.Check({.device = profile.device + "x", .model = profile.model, .layers = layers}, {rows}).ok());
  CHECK(!profile.Check({.device = profile.device, .model = profile.model, .layers = layers + 1}, {rows}).ok());
  const auto choice = ChooseSwitch(profile.graphs, {.prefill_rows = {rows}, .decode_rows = {profile.graphs[0].rows}, .blocks = 1});
  if (!choice.ok()) return;
  CHECK(choice->ends == std::vector<int>{layers} && choice->seconds() >= 0) << choice->seconds();
}

absl::Status UseSwitch(const std::string& text) {
  const auto profile = SwitchProfile::Parse(text, "switch.json");
  if (!profile.ok()) return Refused(profile.status(), "switch.json: ");
  CHECK(CheckGraphTimes(profile->graphs).ok());
  CheckChoice(*profile);
  const auto again = SwitchProfile::Parse(profile->ToJson(), "again.json");
  CHECK(again.ok()) << again.status();
  CheckSame(*profile, *again);
  return absl::OkStatus();
}

absl::Status UseNotes(const std::string& notes) {
  const auto text = SavedText::Parse(notes, "input", kVocabulary);
  if (!text.ok()) {
    CHECK(absl::IsDataLoss(text.status())) << text.status();
    return Refused(text.status(), "input: notes: ");
  }
  CHECK(text->is_dialogue ? text->next.empty() : text->messages.empty());
  for (const TokenId token : text->next) CHECK(token >= 0 && token < kVocabulary) << token;
  CHECK(notes.empty() || text->Notes() == notes);
  return absl::OkStatus();
}

std::string Notes(const std::vector<std::string>& strings) {
  std::string notes(1, kNotes);
  for (const std::string& string : strings) AppendLengthPrefixed(string, notes);
  return notes;
}

}  // namespace

absl::Status RunInput(absl::Span<const std::byte> input) {
  FuzzBytes bytes(input);
  return bytes.Below(kKinds) == kSwitch ? UseSwitch(bytes.Rest()) : UseNotes(bytes.Rest());
}

std::vector<FuzzSeed> Seeds() {
  SwitchProfile good = {.device = "8gen3, 2 threads", .model = Sha256Of("model")};
  good.graphs = {{.rows = 32, .run_seconds = {0.01, 0.02}, .load_seconds = {0.3, 0.25}, .fixed_seconds = 0.2},
                 {.rows = 256, .run_seconds = {0.03, 0.04}, .load_seconds = {0.5, 0.5}}};
  const std::string text = std::string(1, kSwitch) + good.ToJson();
  std::vector<FuzzSeed> seeds = {{"switch", text}, {"nothing", std::string(1, kSwitch)}};
  for (size_t cut = 2; cut < text.size(); cut += 41) seeds.push_back({absl::StrCat("switch_cut_", cut), text.substr(0, cut)});
  for (const char* found : {"3", "32", "256", "0.01", "0.3", "0.2", "\"8gen3, 2 threads\"", "["}) {
    for (const char* other : {"null", "-1", "0", "1e300", "65537", "\"x\"", "[]", "{}", "[[", "33", "256"}) {
      std::string spoiled = text;
      spoiled.replace(spoiled.find(found), std::string(found).size(), other);
      seeds.push_back({absl::StrCat("switch_", seeds.size()), spoiled});
    }
  }
  const auto add = [&](const std::string& notes) { seeds.push_back({absl::StrCat("notes_", seeds.size()), notes}); };
  add(Notes({}));
  add(Notes({"text", std::string("\1\0\0\0\2\0\0\0", 8)}));
  add(Notes({"text", std::string("\xff\xff\xff\xff", 4)}));
  add(Notes({"text", "abc"}));
  add(Notes({"text"}));
  add(Notes({"text", "", ""}));
  add(Notes({"dialogue"}));
  add(Notes({"dialogue", "user", "2 + 2?", "assistant", "\xff\n"}));
  add(Notes({"dialogue", "user"}));
  add(Notes({"other\n"}));
  add(Notes({"dialogue", "user", "a"}) + std::string("\xff\xff\xff\xff\xff\xff\xff\xff", 8));
  add(Notes({"dialogue"}).substr(0, 5));
  return seeds;
}

}  // namespace tessera

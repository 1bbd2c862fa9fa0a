#include "tessera/model/files/forms_instead.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"

namespace tessera {
namespace {

// Matrices that take one format instead of another.
struct Group {
  BlockFormat wanted, taken;
  int matrices = 0;
  std::vector<std::string> kinds = {};   // "ffn_up", in the order of the file.
  std::set<int64_t> rows = {};

  void Add(const FormInstead& one) {
    ++matrices;
    rows.insert(one.row);
    absl::string_view kind = absl::StripSuffix(one.tensor, ".weight");
    if (absl::ConsumePrefix(&kind, "blk.")) kind.remove_prefix(std::min(kind.size(), kind.find('.') + 1));
    if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end()) kinds.emplace_back(kind);
  }

  std::string Text() const {
    return absl::StrCat(InfoOf(taken).name, " instead of ", InfoOf(wanted).name, " in ", matrices,
                        matrices == 1 ? " matrix (" : " matrices (", absl::StrJoin(kinds, ", "), "), whose rows of ",
                        absl::StrJoin(rows, " or "), " weights are no whole blocks of ", InfoOf(wanted).values_per_block);
  }
};

}  // namespace

std::vector<FormInstead> FormsInstead(const GgufFile& file, bool tied_head, const WeightRecipe& recipe) {
  std::vector<FormInstead> instead;
  for (const GgufTensor& tensor : file.tensors()) {
    if (tensor.shape.size() < 2) continue;
    const BlockFormat format = tensor.format->format;
    const WeightForm wanted = recipe.RuleFor(tensor.name, tied_head, format);
    const WeightForm taken = recipe.FormOf(tensor.name, tied_head, format, tensor.shape[0]);
    if (wanted == taken) continue;
    instead.push_back({.tensor = std::string(tensor.name), .wanted = wanted.format, .taken = taken.format, .row = tensor.shape[0]});
  }
  return instead;
}

std::string FormsInsteadText(absl::Span<const FormInstead> instead) {
  std::vector<Group> groups;
  for (const FormInstead& one : instead) {
    const auto same = [&](const Group& group) { return group.wanted == one.wanted && group.taken == one.taken; };
    auto found = std::find_if(groups.begin(), groups.end(), same);
    if (found == groups.end()) found = groups.insert(groups.end(), Group{one.wanted, one.taken});
    found->Add(one);
  }
  return absl::StrJoin(groups, "; ", [](std::string* out, const Group& group) { absl::StrAppend(out, group.Text()); });
}

}  // namespace tessera

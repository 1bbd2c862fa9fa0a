#include "tessera/apps/lab/papers/sdnpu/sdnpu_tables.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tessera/apps/lab/papers/figures/paper_order.h"
#include "tessera/apps/lab/papers/figures/published.h"
#include "tessera/apps/lab/papers/sdnpu/rejection_cases.h"

namespace tessera {

namespace {

constexpr const char* kAblation[] = {"npu", "npu_g", "npu_sd", "npu_g_sd", "full", "full_planned"};
constexpr const char* kCompared[] = {"npu", "cpu", "npu_sd", "cpu_sam", "npu_eagle", "cpu_eagle", "npu_lookup", "full", "full_planned"};
constexpr const char* kPapersPhone = "8gen2";   // Table 3's.

std::string Number(double value, int decimals = 1) { return absl::StrFormat("%.*f", decimals, value); }
std::string Percent(double share) { return absl::StrFormat("%.1f %%", 100 * share); }
const char* NameOf(absl::string_view system) { return SdnpuSystems()[SystemIndex(system)].name; }

std::vector<std::string> PublishedNotes(absl::string_view table) {
  std::vector<std::string> notes;
  for (const PublishedFact& fact : PublishedSdnpuFacts()) {
    if (fact.table != table) continue;
    notes.push_back(absl::StrCat("Published: ", fact.what, ": ", fact.value, " (", fact.source, ")", *fact.note == '\0' ? "" : "; ",
                                 fact.note, "."));
  }
  return notes;
}

std::vector<std::string> Notes(std::vector<std::string> own, absl::string_view table) {
  for (std::string& note : PublishedNotes(table)) own.push_back(std::move(note));
  return own;
}

std::optional<double> PublishedOf(const PublishedAblation& row, absl::string_view system) {
  const std::pair<absl::string_view, double> values[] = {
      {"npu", row.npu}, {"npu_g", row.npu_g}, {"npu_sd", row.npu_sd}, {"npu_g_sd", row.npu_g_sd}, {"full", row.full}};
  for (const auto& [key, value] : values) {
    if (system == key) return value;
  }
  return std::nullopt;
}

SdnpuTable SystemsTable() {
  SdnpuTable table = {.title = "Systems", .columns = {"system", "what it does"}, .texts = 2, .name = "systems"};
  for (const SdnpuSystem& system : SdnpuSystems()) table.rows.push_back({system.name, system.what});
  return table;
}

SdnpuTable AblationTable(const SdnpuReport& report) {
  SdnpuTable table = {
      .title = absl::StrCat("Ablation (table 3): ms per token, summary, ", report.ablation_phone),
      .notes = {"From the prompt's arrival to the last token, by tokens written: the papers call quotients of their per-token latency "
                "end-to-end speedup (section 4.2). Decoding: without the prompt and calibration, with waiting for graphs."},
      .columns = {"shape", "system", "ms per token", "published", "over full", "published over full", "decoding ms per token", "blocks"},
      .texts = 2,
      .name = "ablation"};
  for (const PublishedAblation& row : PublishedAblations()) {
    const SdnpuShape& shape = report.Phone(report.ablation_phone).Shape(row.shape);
    const double full = shape.On("summary", "full").milliseconds_per_token();
    for (const char* system : kAblation) {
      const SystemOnTask& on = shape.On("summary", system);
      const std::optional<double> published = report.ablation_phone == kPapersPhone ? PublishedOf(row, system) : std::nullopt;
      table.rows.push_back({row.shape, NameOf(system), Number(on.milliseconds_per_token(), 2), published ? Number(*published, 2) : "",
                            Number(full > 0 ? on.milliseconds_per_token() / full : 0, 2),
                            published ? Number(*published / row.full, 2) : "",
                            Number(on.decode_milliseconds_per_token(), 2), absl::StrCat(on.blocks)});
    }
  }
  return table;
}

SdnpuTable BreakdownTable(const SdnpuReport& report) {
  SdnpuTable table = {.title = absl::StrCat("Breakdown (figure 13): ms of a request, summary, ", report.breakdown_phone),
                      .notes = Notes({"Decoding's share: passes, drafting and waiting for graphs."}, "breakdown"),
                      .columns = {"shape", "system", "prompt", "waiting", "calibration", "drafting", "passes", "all", "decoding's share",
                                  "decoding cut"},
                      .texts = 2,
                      .name = "breakdown"};
  for (const SdnpuShape& shape : report.Phone(report.breakdown_phone).shapes) {
    const double npu = shape.On("summary", "npu").decode_milliseconds_per_token();
    for (const char* system : kCompared) {
      const SystemOnTask& on = shape.On("summary", system);
      const double scale = on.requests > 0 ? 1e3 / on.requests : 0, decode = on.decode_milliseconds_per_token();
      table.rows.push_back({shape.name, NameOf(system), Number(scale * on.seconds.prefill), Number(scale * on.seconds.switching),
                            Number(scale * on.seconds.calibration), Number(scale * on.seconds.drafting), Number(scale * on.seconds.decode),
                            Number(scale * on.seconds.total()),
                            Percent(on.seconds.total() > 0 ? decode / on.milliseconds_per_token() : 0),
                            Number(decode > 0 ? npu / decode : 0, 2)});
    }
  }
  return table;
}

SdnpuTable ChunksTable(const SdnpuReport& report) {
  SdnpuTable table = {.title = absl::StrCat("One graph for both (figure 5): ms per token, ", kMainShape, ", ", report.sweep_phone),
                      .notes = Notes({absl::StrFormat("Decoding with %.2f tokens per pass: recorded, sam+ours, summary.",
                                                      report.sweep_tokens_per_pass)},
                                     "chunks"),
                      .columns = {"rows of the graph", "reading", "decoding"},
                      .texts = 0,
                      .name = "chunks"};
  for (const ChunkPoint& point : report.chunks) {
    table.rows.push_back({absl::StrCat(point.rows), Number(point.prefill_milliseconds, 2), Number(point.decode_milliseconds, 2)});
  }
  return table;
}

SdnpuTable LengthsTable(const SdnpuReport& report) {
  SdnpuTable table = {.title = absl::StrCat("Draft length (figure 6): ms to check each row, ", kMainShape, ", ", report.sweep_phone),
                      .notes = Notes({absl::StrFormat("The CPU alone takes %.1f ms for one row.", report.cpu_milliseconds)}, "lengths"),
                      .columns = {"rows", "graph of just these rows", "graph of 32 rows"},
                      .texts = 0,
                      .name = "lengths"};
  for (const LengthPoint& point : report.lengths) {
    table.rows.push_back({absl::StrCat(point.rows), Number(point.own_milliseconds, 2), Number(point.shared_milliseconds, 2)});
  }
  return table;
}

// Makes a table of one phone: a row for each shape and task, a column for each system.
template <typename Cell>
SdnpuTable ByTask(const SdnpuPhone& phone, std::string name, std::string title, Cell cell) {
  SdnpuTable table = {.title = std::move(title), .columns = {"shape", "task"}, .texts = 2, .name = std::move(name)};
  for (const SdnpuSystem& system : SdnpuSystems()) table.columns.push_back(system.name);
  for (const SdnpuShape& shape : phone.shapes) {
    for (const char* task : kSdnpuTasks) {
      std::vector<std::string> row = {shape.name, task};
      for (const SdnpuSystem& system : SdnpuSystems()) row.push_back(cell(shape.On(task, system.key), shape.On(task, "full")));
      table.rows.push_back(std::move(row));
    }
  }
  return table;
}

void AddTasks(const SdnpuReport& report, std::vector<SdnpuTable>& tables) {
  for (const SdnpuPhone& phone : report.phones) {
    tables.push_back(ByTask(phone, "latency", absl::StrCat("Per-token latency (figure 10): ms per token, end to end, ", phone.name),
                            [](const SystemOnTask& on, const SystemOnTask&) { return Number(on.milliseconds_per_token()); }));
    tables.push_back(ByTask(phone, "requests", absl::StrCat("End-to-end latency: seconds of a request, ", phone.name),
                            [](const SystemOnTask& on, const SystemOnTask&) { return Number(on.seconds_per_request(), 2); }));
    tables.push_back(ByTask(phone, "energy", absl::StrCat("Energy (figure 11): of a request, as multiples of sd.npu's, ", phone.name),
                            [](const SystemOnTask& on, const SystemOnTask& full) {
                              return Number(full.joules > 0 ? on.joules / full.joules : 0, 2);
                            }));
  }
  tables[tables.size() - 3].notes = PublishedNotes("tasks");
  tables.back().notes = Notes({"Powers of the parts are assumed: only ratios are claimed."}, "energy");
}

SdnpuTable MemoryTable(const SdnpuReport& report) {
  SdnpuTable table = {.title = "Memory (figure 12): GB, alike on all phones",
                      .notes = Notes({"One graph of each block is there at a time. A drafter's own structures are not modeled."}, "memory"),
                      .columns = {"shape", "system", "weights of the NPU", "embedding and head", "copy for the CPU", "draft model",
                                  "keys and values", "activations", "all"},
                      .texts = 2,
                      .name = "memory"};
  const auto gigabytes = [](int64_t bytes) { return Number(static_cast<double>(bytes) / 1e9, 2); };
  for (const SdnpuShape& shape : report.phones.front().shapes) {
    for (const char* system : {"npu", "full", "cpu", "cpu_sam", "npu_eagle", "cpu_eagle"}) {
      const SystemMemory& memory = shape.memory[SystemIndex(system)];
      table.rows.push_back({shape.name, NameOf(system), gigabytes(memory.npu_weights), gigabytes(memory.cpu_weights),
                            gigabytes(memory.cpu_copy), gigabytes(memory.draft_model), gigabytes(memory.keys_and_values),
                            gigabytes(memory.activations), gigabytes(memory.total())});
    }
  }
  return table;
}

SdnpuTable RowsTable(const SdnpuReport& report) {
  SdnpuTable table = {.title = "Rows of passes: valid, wasted, underutilized; drafts by length; tokens per pass (table 4)",
                      .notes = Notes({"Recorded, of all rows that decode graphs have. The root is valid: it gives a token. A pass "
                                      "without a draft counts as a draft of no token, shorter than 8. Published tokens per pass are "
                                      "those of Qwen2.5-1.5B and Llama-3.2-1B."},
                                     "rows"),
                      .columns = {"drafter", "task", "valid", "wasted", "underutilized", "shorter than 8", "shorter than 32",
                                  "tokens per pass", "published"},
                      .texts = 2,
                      .name = "rows"};
  for (const DraftUsage& use : report.drafts) {
    const auto published = PublishedAcceptances();
    const auto found = std::find_if(published.begin(), published.end(), [&](const PublishedAcceptance& row) {
      return use.task == row.task && use.drafter == row.drafter;
    });
    table.rows.push_back({use.drafter, use.task.empty() ? "all" : use.task, Percent(use.valid), Percent(use.wasted),
                          Percent(use.underutilized), Percent(use.below_8), Percent(use.below_32), Number(use.tokens_per_pass, 2),
                          found == published.end() ? "" : absl::StrFormat("%.2f, %.2f", found->qwen, found->llama)});
  }
  return table;
}

// Tabulates rejected drafts. The papers' shares stand next to their task.
SdnpuTable RejectedTable(const SdnpuReport& report) {
  const auto facts = PublishedSdnpuFacts();
  const auto published = std::find_if(facts.begin(), facts.end(), [](const PublishedFact& fact) { return fact.table == "rejected"; });
  SdnpuTable table = {
      .title = "Rejected drafts (table 2): missing, synonym, redundant",
      .notes = Notes({absl::StrCat("Recorded: drafts that left the text, by what the whole text says. Missing: it goes on with the "
                                   "rejected token and more; synonym: with later ones; redundant: neither. At least ", kShortestSegment,
                                   " tokens, after at most ", kMostInserted, " others; the longest such segment decides. "
                                   "What +ours drafts is a tree: its likeliest path counts.")},
                     "rejected"),
      .columns = {"drafter", "task", "rejected drafts", "missing", "synonym", "redundant", "published"},
      .texts = 2,
      .name = "rejected"};
  for (const DraftUsage& use : report.drafts) {
    const auto share = [&](double value) { return use.rejected > 0 ? Percent(value) : std::string(); };
    table.rows.push_back({use.drafter, use.task.empty() ? "all" : use.task, absl::StrCat(use.rejected), share(use.missing),
                          share(use.synonym), share(use.redundant),
                          use.task == "summary" && published != facts.end() ? published->value : ""});
  }
  return table;
}

// Tabulates the share of waiting for graphs in decoding and in the whole time, where a graph is loaded after the prompt.
SdnpuTable SwitchesTable(const SdnpuReport& report) {
  SdnpuTable table = {.title = absl::StrCat("Switching after the prompt, rag, ", report.ablation_phone),
                      .notes = Notes({"NPU vanilla, and padded instead."}, "switches"),
                      .columns = {"shape", "waiting, of decoding", "waiting, of all", "delay of all without it",
                                  "padded decoding, times as slow"},
                      .name = "switching"};
  for (const SdnpuShape& shape : report.Phone(report.ablation_phone).shapes) {
    const SystemOnTask& npu = shape.On("rag", "npu");
    const double decode = npu.seconds.switching + npu.seconds.decode, all = npu.seconds.total(), waited = npu.seconds.switching;
    table.rows.push_back({shape.name, Percent(decode > 0 ? waited / decode : 0), Percent(all > 0 ? waited / all : 0),
                          Percent(all > waited ? waited / (all - waited) : 0),
                          Number(npu.seconds.decode > 0 ? shape.On("rag", "npu_padded").seconds.decode / npu.seconds.decode : 0, 2)});
  }
  return table;
}

SdnpuTable RulesTable(const SdnpuReport& report) {
  SdnpuTable table = {.title = absl::StrCat("Rules of switching (figure 8): ms of a request, ", kMainShape, ", ", report.ablation_phone),
                      .notes = {"The first summary text, full system, six blocks by all rules."},
                      .columns = {"rule", "prompt", "waiting", "until graphs are there", "passes", "all"},
                      .name = "rules"};
  for (const RulePoint& point : report.rules) {
    const RequestParts& seconds = point.seconds;
    table.rows.push_back({std::string(SwitchRuleName(point.rule)), Number(1e3 * seconds.prefill), Number(1e3 * seconds.switching),
                          Number(1e3 * (seconds.prefill + seconds.switching)), Number(1e3 * seconds.decode),
                          Number(1e3 * seconds.total())});
  }
  return table;
}

}  // namespace

std::vector<SdnpuTable> SdnpuTables(const SdnpuReport& report) {
  std::vector<SdnpuTable> tables = {SystemsTable(), AblationTable(report), BreakdownTable(report), ChunksTable(report),
                                    LengthsTable(report), RulesTable(report), SwitchesTable(report)};
  AddTasks(report, tables);
  tables.push_back(MemoryTable(report));
  tables.push_back(RowsTable(report));
  tables.push_back(RejectedTable(report));
  for (SdnpuTable& table : OrderTables(report.orders)) tables.push_back(std::move(table));
  return tables;
}

}  // namespace tessera

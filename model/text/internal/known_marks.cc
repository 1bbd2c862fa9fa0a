#include "tessera/model/text/internal/known_marks.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/strip.h"

namespace tessera {
namespace {

// The two lines of `<|end|>`: both formats end a part of an answer with this mark, and the answer with other marks.
constexpr KnownMark kMarks[] = {
    {"<|im_end|>", MarkRole::kEnds, "ChatML: Qwen, Yi, SmolLM, Hermes, Phi-4"},
    {"<|eot_id|>", MarkRole::kEnds, "Llama 3: the turn"},
    {"<|eom_id|>", MarkRole::kEnds, "Llama 3: a message before a tool answers"},
    {"<|end_of_text|>", MarkRole::kEnds, "Llama 3 and Granite: the text"},
    {"<|eot|>", MarkRole::kEnds, "Llama 4: the turn"},
    {"<|eom|>", MarkRole::kEnds, "Llama 4: a message before a tool answers"},
    {"<end_of_turn>", MarkRole::kEnds, "Gemma 1 to 3"},
    {"<turn|>", MarkRole::kEnds, "Gemma 4: the turn"},
    {"<|tool_response>", MarkRole::kEnds, "Gemma 4: the caller runs a tool and writes on"},
    {"<|endoftext|>", MarkRole::kEnds, "GPT-2 and many after it: the text"},
    {"<|end|>", MarkRole::kEnds, "Phi-3: the turn", false, {}, "<|call|>"},
    {"<|return|>", MarkRole::kEnds, "gpt-oss: the answer"},
    {"<|call|>", MarkRole::kEnds, "gpt-oss: the caller runs a tool"},
    {"<|flush|>", MarkRole::kEnds, "Solar Open: the answer"},
    {"<|calls|>", MarkRole::kEnds, "Solar Open: the caller runs tools"},
    {"<｜end▁of▁sentence｜>", MarkRole::kEnds, "DeepSeek"},
    {"<|EOT|>", MarkRole::kEnds, "DeepSeek Coder: the turn"},
    {"<|end_of_sentence|>", MarkRole::kEnds, "ERNIE"},
    {"<|END_OF_TURN_TOKEN|>", MarkRole::kEnds, "Command R: the turn"},
    {"<EOS_TOKEN>", MarkRole::kEnds, "Command R: the text"},
    {"<|end_of_turn|>", MarkRole::kEnds, "OpenChat, Starling"},
    {"[|endofturn|]", MarkRole::kEnds, "EXAONE"},
    {"<|endofturn|>", MarkRole::kEnds, "HyperCLOVA"},
    {"<|endofresponse|>", MarkRole::kEnds, "dots"},
    {"<|turn_end|>", MarkRole::kEnds, "Solar"},
    {"<|role_end|>", MarkRole::kEnds, "Ling"},
    {"<end_of_utterance>", MarkRole::kEnds, "SmolVLM, SmolDocling"},
    {"<seed:eos>", MarkRole::kEnds, "Seed-OSS"},
    {"<|eos|>", MarkRole::kEnds, "Hunyuan, Grok"},
    {"<｜hy_place▁holder▁no▁2｜>", MarkRole::kEnds, "Hunyuan, dense"},
    {"<|plamo:eos|>", MarkRole::kEnds, "PLaMo"},
    {"[e~[", MarkRole::kEnds, "MiniMax"},
    {"▁<EOT>", MarkRole::kEnds, "Code Llama: what fills the middle"},
    {"</s>", MarkRole::kEnds, "Llama 1 and 2, Mistral and their fine-tunes; in Gemma and Qwen a tag of HTML", true, "<s>"},
    {"<eos>", MarkRole::kEnds, "Gemma: the text", true, "<bos>"},
    {"<EOT>", MarkRole::kEnds, "fine-tunes of Code Llama", true},
    {"[EOS]", MarkRole::kEnds, "Kimi: the text", true, "[BOS]"},
    {"[EOT]", MarkRole::kEnds, "Kimi: the turn", true, "[BOS]"},

    {"<|fim_prefix|>", MarkRole::kFills, "Qwen, CodeGemma"},
    {"<|fim_suffix|>", MarkRole::kFills, "Qwen, CodeGemma"},
    {"<|fim_middle|>", MarkRole::kFills, "Qwen, CodeGemma"},
    {"<|fim_pad|>", MarkRole::kFills, "Qwen"},
    {"<|fim_repo|>", MarkRole::kFills, "Qwen"},
    {"<|repo_name|>", MarkRole::kFills, "Qwen: another repository begins"},
    {"<|file_sep|>", MarkRole::kFills, "Qwen: another file begins"},
    {"<|file_separator|>", MarkRole::kFills, "CodeGemma: another file begins"},
    {"<fim_prefix>", MarkRole::kFills, "StarCoder, Granite"},
    {"<fim_suffix>", MarkRole::kFills, "StarCoder, Granite"},
    {"<fim_middle>", MarkRole::kFills, "StarCoder, Granite"},
    {"<fim_pad>", MarkRole::kFills, "StarCoder, Granite"},
    {"<repo_name>", MarkRole::kFills, "StarCoder 2, SmolLM: another repository begins"},
    {"<reponame>", MarkRole::kFills, "StarCoder, Granite, SmolLM: another repository begins"},
    {"<file_sep>", MarkRole::kFills, "StarCoder 2, SmolLM: another file begins"},
    {"<fim-prefix>", MarkRole::kFills, "SantaCoder"},
    {"<fim-suffix>", MarkRole::kFills, "SantaCoder"},
    {"<fim-middle>", MarkRole::kFills, "SantaCoder"},
    {"<fim-pad>", MarkRole::kFills, "SantaCoder"},
    {"<fim-repo>", MarkRole::kFills, "descendants of SantaCoder"},
    {"<｜fim▁begin｜>", MarkRole::kFills, "DeepSeek"},
    {"<｜fim▁hole｜>", MarkRole::kFills, "DeepSeek"},
    {"<｜fim▁end｜>", MarkRole::kFills, "DeepSeek"},
    {"<|code_prefix|>", MarkRole::kFills, "GLM-4"},
    {"<|code_suffix|>", MarkRole::kFills, "GLM-4"},
    {"<|code_middle|>", MarkRole::kFills, "GLM-4"},
    {"<|prefix|>", MarkRole::kFills, "Falcon-H1"},
    {"<|suffix|>", MarkRole::kFills, "Falcon-H1"},
    {"<|middle|>", MarkRole::kFills, "Falcon-H1"},
    {"▁<PRE>", MarkRole::kFills, "Code Llama"},
    {"▁<SUF>", MarkRole::kFills, "Code Llama"},
    {"▁<MID>", MarkRole::kFills, "Code Llama"},
    {"<PRE>", MarkRole::kFills, "fine-tunes of Code Llama; else a tag of HTML", true},
    {"<SUF>", MarkRole::kFills, "fine-tunes of Code Llama", true},
    {"<MID>", MarkRole::kFills, "fine-tunes of Code Llama", true},
    {"<PAD>", MarkRole::kFills, "fine-tunes of Code Llama, Command R", true},
    {"<REPO>", MarkRole::kFills, "fine-tunes of Code Llama", true},
    {"[PREFIX]", MarkRole::kFills, "Codestral", true},
    {"[SUFFIX]", MarkRole::kFills, "Codestral", true},
    {"[MIDDLE]", MarkRole::kFills, "Codestral", true},
    {">>PREFIX<<", MarkRole::kFills, "Falcon", true},
    {">>SUFFIX<<", MarkRole::kFills, "Falcon", true},
    {">>MIDDLE<<", MarkRole::kFills, "Falcon", true},

    {"<start_of_turn>", MarkRole::kOpens, "Gemma 1 to 3"},
    {"<|turn>", MarkRole::kOpens, "Gemma 4"},
    {"[INST]", MarkRole::kOpens, "Mistral", true},
    {"[/INST]", MarkRole::kOpens, "Mistral", true},
};

// The names of HTML's elements. Gemma's vocabulary has a separate token for many tags of these elements, and people write such tags.
constexpr absl::string_view kHtmlNames[] = {
    "a",        "abbr",   "address",  "article", "aside",    "audio",  "b",       "base",     "bdi",    "bdo",      "big",
    "blockquote", "body", "br",       "button",  "canvas",   "caption", "center", "cite",     "code",   "col",      "colgroup",
    "data",     "datalist", "dd",     "del",     "details",  "dfn",    "dialog",  "div",      "dl",     "dt",       "em",
    "embed",    "fieldset", "figcaption", "figure", "font",  "footer", "form",    "h1",       "h2",     "h3",       "h4",
    "h5",       "h6",     "head",     "header",  "hgroup",   "hr",     "html",    "i",        "iframe", "img",      "input",
    "ins",      "kbd",    "label",    "legend",  "li",       "link",   "main",    "map",      "mark",   "menu",     "meta",
    "meter",    "nav",    "noscript", "object",  "ol",       "optgroup", "option", "output",  "p",      "param",    "picture",
    "pre",      "progress", "q",      "rp",      "rt",       "ruby",   "s",       "samp",     "script", "section",  "select",
    "slot",     "small",  "source",   "span",    "strike",   "strong", "style",   "sub",      "summary", "sup",     "svg",
    "table",    "tbody",  "td",       "template", "textarea", "tfoot", "th",      "thead",    "time",   "title",    "tr",
    "track",    "tt",     "u",        "ul",      "var",      "video",  "wbr",
};

// Returns the text between `begin` and `end`, if `text` has both at its ends; else an empty text.
absl::string_view Between(absl::string_view text, absl::string_view begin, absl::string_view end) {
  const bool is_between = text.size() > begin.size() + end.size() && absl::StartsWith(text, begin) && absl::EndsWith(text, end);
  return is_between ? text.substr(begin.size(), text.size() - begin.size() - end.size()) : absl::string_view();
}

bool IsHtmlTag(absl::string_view text) {
  absl::string_view name = Between(text, "<", ">");
  absl::ConsumePrefix(&name, "/");
  absl::ConsumeSuffix(&name, "/");
  return std::find(std::begin(kHtmlNames), std::end(kHtmlNames), name) != std::end(kHtmlNames);
}

bool HasSpace(absl::string_view text) { return std::any_of(text.begin(), text.end(), absl::ascii_isspace); }

}  // namespace

absl::Span<const KnownMark> KnownMarks() { return kMarks; }

bool HasBars(absl::string_view text) {
  const absl::string_view narrow = Between(text, "<|", "|>"), wide = Between(text, "<｜", "｜>"), square = Between(text, "[|", "|]");
  return !(narrow.empty() && wide.empty() && square.empty()) && !HasSpace(text);
}

bool HasBrackets(absl::string_view text) {
  const absl::string_view angles = Between(text, "<", ">"), inner = angles.empty() ? Between(text, "[", "]") : angles;
  return std::any_of(inner.begin(), inner.end(), absl::ascii_isalpha) && !HasSpace(inner);
}

bool IsMarkByForm(absl::string_view text) {
  const bool letter = text.size() == 3 && text[0] == '[';
  return HasBars(text) || (HasBrackets(text) && !IsHtmlTag(text) && !letter);
}

bool MayBeMark(absl::string_view text) {
  const auto punctuation = [](char c) { return absl::ascii_ispunct(static_cast<unsigned char>(c)); };
  return text.size() >= 3 && punctuation(text.front()) && punctuation(text.back()) &&
         std::any_of(text.begin(), text.end(), absl::ascii_isalpha);
}

}  // namespace tessera

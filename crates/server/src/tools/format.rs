//! How models write reasoning and tool calls, as their chat templates tell.

/// The notation of a family's tool calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// `<tool_call>{"name": …, "arguments": …}</tool_call>` (Hermes, Qwen, SmolLM and others), or XML between the same
    /// tags (Qwen3-Coder, Qwen3.5).
    Tagged,
    /// `[TOOL_CALLS][{"name": …, "arguments": …}]`: Mistral.
    List,
    /// `[TOOL_CALLS]name[ARGS]{…}`: Mistral since the end of 2024.
    Named,
    /// `{"name": …, "parameters": …}` as the whole answer: Llama 3.
    Bare,
    /// `<|tool_call_start|>[name(key="value")]<|tool_call_end|>`: LFM2.
    Python,
    /// `<|tool_call|>[{"name": …, "arguments": …}]`: Granite 3 and Phi-4.
    Granite,
    /// `<|tool_call>call:name{key:<|"|>value<|"|>}<tool_call|>`: Gemma 4.
    Gemma,
    /// `<｜tool▁calls▁begin｜>…<｜tool▁calls▁end｜>` around calls, whose arguments may be in a code fence: DeepSeek.
    DeepSeek {
        /// Whether calls have a type, and their arguments a fence (V3 and R1, but not V3.1).
        fenced: bool,
    },
    /// Messages in channels, calls among them: gpt-oss.
    Harmony,
}

/// The end of a text that has no end tag.
pub const NEVER: &str = "\u{0}";

impl Format {
    /// The format that a chat template speaks of.
    pub fn of(template: &str) -> Format {
        let has = |text: &str| template.contains(text);
        if has("<|channel|>") && has("<|message|>") {
            Format::Harmony
        } else if has("[TOOL_CALLS]") {
            if has("[ARGS]") { Format::Named } else { Format::List }
        } else if has("<|tool_call_start|>") || has("<|tool_list_start|>") {
            Format::Python
        } else if has("<｜tool▁calls▁begin｜>") {
            Format::DeepSeek { fenced: has("```json") }
        } else if has("<|tool_call>") && has("<tool_call|>") {
            Format::Gemma
        } else if has("<tool_call>") {
            Format::Tagged
        } else if has("<|tool_call|>") {
            Format::Granite
        } else if has("ipython") {
            Format::Bare
        } else {
            Format::Tagged
        }
    }

    /// What stands before calls and after them; none if only the whole answer tells.
    pub fn tags(self) -> Option<(&'static str, &'static str)> {
        match self {
            Format::Tagged => Some(("<tool_call>", "</tool_call>")),
            Format::List | Format::Named => Some(("[TOOL_CALLS]", NEVER)),
            Format::Python => Some(("<|tool_call_start|>", "<|tool_call_end|>")),
            Format::Granite => Some(("<|tool_call|>", NEVER)),
            Format::Gemma => Some(("<|tool_call>", "<tool_call|>")),
            Format::DeepSeek { .. } => Some(("<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>")),
            Format::Bare | Format::Harmony => None,
        }
    }

    /// Marks between the tags, or beside them.
    fn marks(self) -> &'static [&'static str] {
        match self {
            Format::Named => &["[ARGS]", "[CALL_ID]"],
            Format::Bare => &["<|python_tag|>"],
            Format::Granite => &["<|/tool_call|>"],
            Format::Gemma => &["<|\"|>"],
            Format::DeepSeek { .. } => &["<｜tool▁call▁begin｜>", "<｜tool▁sep｜>", "<｜tool▁call▁end｜>"],
            Format::Harmony => &["<|start|>", "<|channel|>", "<|constrain|>", "<|message|>", "<|end|>"],
            Format::Tagged | Format::List | Format::Python => &[],
        }
    }
}

/// How a model's answers are to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// The notation of calls.
    pub format: Format,
    /// What stands before and after reasoning.
    pub thinking: (&'static str, &'static str),
}

impl Style {
    /// The style that a chat template speaks of.
    pub fn of(template: &str) -> Style {
        let thinking = if template.contains("[THINK]") {
            ("[THINK]", "[/THINK]")
        } else if template.contains("<|channel>") {
            ("<|channel>thought", "<channel|>")
        } else {
            ("<think>", "</think>")
        };
        Style { format: Format::of(template), thinking }
    }

    /// All texts that reading an answer depends on. Where they are control tokens, the answer's text must show them.
    pub fn marks(&self) -> impl Iterator<Item = &'static str> {
        let tags = self.format.tags().map(|(begin, end)| [begin, end]).into_iter().flatten();
        let thinking = [self.thinking.0, self.thinking.1];
        tags.filter(|tag| *tag != NEVER).chain(thinking).chain(self.format.marks().iter().copied())
    }
}

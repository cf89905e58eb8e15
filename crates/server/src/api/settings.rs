//! Common parts of OpenAI requests: sampling, limits, formats.

use crate::error::{ApiError, Outcome};
use crate::generate::Generation;
use crate::grammar::Grammar;
use serde::Deserialize;
use serde_json::{Map, Value};
use wootz_llm::engine::Adjust;

/// Settings of a request; names of other servers are understood too.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Settings {
    pub model: Option<String>,
    pub temperature: Option<f32>,
    pub top_p: Option<f32>,
    pub top_k: Option<i64>,
    pub min_p: Option<f32>,
    #[serde(alias = "repetition_penalty")]
    pub repeat_penalty: Option<f32>,
    pub frequency_penalty: Option<f32>,
    pub presence_penalty: Option<f32>,
    pub logit_bias: Option<Map<String, Value>>,
    pub seed: Option<i64>,
    pub stop: Option<OneOrMany>,
    #[serde(alias = "max_completion_tokens", alias = "max_output_tokens", alias = "n_predict")]
    pub max_tokens: Option<i64>,
    pub n: Option<i64>,
    #[serde(default)]
    pub stream: Option<bool>,
    pub stream_options: Option<StreamOptions>,
    pub response_format: Option<Value>,
    pub grammar: Option<String>,
    pub regex: Option<String>,
    #[serde(alias = "ignore_end")]
    pub ignore_eos: Option<bool>,
}

#[derive(Clone, Debug, Default, Deserialize)]
pub struct StreamOptions {
    #[serde(default)]
    pub include_usage: Option<bool>,
}

/// A text or a list of texts.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

impl OneOrMany {
    pub fn into_list(self) -> Vec<String> {
        match self {
            OneOrMany::One(text) => vec![text],
            OneOrMany::Many(list) => list,
        }
    }
}

/// Stop strings that a request may have.
const MOST_STOPS: usize = 32;

fn within(name: &'static str, value: f32, least: f32, most: f32) -> Outcome<f32> {
    if (least..=most).contains(&value) {
        return Ok(value);
    }
    Err(ApiError::field(name, format!("{name} is {value}, but must be from {least} to {most}")))
}

impl Settings {
    pub fn streams(&self) -> bool {
        self.stream.unwrap_or(false)
    }

    pub fn wants_usage(&self) -> bool {
        self.stream_options.as_ref().and_then(|o| o.include_usage).unwrap_or(false)
    }

    /// Puts the settings into a generation.
    pub fn apply(&self, generation: &mut Generation) -> Outcome<()> {
        let sampling = &mut generation.sampling;
        if let Some(temperature) = self.temperature {
            sampling.temperature = within("temperature", temperature, 0.0, 100.0)?;
        }
        if let Some(top_p) = self.top_p {
            // Zero means the most likely token only.
            sampling.top_p = within("top_p", top_p, 0.0, 1.0)?.max(f32::MIN_POSITIVE);
        }
        if let Some(top_k) = self.top_k {
            // Some clients say −1 for all.
            sampling.top_k = usize::try_from(top_k.max(0)).unwrap_or(0);
        }
        if let Some(min_p) = self.min_p {
            sampling.min_p = within("min_p", min_p, 0.0, 1.0)?;
        }
        if let Some(penalty) = self.repeat_penalty {
            sampling.repeat_penalty = within("repeat_penalty", penalty, 0.01, 100.0)?;
        }
        generation.adjust = self.adjust()?;
        generation.seed = self.seed.map(|seed| seed as u64);
        generation.stops = self.stop.clone().map(OneOrMany::into_list).unwrap_or_default();
        if generation.stops.len() > MOST_STOPS {
            return Err(ApiError::field("stop", format!("at most {MOST_STOPS} stop strings are allowed")));
        }
        generation.limit = match self.max_tokens {
            None => None,
            Some(limit) if limit >= 1 => Some(usize::try_from(limit).unwrap_or(usize::MAX)),
            // Ollama's clients mean no limit.
            Some(-1) => None,
            Some(limit) => {
                return Err(ApiError::field(
                    "max_tokens",
                    format!("max_tokens is {limit}, but must be at least 1"),
                ));
            }
        };
        generation.count = match self.n {
            None => 1,
            Some(n) => usize::try_from(n).map_err(|_| ApiError::field("n", "n must be at least 1"))?,
        };
        generation.ignore_end = self.ignore_eos.unwrap_or(false);
        if let Some(grammar) = self.grammar()? {
            generation.grammar = Some(grammar);
        }
        Ok(())
    }

    fn adjust(&self) -> Outcome<Adjust> {
        let mut adjust = Adjust {
            frequency_penalty: within("frequency_penalty", self.frequency_penalty.unwrap_or(0.0), -2.0, 2.0)?,
            presence_penalty: within("presence_penalty", self.presence_penalty.unwrap_or(0.0), -2.0, 2.0)?,
            logit_bias: Vec::new(),
        };
        for (token, bias) in self.logit_bias.iter().flatten() {
            let wrong = || ApiError::field("logit_bias", "logit_bias must map token ids to numbers");
            let token = token.parse().map_err(|_| wrong())?;
            let bias = bias.as_f64().ok_or_else(wrong)? as f32;
            adjust.logit_bias.push((token, within("logit_bias", bias, -100.0, 100.0)?));
        }
        Ok(adjust)
    }

    fn grammar(&self) -> Outcome<Option<Grammar>> {
        if let Some(text) = &self.grammar {
            return Ok(Some(Grammar::Lark(text.clone())));
        }
        if let Some(pattern) = &self.regex {
            return Ok(Some(Grammar::Regex(pattern.clone())));
        }
        let Some(format) = self.response_format.as_ref().filter(|f| !f.is_null()) else { return Ok(None) };
        let wrong = |what: &str| ApiError::field("response_format", what.to_owned());
        let text = |name: &str| format.get(name).and_then(Value::as_str).map(str::to_owned);
        Ok(Some(match format.get("type").and_then(Value::as_str) {
            Some("text") => return Ok(None),
            Some("json_object") => Grammar::Schema(serde_json::json!({"type": "object"})),
            Some("json_schema") => {
                let schema = format.pointer("/json_schema/schema").or_else(|| format.get("schema"));
                let schema = schema.filter(|s| s.is_object());
                Grammar::Schema(schema.cloned().ok_or_else(|| wrong("json_schema needs a schema"))?)
            }
            Some("regex") => Grammar::Regex(text("pattern").ok_or_else(|| wrong("regex needs a pattern"))?),
            Some("grammar") => {
                Grammar::Lark(text("grammar").ok_or_else(|| wrong("grammar needs a grammar in Lark"))?)
            }
            _ => return Err(wrong("the type must be text, json_object, json_schema, regex or grammar")),
        }))
    }
}

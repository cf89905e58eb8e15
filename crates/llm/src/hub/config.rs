//! Conversion of `config.json` to GGUF metadata.

use crate::config::{MAX_EXTENT, PAIRS_KEY};
use crate::error::{Error, Result};
use serde_json::Value as Json;
use wootz_gguf::{MetaValue, Writer};

/// What the translation of tensors has to know, and the numbers for the metadata.
pub struct Shape {
    /// The architecture's name in GGUF.
    pub architecture: &'static str,
    /// Whether the embedding is also the output matrix.
    pub tied: bool,
    /// Factors that divide the rotary frequencies (Llama 3).
    pub rope_factors: Option<Vec<f32>>,
    /// The same of Phi, for short and long contexts.
    pub phi_factors: Option<[Vec<f32>; 2]>,
    numbers: Vec<(&'static str, MetaValue)>,
}

/// Architectures by the name that `config.json` gives them.
const ARCHITECTURES: &[(&str, &str)] = &[
    ("llama", "llama"),
    ("mistral", "llama"),
    ("smollm", "llama"),
    ("qwen2", "qwen2"),
    ("qwen3", "qwen3"),
    ("gemma3_text", "gemma3"),
    ("gemma3", "gemma3"),
    ("gemma2", "gemma2"),
    ("granite", "granite"),
    ("phi3", "phi3"),
    ("smollm3", "smollm3"),
    ("bert", "bert"),
];

/// Factors of `config.json` that are GGUF's under another name.
const FACTORS: &[(&str, &str)] = &[
    ("embedding_multiplier", "embedding_scale"),
    ("residual_multiplier", "residual_scale"),
    ("attention_multiplier", "attention.scale"),
    ("logits_scaling", "logit_scale"),
    ("attn_logit_softcapping", "attn_logit_softcapping"),
    ("final_logit_softcapping", "final_logit_softcapping"),
];

/// Integers of `config.json`, and their names in GGUF.
const INTEGERS: &[(&str, &str)] = &[
    ("num_hidden_layers", "block_count"),
    ("max_position_embeddings", "context_length"),
    ("hidden_size", "embedding_length"),
    ("intermediate_size", "feed_forward_length"),
    ("num_attention_heads", "attention.head_count"),
];

/// The same for those that may be missing.
const OPTIONAL_INTEGERS: &[(&str, &str)] = &[
    ("num_key_value_heads", "attention.head_count_kv"),
    ("head_dim", "attention.key_length"),
    ("head_dim", "attention.value_length"),
];

/// The key in its present name or in the group of newer files.
fn rope<'a>(config: &'a Json, key: &str) -> &'a Json {
    match &config[key] {
        Json::Null => &config["rope_parameters"][key],
        value => value,
    }
}

impl Shape {
    pub fn read(config: &Json) -> Result<Shape> {
        // Models that also see images have their language part apart.
        let config = if config["text_config"].is_object() { &config["text_config"] } else { config };
        let kind = config["model_type"].as_str().unwrap_or_default();
        let found = ARCHITECTURES.iter().find(|a| a.0 == kind).ok_or_else(|| {
            let known: Vec<&str> = ARCHITECTURES.iter().map(|a| a.0).collect();
            let known = known.join(", ");
            Error::Model(format!("config.json: model_type '{kind}' is not supported; supported: {known}"))
        })?;
        let mut shape = Shape {
            architecture: found.1,
            tied: config["tie_word_embeddings"].as_bool().unwrap_or(found.1.starts_with("gemma")),
            rope_factors: None,
            phi_factors: None,
            numbers: Vec::new(),
        };
        shape.integers(config)?;
        if found.1 == "bert" {
            shape.number("attention.layer_norm_epsilon", config["layer_norm_eps"].as_f64().unwrap_or(1e-12));
            return Ok(shape);
        }
        let epsilon = config["rms_norm_eps"].as_f64().unwrap_or(1e-6);
        shape.number("attention.layer_norm_rms_epsilon", epsilon);
        let base = rope(config, "rope_theta").as_f64();
        shape.number("rope.freq_base", base.unwrap_or(if found.1 == "gemma3" { 1e6 } else { 1e4 }));
        shape.rope_scaling(config)?;
        match found.1 {
            "gemma2" => shape.gemma2(config),
            "gemma3" => shape.gemma3(config)?,
            "phi3" => shape.phi(config)?,
            "smollm3" => check_unrotated(config)?,
            _ => {}
        }
        if matches!(found.1, "gemma2" | "granite") {
            for (from, to) in FACTORS {
                if let Some(factor) = config[from].as_f64() {
                    shape.number(to, factor);
                }
            }
        }
        Ok(shape)
    }

    /// Writes the metadata.
    pub fn write(&self, writer: &mut Writer) {
        writer.set("general.architecture", self.architecture);
        for (key, value) in &self.numbers {
            writer.set(format!("{}.{key}", self.architecture), value.clone());
        }
        writer.set(PAIRS_KEY, "halves");
    }

    /// How a folder of sentence-transformers pools.
    pub fn pooling(&mut self, pooling: &Json) {
        let kinds =
            [("pooling_mode_mean_tokens", 1), ("pooling_mode_cls_token", 2), ("pooling_mode_lasttoken", 3)];
        if let Some((_, kind)) = kinds.iter().find(|(key, _)| pooling[key].as_bool() == Some(true)) {
            self.numbers.push(("pooling_type", MetaValue::U32(*kind)));
        }
    }

    fn number(&mut self, key: &'static str, value: f64) {
        self.numbers.push((key, MetaValue::F32(value as f32)));
    }

    fn integers(&mut self, config: &Json) -> Result<()> {
        for (from, to) in INTEGERS.iter().chain(OPTIONAL_INTEGERS) {
            let is_optional = OPTIONAL_INTEGERS.contains(&(from, to));
            match &config[from] {
                Json::Null if is_optional => {}
                value => {
                    let fits = |v: &u64| (1..=MAX_EXTENT as u64).contains(v);
                    let number = value.as_u64().filter(fits).map(|v| v as u32).ok_or_else(|| {
                        let range = format!("an integer from 1 to {MAX_EXTENT}");
                        Error::Model(format!("config.json: {from} is {value}, not {range}"))
                    })?;
                    self.numbers.push((to, MetaValue::U32(number)));
                }
            }
        }
        Ok(())
    }

    fn rope_scaling(&mut self, config: &Json) -> Result<()> {
        let scaling = if config["rope_scaling"].is_object() {
            &config["rope_scaling"]
        } else {
            &config["rope_parameters"]
        };
        let kind = scaling["rope_type"].as_str().or(scaling["type"].as_str()).unwrap_or("default");
        let number = |key: &str| {
            let problem =
                || Error::Model(format!("config.json: rope scaling '{kind}' lacks the number {key}"));
            scaling[key].as_f64().ok_or_else(problem)
        };
        match kind {
            "default" => {}
            "linear" => {
                self.numbers.push(("rope.scaling.type", "linear".into()));
                self.number("rope.scaling.factor", number("factor")?);
            }
            "yarn" => {
                self.numbers.push(("rope.scaling.type", "yarn".into()));
                self.number("rope.scaling.factor", number("factor")?);
                let original = number("original_max_position_embeddings")? as u32;
                self.numbers.push(("rope.scaling.original_context_length", MetaValue::U32(original)));
            }
            "llama3" => {
                // `integers` has seen to it that there is a head, and that extents are sane.
                let heads = config["num_attention_heads"].as_f64().unwrap_or(1.0);
                let head = config["head_dim"].as_f64();
                let head = head.unwrap_or(config["hidden_size"].as_f64().unwrap_or(0.0) / heads);
                let stretch = Llama3 {
                    factor: number("factor")?,
                    low: number("low_freq_factor")?,
                    high: number("high_freq_factor")?,
                    original: number("original_max_position_embeddings")?,
                };
                let base = rope(config, "rope_theta").as_f64().unwrap_or(1e4);
                self.rope_factors = Some(stretch.factors(base, head as usize));
            }
            // Phi's factors are tensors.
            "longrope" | "su" if self.architecture == "phi3" => {}
            other => {
                let known = "default, linear, yarn, llama3, and longrope for Phi";
                let problem = format!("config.json: rope scaling '{other}' is not one of {known}");
                return Err(Error::Model(problem));
            }
        }
        Ok(())
    }

    fn gemma2(&mut self, config: &Json) {
        let window = config["sliding_window"].as_u64().unwrap_or(4096) as u32;
        self.numbers.push(("attention.sliding_window", MetaValue::U32(window)));
        if let Some(length) = config["query_pre_attn_scalar"].as_f64() {
            self.number("attention.scale", length.powf(-0.5));
        }
    }

    /// Up to the original context, long-context models use the short ones of their factors.
    fn phi(&mut self, config: &Json) -> Result<()> {
        let part = config["partial_rotary_factor"].as_f64().unwrap_or(1.0);
        let heads = config["num_attention_heads"].as_f64().unwrap_or(1.0);
        let head = config["hidden_size"].as_f64().unwrap_or(0.0) / heads;
        self.numbers.push(("rope.dimension_count", MetaValue::U32((head * part) as u32)));
        let scaling = &config["rope_scaling"];
        if !scaling.is_object() {
            return Ok(());
        }
        let wrong = |what: &str| Error::Model(format!("config.json: {what}"));
        let list = |key: &str| -> Result<Vec<f32>> {
            let list = scaling[key].as_array().ok_or_else(|| wrong(&format!("rope_scaling lacks {key}")))?;
            let number = |v: &Json| v.as_f64().map(|v| v as f32);
            list.iter().map(|v| number(v).ok_or_else(|| wrong(&format!("{key} must be numbers")))).collect()
        };
        self.phi_factors = Some([list("short_factor")?, list("long_factor")?]);
        let original = config["original_max_position_embeddings"]
            .as_u64()
            .or(scaling["original_max_position_embeddings"].as_u64());
        let original = original.filter(|v| (2..=MAX_EXTENT as u64).contains(v));
        let original = original.ok_or_else(|| wrong("it lacks original_max_position_embeddings"))? as u32;
        self.numbers.push(("rope.scaling.original_context_length", MetaValue::U32(original)));
        let longer = config["max_position_embeddings"].as_f64().unwrap_or(1.0) / f64::from(original);
        let length = if longer > 1.0 { (1.0 + longer.ln() / f64::from(original).ln()).sqrt() } else { 1.0 };
        self.number("rope.scaling.attn_factor", length);
        Ok(())
    }

    fn gemma3(&mut self, config: &Json) -> Result<()> {
        let window = config["sliding_window"].as_u64().unwrap_or(4096) as u32;
        self.numbers.push(("attention.sliding_window", MetaValue::U32(window)));
        self.number("rope.freq_base_swa", config["rope_local_base_freq"].as_f64().unwrap_or(1e4));
        if config["head_dim"].is_null() {
            for key in ["attention.key_length", "attention.value_length"] {
                self.numbers.push((key, MetaValue::U32(256)));
            }
        }
        match config["sliding_window_pattern"].as_u64() {
            None | Some(6) => Ok(()),
            Some(other) => Err(Error::Model(format!(
                "config.json: sliding_window_pattern is {other}; Gemma 3 has one full layer in 6"
            ))),
        }
    }
}

/// SmolLM 3 rotates nothing in every fourth layer; the file may say so.
fn check_unrotated(config: &Json) -> Result<()> {
    let list = config["no_rope_layers"].as_array();
    let is_usual = |(i, v): (usize, &Json)| v.as_u64() == Some(u64::from((i + 1) % 4 != 0));
    match list.is_none_or(|list| list.iter().enumerate().all(is_usual)) {
        true => Ok(()),
        false => Err(Error::Model("config.json: no_rope_layers must name every fourth layer".into())),
    }
}

/// Llama 3's stretching: slow pairs are divided, fast ones kept, a smooth step between.
struct Llama3 {
    factor: f64,
    low: f64,
    high: f64,
    original: f64,
}

impl Llama3 {
    fn factors(&self, base: f64, head: usize) -> Vec<f32> {
        let factor = |i: usize| {
            let turns = self.original * base.powf(-2.0 * i as f64 / head as f64) / std::f64::consts::TAU;
            let smooth = ((turns - self.low) / (self.high - self.low)).clamp(0.0, 1.0);
            (1.0 / ((1.0 - smooth) / self.factor + smooth)) as f32
        };
        (0..head / 2).map(factor).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn llama() -> Json {
        json!({
            "model_type": "llama", "num_hidden_layers": 2, "max_position_embeddings": 64, "hidden_size": 128,
            "intermediate_size": 256, "num_attention_heads": 2, "num_key_value_heads": 1, "rope_theta": 500000.0,
            "rope_scaling": {
                "rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                "original_max_position_embeddings": 8192,
            },
        })
    }

    #[test]
    fn llama_3_keeps_fast_pairs_and_divides_slow_ones() {
        let shape = Shape::read(&llama()).unwrap();
        let factors = shape.rope_factors.unwrap();
        assert_eq!((factors.len(), factors[0], factors[31]), (32, 1.0, 8.0));
        assert!(factors.iter().any(|&f| f > 1.0 && f < 8.0), "there are pairs between");
        assert!(factors.windows(2).all(|f| f[0] <= f[1]));
    }

    #[test]
    fn what_is_particular_to_families_is_checked() {
        let refused = |kind: &str, key: &str, value: Json| {
            let mut config = llama();
            config["rope_scaling"] = Json::Null;
            config["model_type"] = json!(kind);
            config[key] = value;
            Shape::read(&config).err().unwrap().to_string()
        };
        assert!(refused("smollm3", "no_rope_layers", json!([1, 0])).contains("every fourth"));
        let factors = json!({ "type": "longrope", "short_factor": [1.0], "long_factor": ["x"] });
        assert!(refused("phi3", "rope_scaling", factors).contains("long_factor must be numbers"));
        let factors = json!({ "type": "longrope", "short_factor": [1.0], "long_factor": [2.0] });
        assert!(
            refused("phi3", "rope_scaling", factors.clone()).contains("original_max_position_embeddings")
        );
        assert!(refused("llama", "rope_scaling", factors).contains("'longrope' is not one of"));
    }

    #[test]
    fn what_is_missing_or_unknown_is_named() {
        let refused = |change: &dyn Fn(&mut Json)| {
            let mut config = llama();
            change(&mut config);
            Shape::read(&config).err().unwrap().to_string()
        };
        assert!(refused(&|c| c["model_type"] = json!("t5")).contains("'t5'"));
        assert!(refused(&|c| c["hidden_size"] = Json::Null).contains("hidden_size is null"));
        assert!(refused(&|c| c["hidden_size"] = json!(-1)).contains("hidden_size is -1"));
        assert!(refused(&|c| c["head_dim"] = json!(4294967295u32)).contains("head_dim is 4294967295"));
        assert!(refused(&|c| c["num_attention_heads"] = json!(0)).contains("num_attention_heads is 0"));
        assert!(refused(&|c| c["rope_scaling"]["rope_type"] = json!("magic")).contains("'magic'"));
        assert!(refused(&|c| c["rope_scaling"]["factor"] = Json::Null).contains("lacks the number factor"));
    }
}

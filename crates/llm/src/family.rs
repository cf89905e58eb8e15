//! The model families, by the names that GGUF files give their architectures.

use crate::error::{Error, Result};

/// Turns the list of families into [`Family`], its names and `Family::ALL`.
macro_rules! families {
    ($($(#[$doc:meta])* $family:ident $name:literal;)*) => {
        /// The families that can be run.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Family {
            $($(#[$doc])* $family,)*
        }

        impl Family {
            /// Every family.
            pub const ALL: &'static [Family] = &[$(Family::$family),*];

            /// The name in `general.architecture`.
            pub fn name(self) -> &'static str {
                match self {
                    $(Family::$family => $name,)*
                }
            }
        }
    };
}

families! {
    /// Llama 2 and 3, Mistral, SmolLM.
    Llama "llama";
    /// Ministral 3: Llama whose queries grow with the position.
    Mistral3 "mistral3";
    /// SmolLM 3: Llama that does not rotate in every fourth layer.
    SmolLm3 "smollm3";
    /// Granite 3 and 4 (dense): Llama with factors on embeddings, residuals, scores and logits.
    Granite "granite";
    /// Granite 3 mixtures of experts.
    GraniteMoe "granitemoe";
    /// Phi 3 and 4: Llama with query, key and value, and gate and up, in one matrix each.
    Phi3 "phi3";
    /// Qwen 2 and 2.5: Llama with biases on query, key and value.
    Qwen2 "qwen2";
    /// Qwen 1.5 and 2 mixtures of experts, with one expert that every token takes.
    Qwen2Moe "qwen2moe";
    /// Qwen 3: norms on query and key heads.
    Qwen3 "qwen3";
    /// Qwen 3 mixtures of experts.
    Qwen3Moe "qwen3moe";
    /// OLMoE: norms over all query and all key heads together.
    Olmoe "olmoe";
    /// Gemma 2: sliding windows, norms around each part, scaled embeddings, soft limits of scores and logits.
    Gemma2 "gemma2";
    /// Gemma 3: sliding windows, norms around each part and on heads, scaled embeddings.
    Gemma3 "gemma3";
    /// gpt-oss: experts with biases, attention sinks, a sliding window in every other layer.
    GptOss "gpt-oss";
    /// Gemma 4: heads of two widths, layers that share keys, embeddings for each layer, and experts beside the feed-forward part.
    Gemma4 "gemma4";
    /// DeepSeek 2 and 3, GLM 4.7 Lite: latent attention, experts of which some are shared.
    DeepSeek2 "deepseek2";
    /// Qwen 3.5 and 3.6: three layers with a gated delta net to one with gated attention.
    Qwen35 "qwen35";
    /// The same as mixtures of experts.
    Qwen35Moe "qwen35moe";
    /// Qwen 3 Next, which came before them.
    Qwen3Next "qwen3next";
    /// Granite 4: layers of Mamba 2, and some with attention.
    GraniteHybrid "granitehybrid";
    /// Mamba 2: state spaces alone.
    Mamba2 "mamba2";
    /// LFM 2: short convolutions, and some layers with attention.
    Lfm2 "lfm2";
    /// The same as mixtures of experts.
    Lfm2Moe "lfm2moe";
    /// RWKV-7: recurrent state instead of attention.
    Rwkv7 "rwkv7";
    /// BERT and MiniLM: an encoder, for embeddings.
    Bert "bert";
    /// Nomic's BERT: an encoder with rotary positions and a gated feed-forward part.
    NomicBert "nomic-bert";
    /// EmbeddingGemma: Gemma 3 as an encoder.
    GemmaEmbedding "gemma-embedding";
}

impl Family {
    /// The family of this name in `general.architecture`.
    pub fn from_name(name: &str) -> Result<Family> {
        Family::ALL.iter().copied().find(|f| f.name() == name).ok_or_else(|| {
            let known: Vec<&str> = Family::ALL.iter().map(|f| f.name()).collect();
            Error::Model(format!("architecture '{name}' is not one of those supported: {}", known.join(", ")))
        })
    }

    /// Whether it reads whole texts and gives embeddings, and no text.
    pub fn is_encoder(self) -> bool {
        matches!(self, Family::Bert | Family::NomicBert | Family::GemmaEmbedding)
    }

    /// Whether it is one of the Gemmas.
    pub(crate) fn is_gemma(self) -> bool {
        matches!(self, Family::Gemma2 | Family::Gemma3 | Family::Gemma4 | Family::GemmaEmbedding)
    }

    /// Whether a head's result is weakened by a gate, which the query matrix has behind its query.
    pub(crate) fn has_gated_attention(self) -> bool {
        matches!(self, Family::Qwen35 | Family::Qwen35Moe | Family::Qwen3Next)
    }

    /// Whether some or all layers have a state of fixed size instead of keys and values.
    pub(crate) fn is_hybrid(self) -> bool {
        matches!(
            self,
            Family::Qwen35
                | Family::Qwen35Moe
                | Family::Qwen3Next
                | Family::GraniteHybrid
                | Family::Mamba2
                | Family::Lfm2
                | Family::Lfm2Moe
        )
    }
}

//! The model families, by their architecture names in GGUF files.

use crate::error::{Error, Result};

/// Generates [`Family`], its names and `Family::ALL` from the list of families.
macro_rules! families {
    ($($(#[$doc:meta])* $family:ident $name:literal;)*) => {
        /// The supported families.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Family {
            $($(#[$doc])* $family,)*
        }

        impl Family {
            /// All families.
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
    /// Ministral 3: Llama with queries scaled by position.
    Mistral3 "mistral3";
    /// SmolLM 3: Llama without rotation in every fourth layer.
    SmolLm3 "smollm3";
    /// Granite 3 and 4 (dense): Llama with factors on embeddings, residuals, scores and logits.
    Granite "granite";
    /// Granite 3 mixtures of experts.
    GraniteMoe "granitemoe";
    /// Phi 3 and 4: Llama with fused query, key and value, and fused gate and up matrices.
    Phi3 "phi3";
    /// Qwen 2 and 2.5: Llama with biases on query, key and value.
    Qwen2 "qwen2";
    /// Qwen 1.5 and 2 mixtures of experts, with a shared expert.
    Qwen2Moe "qwen2moe";
    /// Qwen 3: norms on query and key heads.
    Qwen3 "qwen3";
    /// Qwen 3 mixtures of experts.
    Qwen3Moe "qwen3moe";
    /// OLMoE: norms over all query and all key heads together.
    Olmoe "olmoe";
    /// Gemma 2: sliding windows, norms around each sublayer, scaled embeddings, soft caps on scores and logits.
    Gemma2 "gemma2";
    /// Gemma 3: sliding windows, norms around each sublayer and on heads, scaled embeddings.
    Gemma3 "gemma3";
    /// gpt-oss: experts with biases, attention sinks, a sliding window in every other layer.
    GptOss "gpt-oss";
    /// Gemma 4: heads of two widths, layers that share keys, per-layer embeddings, and experts in addition to the
    /// feed-forward network.
    Gemma4 "gemma4";
    /// DeepSeek 2 and 3, GLM 4.7 Lite: latent attention, shared experts.
    DeepSeek2 "deepseek2";
    /// Qwen 3.5 and 3.6: three gated delta net layers for each gated attention layer.
    Qwen35 "qwen35";
    /// The same as mixtures of experts.
    Qwen35Moe "qwen35moe";
    /// Qwen 3 Next, their predecessor.
    Qwen3Next "qwen3next";
    /// Granite 4: layers of Mamba 2, and some with attention.
    GraniteHybrid "granitehybrid";
    /// Mamba 2: state spaces only.
    Mamba2 "mamba2";
    /// LFM 2: short convolutions, and some layers with attention.
    Lfm2 "lfm2";
    /// The same as mixtures of experts.
    Lfm2Moe "lfm2moe";
    /// RWKV-7: recurrent state instead of attention.
    Rwkv7 "rwkv7";
    /// BERT and MiniLM: an encoder, for embeddings.
    Bert "bert";
    /// Nomic's BERT: an encoder with rotary positions and a gated feed-forward network.
    NomicBert "nomic-bert";
    /// EmbeddingGemma: Gemma 3 as an encoder.
    GemmaEmbedding "gemma-embedding";
}

impl Family {
    /// The family of this name in `general.architecture`.
    pub fn from_name(name: &str) -> Result<Family> {
        Family::ALL.iter().copied().find(|f| f.name() == name).ok_or_else(|| {
            let known: Vec<&str> = Family::ALL.iter().map(|f| f.name()).collect();
            Error::Model(format!("architecture '{name}' is not supported; supported: {}", known.join(", ")))
        })
    }

    /// Whether it is an encoder, which produces embeddings instead of text.
    pub fn is_encoder(self) -> bool {
        matches!(self, Family::Bert | Family::NomicBert | Family::GemmaEmbedding)
    }

    /// Whether it is one of the Gemmas.
    pub(crate) fn is_gemma(self) -> bool {
        matches!(self, Family::Gemma2 | Family::Gemma3 | Family::Gemma4 | Family::GemmaEmbedding)
    }

    /// Whether head outputs are gated; the query matrix then contains each head's gate after its query.
    pub(crate) fn has_gated_attention(self) -> bool {
        matches!(self, Family::Qwen35 | Family::Qwen35Moe | Family::Qwen3Next)
    }

    /// Whether some or all layers have fixed-size state instead of keys and values.
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

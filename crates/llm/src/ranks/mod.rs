//! A model over several ranks: each holds a part of its weights, and all of them run every pass together.
//!
//! Every rank runs the same program over the same tokens. In a *pipeline* each has some of the layers and hands hidden vectors to the
//! next; the last one's scores go to all. With *tensor* parallelism each has some heads, some columns of the feed-forward part and some
//! rows of the output matrix, and partial sums are added up after each part of a layer.
//!
//! What a network sees is its own part alone: a [`Config`] with fewer layers or fewer heads, and [`Weights`](crate::weights::Weights) that
//! find the tensors of that part in the file. So families need no code for it, except where a norm or a state spans what is divided.

mod cut;
mod forecast;
mod stage;

pub(crate) use cut::{Cut, Side};
pub use forecast::{Forecast, Link};
pub(crate) use stage::Stage;

use crate::config::{Config, Mixer};
use crate::error::{Error, Result};
use crate::family::Family;
use std::fmt;
use std::ops::Range;
use wootz::distributed::Group;
use wootz_gguf::Gguf;

/// How a model is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Parallel {
    /// Layers: few messages, and the same bits as on one rank; ranks take turns.
    Pipeline,
    /// Heads and columns: two sums for each layer; ranks work at the same time.
    Tensor,
}

impl Parallel {
    /// Both.
    pub const ALL: [Parallel; 2] = [Parallel::Pipeline, Parallel::Tensor];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Parallel::Pipeline => "pipeline",
            Parallel::Tensor => "tensor",
        }
    }

    /// The one of this name.
    pub fn from_name(name: &str) -> std::result::Result<Parallel, String> {
        let found = Parallel::ALL.into_iter().find(|p| p.name() == name);
        found.ok_or_else(|| format!("'{name}' is neither pipeline nor tensor"))
    }
}

impl fmt::Display for Parallel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// This rank's part of a model.
#[derive(Clone, Debug)]
pub struct Share {
    group: Group,
    rank: usize,
    size: usize,
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    /// These of all layers.
    Layers { own: Range<usize>, all: usize },
    /// These heads and columns of every layer.
    Columns(Box<Columns>),
}

/// What a rank has of each layer, and of how many.
#[derive(Clone, Debug)]
struct Columns {
    /// Of the file.
    config: Config,
    kv_heads: Range<usize>,
    ffn: Range<usize>,
    shared_ffn: Range<usize>,
    vocab: Range<usize>,
}

impl Share {
    /// The part of this rank of a group.
    pub fn of(gguf: &Gguf, config: &Config, group: &Group, parallel: Parallel) -> Result<Share> {
        Share::of_rank(gguf, config, group, (group.rank(), group.size()), parallel)
    }

    /// The part that some rank of so many would have, for estimates.
    pub fn planned(
        gguf: &Gguf,
        config: &Config,
        (rank, size): (usize, usize),
        parallel: Parallel,
    ) -> Result<Share> {
        Share::of_rank(gguf, config, &Group::alone(), (rank, size), parallel)
    }

    fn of_rank(
        gguf: &Gguf,
        config: &Config,
        group: &Group,
        (rank, size): (usize, usize),
        parallel: Parallel,
    ) -> Result<Share> {
        check(config, parallel)?;
        let kind = match parallel {
            Parallel::Pipeline => {
                Kind::Layers { own: stage::layers(gguf, config, rank, size)?, all: config.layers }
            }
            Parallel::Tensor => Kind::Columns(Box::new(cut::columns(gguf, config, rank, size)?)),
        };
        Ok(Share { group: group.clone(), rank, size, kind })
    }

    /// The way of dividing that a model allows over so many ranks, the quicker one first: ranks of a tensor-parallel model work at the
    /// same time.
    pub fn choose(gguf: &Gguf, config: &Config, size: usize) -> Result<Parallel> {
        let tensor = Share::planned(gguf, config, (0, size), Parallel::Tensor);
        match tensor {
            Ok(_) => Ok(Parallel::Tensor),
            Err(_) => Share::planned(gguf, config, (0, size), Parallel::Pipeline).map(|_| Parallel::Pipeline),
        }
    }

    /// How the model is divided.
    pub fn parallel(&self) -> Parallel {
        match self.kind {
            Kind::Layers { .. } => Parallel::Pipeline,
            Kind::Columns(_) => Parallel::Tensor,
        }
    }

    /// The ranks.
    pub fn group(&self) -> &Group {
        &self.group
    }

    /// The shape of what this rank has.
    pub(crate) fn config(&self, whole: &Config) -> Config {
        let mut config = whole.clone();
        match &self.kind {
            Kind::Layers { own, .. } => {
                config.layers = own.len();
                if let Mixer::Attention(attention) = &mut config.mixer {
                    attention.first_layer = own.start;
                }
            }
            Kind::Columns(columns) => columns.divide(&mut config),
        }
        config
    }

    /// The name in the file of what this rank's network calls `name`.
    pub(crate) fn name_of(&self, name: &str) -> String {
        let Kind::Layers { own, .. } = &self.kind else { return name.to_string() };
        let Some((index, part)) = name.strip_prefix("blk.").and_then(|rest| rest.split_once('.')) else {
            return name.to_string();
        };
        match index.parse::<usize>() {
            Ok(index) => format!("blk.{}.{part}", index + own.start),
            Err(_) => name.to_string(),
        }
    }

    /// Which part of a tensor of the file this rank has; `None` is all of it.
    pub(crate) fn cut(&self, name: &str) -> Option<Cut> {
        match &self.kind {
            Kind::Layers { .. } => None,
            Kind::Columns(columns) => columns.cut(name),
        }
    }

    /// This rank's rows of each of the matrices that the file has as one.
    pub(crate) fn parts(&self, name: &str) -> Option<Vec<Range<usize>>> {
        match &self.kind {
            Kind::Layers { .. } => None,
            Kind::Columns(columns) => columns.parts(name),
        }
    }

    /// The rows of the output matrix that this rank has.
    pub(crate) fn output_rows(&self) -> Option<Range<usize>> {
        match &self.kind {
            Kind::Layers { .. } => None,
            Kind::Columns(columns) => Some(columns.vocab.clone()),
        }
    }

    /// This rank's place in a pipeline.
    pub(crate) fn stage(&self) -> Option<Stage> {
        match &self.kind {
            Kind::Layers { .. } => Some(Stage::new(&self.group)),
            Kind::Columns(_) => None,
        }
    }

    /// Bytes of the file's tensors that this rank reads.
    pub fn bytes(&self, gguf: &Gguf) -> u64 {
        gguf.tensors().iter().map(|tensor| self.bytes_of(gguf, &tensor.name, tensor.bytes)).sum()
    }

    fn bytes_of(&self, gguf: &Gguf, name: &str, bytes: u64) -> u64 {
        let is_output = name == output_name(gguf);
        match &self.kind {
            Kind::Layers { own, all } => match stage::layer_of(name) {
                Some(layer) => bytes * u64::from(own.contains(&layer)),
                // Rows of tokens that are met are all that the first rank reads of an embedding.
                None if is_output || name.starts_with("output_norm") => bytes * u64::from(own.end == *all),
                None => bytes * u64::from(own.start == 0),
            },
            Kind::Columns(columns) => {
                let part = |range: &Range<usize>, of: usize| bytes * range.len() as u64 / of.max(1) as u64;
                match columns.cut(name) {
                    Some(cut) => part(&cut.range, cut.whole),
                    None if is_output => part(&columns.vocab, columns.config.vocab),
                    None => bytes,
                }
            }
        }
    }

    /// In a line, for people.
    pub fn describe(&self) -> String {
        let (rank, size) = (self.rank, self.size);
        match &self.kind {
            Kind::Layers { own, all } => {
                format!(
                    "rank {rank} of {size}: layers {} to {} of {all}",
                    own.start,
                    own.end.saturating_sub(1)
                )
            }
            Kind::Columns(columns) => {
                let all = columns.kv_heads_in_all();
                format!(
                    "rank {rank} of {size}: {} of {all} key-value heads of every layer",
                    columns.kv_heads.len()
                )
            }
        }
    }
}

/// The tensor that gives logits.
fn output_name(gguf: &Gguf) -> &'static str {
    if gguf.find_tensor("output.weight").is_some() { "output.weight" } else { "token_embd.weight" }
}

/// Refuses families whose parts cannot be computed apart.
fn check(config: &Config, parallel: Parallel) -> Result<()> {
    let refused = |reason: &str| {
        let name = config.family.name();
        Err(Error::Model(format!("{name} cannot be divided by {parallel} parallelism: {reason}")))
    };
    match config.family {
        Family::Llama
        | Family::Mistral3
        | Family::SmolLm3
        | Family::Granite
        | Family::GraniteMoe
        | Family::Phi3
        | Family::Qwen2
        | Family::Qwen2Moe
        | Family::Qwen3
        | Family::Qwen3Moe
        | Family::Gemma2
        | Family::Gemma3
        | Family::GptOss => {}
        Family::Olmoe if parallel == Parallel::Pipeline => {}
        Family::Olmoe => return refused("its norms span all heads; use a pipeline"),
        Family::Rwkv7 => return refused("its layers share the first one's values"),
        Family::Gemma4 | Family::DeepSeek2 => return refused("its layers differ in shape"),
        Family::Qwen35
        | Family::Qwen35Moe
        | Family::Qwen3Next
        | Family::GraniteHybrid
        | Family::Mamba2
        | Family::Lfm2
        | Family::Lfm2Moe => return refused("recurrent layers are not divided yet"),
        Family::Bert | Family::NomicBert | Family::GemmaEmbedding => {
            return refused("it is an encoder, which is small");
        }
    }
    match &config.mixer {
        Mixer::Attention(a) if a.kv_heads_of.is_empty() && a.own_caches.is_none() => Ok(()),
        Mixer::Attention(_) | Mixer::Recurrent(_) | Mixer::Hybrid(_) => refused("its layers differ in shape"),
    }
}

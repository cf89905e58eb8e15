//! A model split over several ranks: each holds a part of its weights, and all of them run every pass together.
//!
//! Every rank runs the same program over the same tokens. In a *pipeline* each rank has some of the layers and sends
//! hidden vectors to the next; the last one's logits are broadcast. With *tensor* parallelism each rank has some
//! heads, some columns of the feed-forward network and some rows of the output matrix, and partial sums are added up
//! after each sublayer. With *expert* parallelism it has whole experts of a mixture instead of columns of each.
//!
//! A network sees only its own part: a [`Config`] with fewer layers or fewer heads, and
//! [`Weights`](crate::weights::Weights) that locate the tensors of that part in the file. So families need no code
//! for it, unless a norm or a state spans what is split.

mod cut;
mod forecast;
mod link;
mod stage;

pub(crate) use cut::{Cut, Side};
pub use forecast::{Cluster, Forecast, Machine};
pub use link::Link;
pub(crate) use stage::Stage;

use crate::config::{Config, Mixer};
use crate::error::{Error, Result};
use crate::family::Family;
use forecast::Work;
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
    /// Heads, and whole experts of a mixture: as many sums. For experts that are too narrow to be cut.
    Expert,
}

impl Parallel {
    /// All of them.
    pub const ALL: [Parallel; 3] = [Parallel::Pipeline, Parallel::Tensor, Parallel::Expert];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Parallel::Pipeline => "pipeline",
            Parallel::Tensor => "tensor",
            Parallel::Expert => "expert",
        }
    }

    /// The one of this name.
    pub fn from_name(name: &str) -> std::result::Result<Parallel, String> {
        let found = Parallel::ALL.into_iter().find(|p| p.name() == name);
        found.ok_or_else(|| format!("'{name}' is none of pipeline, tensor and expert"))
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
    /// Whole experts, where these are divided and not the columns of each.
    experts: Option<Range<usize>>,
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
            Parallel::Tensor | Parallel::Expert => {
                let by_expert = parallel == Parallel::Expert;
                Kind::Columns(Box::new(cut::columns(gguf, config, (rank, size), by_expert)?))
            }
        };
        Ok(Share { group: group.clone(), rank, size, kind })
    }

    /// The way of dividing a model that promises most tokens per second over these ranks, by their memory and links; those whose parts
    /// do not fit into memory come last. All ranks choose the same.
    pub fn choose(gguf: &Gguf, config: &Config, group: &Group) -> Result<Parallel> {
        let cluster = Cluster::measure(group)?;
        // Ways that promise a little more do not displace an earlier one: measurements differ from run to run.
        const CLEARLY: f64 = 1.15;
        let mut best: Option<((bool, f64), Parallel)> = None;
        let mut refusal = None;
        for parallel in Parallel::ALL {
            let largest = (0..group.size()).map(|rank| {
                let share = Share::planned(gguf, config, (rank, group.size()), parallel)?;
                Ok(share.bytes(gguf))
            });
            match largest.collect::<Result<Vec<u64>>>() {
                Ok(parts) => {
                    let fits = parts.into_iter().max().is_none_or(|bytes| bytes <= cluster.memory);
                    let way = (parallel, group.size());
                    let rate = Forecast::new(gguf, config, way, &cluster.machine, &cluster.link)?.rate();
                    if best.is_none_or(|((fitted, known), _)| (fits, rate) > (fitted, known * CLEARLY)) {
                        best = Some(((fits, rate), parallel));
                    }
                }
                Err(error) => refusal = refusal.or(Some(error)),
            }
        }
        match (best, refusal) {
            (Some((_, parallel)), _) => Ok(parallel),
            (None, Some(refusal)) => Err(refusal),
            (None, None) => Ok(Parallel::Pipeline),
        }
    }

    /// How the model is divided.
    pub fn parallel(&self) -> Parallel {
        match &self.kind {
            Kind::Layers { .. } => Parallel::Pipeline,
            Kind::Columns(columns) if columns.experts.is_some() => Parallel::Expert,
            Kind::Columns(_) => Parallel::Tensor,
        }
    }

    /// The ranks.
    pub fn group(&self) -> &Group {
        &self.group
    }

    /// The shape of what this rank has.
    pub(crate) fn config(&self, whole: &Config) -> Config {
        match &self.kind {
            Kind::Layers { own, .. } => stage::config(whole, own),
            Kind::Columns(columns) => {
                let mut config = whole.clone();
                columns.divide(&mut config);
                config
            }
        }
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

    /// What a token needs of them: of experts the few that it takes, of an embedding next to nothing.
    fn work_per_token(&self, gguf: &Gguf, config: &Config) -> Work {
        let output = output_name(gguf);
        let taken = config.experts.map_or(1.0, |experts| experts.used as f64 / experts.count as f64);
        let read = |tensor: &wootz_gguf::Tensor| {
            let bytes = self.bytes_of(gguf, &tensor.name, tensor.bytes) as f64;
            match &tensor.name {
                name if name.starts_with("token_embd.") && name != output => 0.0,
                name if name.contains("_exps.") => bytes * taken,
                _ => bytes,
            }
        };
        let mut work = Work { bytes: 0.0, flops: 0.0 };
        for tensor in gguf.tensors() {
            let bytes = read(tensor);
            work.bytes += bytes;
            // Each value is multiplied, and added to a sum.
            work.flops += 2.0 * tensor.len() as f64 * bytes / tensor.bytes.max(1) as f64;
        }
        work
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
                let part = |own: usize, of: usize| bytes * own as u64 / of.max(1) as u64;
                match (columns.cut(name), columns.fused(name)) {
                    (Some(cut), _) => part(cut.range.len(), cut.whole),
                    (None, Some((own, of))) => part(own, of),
                    (None, None) if is_output => part(columns.vocab.len(), columns.config.vocab),
                    (None, None) => bytes,
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
                let heads = format!("{} of {all} key-value heads", columns.kv_heads.len());
                match &columns.experts {
                    Some(own) => {
                        let last = own.end - 1;
                        format!(
                            "rank {rank} of {size}: {heads}, experts {} to {last} of every layer",
                            own.start
                        )
                    }
                    None => format!("rank {rank} of {size}: {heads} of every layer"),
                }
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
        Err(Error::Model(format!("{name} does not support {parallel} parallelism: {reason}")))
    };
    if parallel == Parallel::Expert && config.experts.is_none() {
        return refused("it has no experts");
    }
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
        Family::Gemma4 if config.layer_embedding.is_some() => {
            return refused("all its layers read the embeddings of the tokens");
        }
        Family::Olmoe
        | Family::Rwkv7
        | Family::Gemma4
        | Family::DeepSeek2
        | Family::Qwen35
        | Family::Qwen35Moe
        | Family::Qwen3Next
        | Family::GraniteHybrid
        | Family::Mamba2
        | Family::Lfm2
        | Family::Lfm2Moe
            if parallel == Parallel::Pipeline => {}
        Family::Olmoe => return refused("its norms span all heads; use a pipeline"),
        Family::DeepSeek2 => return refused("its heads share one vector; use a pipeline"),
        Family::Gemma4 => return refused("its layers differ in shape; use a pipeline"),
        Family::Rwkv7
        | Family::Qwen35
        | Family::Qwen35Moe
        | Family::Qwen3Next
        | Family::GraniteHybrid
        | Family::Mamba2
        | Family::Lfm2
        | Family::Lfm2Moe => return refused("its recurrent layers are not cut; use a pipeline"),
        Family::Bert | Family::NomicBert | Family::GemmaEmbedding => {
            return refused("encoders are too small to split");
        }
    }
    match &config.mixer {
        Mixer::Attention(a) if a.own_caches.is_some_and(|own| own < config.layers) => {
            refused("its last layers read the keys of earlier ones")
        }
        Mixer::Attention(a) if parallel != Parallel::Pipeline && !a.kv_heads_of.is_empty() => {
            refused("its layers differ in shape")
        }
        Mixer::Attention(_) | Mixer::Recurrent(_) | Mixer::Hybrid(_) => Ok(()),
    }
}

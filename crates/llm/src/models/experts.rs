//! Mixtures of experts (Shazeer et al., 2017): a router scores the experts for every token, the best few are
//! computed, and their results are summed, weighted by their scores.

use super::decoder::{GatedFeedForward, LayerWeights};
use crate::config::{ExpertActivation, Experts, Gating};
use crate::error::{Error, Result};
use crate::weights::{Matrix, Stack};
use wootz::Tensor;

/// Experts, and the router that chooses among them.
pub struct RoutedFeedForward {
    router: Matrix,
    /// Added to the experts' scores for the choice alone (DeepSeek-AI, 2024).
    choice_bias: Option<Tensor>,
    gate_up: GateUp,
    down: Stack,
    /// A factor on each expert's result; Gemma 4 only.
    down_scale: Option<Tensor>,
    shared: Option<SharedExpert>,
    experts: Experts,
}

/// The feed-forward part of a layer: one for all tokens, or experts.
pub enum FeedForward {
    Gated(Box<GatedFeedForward>),
    Routed(Box<RoutedFeedForward>),
}

impl FeedForward {
    /// The part of a layer; the first layers of a model with experts may have none.
    pub fn load(layer: &LayerWeights<'_>) -> Result<FeedForward> {
        let experts = layer.config.experts.filter(|experts| layer.index >= experts.dense_layers);
        Ok(match experts {
            Some(experts) => FeedForward::Routed(Box::new(RoutedFeedForward::load(layer, experts)?)),
            None => FeedForward::Gated(Box::new(GatedFeedForward::load(layer)?)),
        })
    }

    /// What it makes of `x [t, width]`.
    pub fn apply(&self, x: &Tensor) -> wootz::Result<Tensor> {
        match self {
            FeedForward::Gated(ffn) => ffn.apply(x, Tensor::silu),
            FeedForward::Routed(ffn) => ffn.apply(x),
        }
    }
}

/// The two matrices that an expert begins with.
enum GateUp {
    Apart {
        gate: Stack,
        up: Stack,
    },
    /// One above the other.
    Together(Stack),
}

/// The expert that every token takes.
struct SharedExpert {
    ffn: GatedFeedForward,
    /// What its result is weighted by, through a sigmoid; Qwen only.
    weight: Option<Matrix>,
}

/// Weights of a token's experts that sum to less than this are not divided by their sum.
const LEAST_SUM: f64 = 6.103_515_625e-5;

impl RoutedFeedForward {
    pub fn load(layer: &LayerWeights<'_>, experts: Experts) -> Result<RoutedFeedForward> {
        let (width, Experts { count, own_count, ffn, .. }) = (layer.config.width, experts);
        let name = |part: &str| format!("blk.{}.{part}", layer.index);
        let stack = |part: &str, rows, columns| layer.weights.stack(&name(part), own_count, rows, columns);
        if count == 0 {
            return Err(Error::Model("a router without experts".into()));
        }
        Ok(RoutedFeedForward {
            router: layer.linear("ffn_gate_inp", count, width)?,
            choice_bias: layer.weights.optional_values(&name("exp_probs_b.bias"), &[count])?,
            gate_up: match layer.has("ffn_gate_up_exps") {
                true => GateUp::Together(stack("ffn_gate_up_exps", 2 * ffn, width)?),
                false => GateUp::Apart {
                    gate: stack("ffn_gate_exps", ffn, width)?,
                    up: stack("ffn_up_exps", ffn, width)?,
                },
            },
            down: stack("ffn_down_exps", width, ffn)?,
            down_scale: layer.weights.optional_values(&name("ffn_down_exps.scale"), &[count])?,
            shared: experts.shared_ffn.map(|ffn| SharedExpert::load(layer, ffn)).transpose()?,
            experts,
        })
    }

    /// The experts `[t, used]` of each token, and their weights.
    fn route(&self, x: &Tensor) -> wootz::Result<(Tensor, Tensor)> {
        let scores = self.router.apply(x)?;
        let scores = match self.experts.gating {
            Gating::Softmax => scores.softmax(-1)?,
            Gating::Sigmoid => scores.sigmoid()?,
        };
        let (chosen, mut weights) = self.choose(&scores)?;
        if self.experts.normalised {
            let sum = weights.sum_axes([-1], true)?.maximum(LEAST_SUM)?;
            weights = weights.div(&sum)?;
        }
        if let Some(scale) = self.experts.scale {
            weights = weights.mul(scale)?;
        }
        Ok((chosen, weights))
    }

    /// The best experts of each token and their scores.
    fn choose(&self, scores: &Tensor) -> wootz::Result<(Tensor, Tensor)> {
        let used = self.experts.used;
        if self.choice_bias.is_none() && self.experts.groups.is_none() {
            let (weights, chosen) = scores.top_k(used, -1)?;
            return Ok((chosen, weights));
        }
        let mut judged = scores.clone();
        if let Some(bias) = &self.choice_bias {
            judged = judged.add(bias)?;
        }
        if let Some([groups, taken]) = self.experts.groups {
            judged = of_best_groups(&judged, groups, taken)?;
        }
        let (_, chosen) = judged.top_k(used, -1)?;
        Ok((chosen.clone(), scores.take_along_axis(&chosen, -1)?))
    }

    /// The chosen experts as this rank counts its own, and which of them it has; all of them on one rank. Others stand for one that it
    /// has, whose result is not used.
    fn own(&self, chosen: &Tensor) -> wootz::Result<(Tensor, Option<Tensor>)> {
        let Experts { count, own_first, own_count, .. } = self.experts;
        if own_count == count {
            return Ok((chosen.clone(), None));
        }
        let (first, last) = (own_first as i64, (own_first + own_count - 1) as i64);
        let nearest = chosen.maximum(first)?.minimum(last)?;
        let is_own = nearest.equal(chosen)?;
        Ok((nearest.sub(first)?, Some(is_own)))
    }

    fn activate(&self, gate: &Tensor, up: &Tensor) -> wootz::Result<Tensor> {
        match self.experts.activation {
            ExpertActivation::Silu => gate.silu()?.mul(up),
            ExpertActivation::Gelu => gate.gelu_tanh()?.mul(up),
            ExpertActivation::Clamped => {
                let gate = gate.minimum(7.0)?;
                let up = up.maximum(-7.0)?.minimum(7.0)?;
                gate.mul(&gate.mul(1.702)?.sigmoid()?)?.mul(&up.add(1.0)?)
            }
        }
    }

    /// Gate and up of the chosen experts, `[t, used, ffn]` each.
    fn begin(&self, x: &Tensor, chosen: &Tensor) -> wootz::Result<[Tensor; 2]> {
        match &self.gate_up {
            GateUp::Apart { gate, up } => Ok([gate.apply(x, chosen)?, up.apply(x, chosen)?]),
            GateUp::Together(both) => {
                let (both, ffn) = (both.apply(x, chosen)?, self.experts.ffn);
                Ok([both.narrow(-1, 0, ffn)?, both.narrow(-1, ffn, ffn)?])
            }
        }
    }

    /// `Σ weight · down(silu(gate(x)) · up(x))` over the experts of each token, and the shared one.
    pub fn apply(&self, x: &Tensor) -> wootz::Result<Tensor> {
        self.apply_routed(x, x)
    }

    /// The same with experts chosen by `judged` instead of `x`.
    pub fn apply_routed(&self, x: &Tensor, judged: &Tensor) -> wootz::Result<Tensor> {
        let (chosen, mut weights) = self.route(judged)?;
        if let Some(scale) = &self.down_scale {
            weights = weights.mul(&scale.take(&chosen, 0)?)?;
        }
        let (chosen, is_own) = self.own(&chosen)?;
        let [gate, up] = self.begin(x, &chosen)?;
        let hidden = self.activate(&gate, &up)?;
        // [t, used, n] → a row for each expert of each token, which has that expert alone to meet.
        let (tokens, used) = (x.shape()[0], self.experts.used);
        let hidden = hidden.reshape([tokens * used, self.experts.ffn])?;
        let results = self.down.apply(&hidden, &chosen.reshape([tokens * used, 1])?)?;
        let mut results = results.reshape([tokens, used, x.shape()[1]])?.mul(&weights.unsqueeze(-1)?)?;
        if let Some(is_own) = is_own {
            results = is_own.unsqueeze(-1)?.where_(&results, 0.0)?;
        }
        let sum = self.down.whole(results.sum_axes([1], false)?)?;
        match &self.shared {
            Some(shared) => sum.add(&shared.apply(x)?),
            None => Ok(sum),
        }
    }
}

impl SharedExpert {
    fn load(layer: &LayerWeights<'_>, ffn: usize) -> Result<SharedExpert> {
        let names = ["ffn_gate_shexp", "ffn_up_shexp", "ffn_down_shexp"];
        Ok(SharedExpert {
            ffn: GatedFeedForward::named(layer, ffn, names)?,
            weight: match layer.has("ffn_gate_inp_shexp") {
                true => Some(layer.linear("ffn_gate_inp_shexp", 1, layer.config.width)?),
                false => None,
            },
        })
    }

    fn apply(&self, x: &Tensor) -> wootz::Result<Tensor> {
        let result = self.ffn.apply(x, Tensor::silu)?;
        match &self.weight {
            Some(weight) => result.mul(&weight.apply(x)?.sigmoid()?),
            None => Ok(result),
        }
    }
}

/// Scores `[t, experts]` with −∞ for all but the groups whose two best experts score most together.
fn of_best_groups(scores: &Tensor, groups: usize, taken: usize) -> wootz::Result<Tensor> {
    let (tokens, count) = (scores.shape()[0], scores.shape()[1]);
    let grouped = scores.reshape([tokens, groups, count / groups])?;
    let (best, _) = grouped.top_k(2, -1)?;
    let together = best.sum_axes([-1], false)?;
    let (_, chosen) = together.top_k(taken, -1)?;
    // [t, taken, 1] against [groups]: whether a group is one of the chosen.
    let all = Tensor::iota_on([groups], scores.device())?;
    let is_chosen = chosen.unsqueeze(-1)?.equal(&all)?.any_axes([1], false)?.unsqueeze(-1)?;
    is_chosen.where_(&grouped, f64::NEG_INFINITY)?.reshape([tokens, count])
}

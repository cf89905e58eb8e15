//! Sampling the next token from logits: a pure function of logits, history, settings and random state.
//!
//! Order: repetition penalty, top-k, top-p, min-p, temperature, draw. Temperature 0 is greedy; ties go to the first
//! token.

use crate::error::{Error, Result};
use wootz_gguf::Gguf;

/// Sampling options.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sampling {
    /// Temperature: divides the logits; 0 is greedy.
    pub temperature: f32,
    /// Sample from the `top_k` most likely tokens only; 0 is no limit.
    pub top_k: usize,
    /// Nucleus sampling: only the most likely tokens that together have this probability; 1 is no limit.
    pub top_p: f32,
    /// Only tokens with at least this fraction of the most likely one's probability; 0 is no limit.
    pub min_p: f32,
    /// Repetition penalty: makes recent tokens less likely; 1 is off.
    pub repeat_penalty: f32,
    /// Number of recent tokens that the penalty applies to.
    pub repeat_last: usize,
}

impl Default for Sampling {
    /// Typical settings of chat programs.
    fn default() -> Self {
        Sampling {
            temperature: 0.8,
            top_k: 40,
            top_p: 0.95,
            min_p: 0.05,
            repeat_penalty: 1.0,
            repeat_last: 64,
        }
    }
}

impl Sampling {
    /// Greedy sampling.
    pub const GREEDY: Sampling =
        Sampling { temperature: 0.0, top_k: 0, top_p: 1.0, min_p: 0.0, repeat_penalty: 1.0, repeat_last: 0 };

    /// The recommendations in a file's `general.sampling.*` keys; greedy if there are none.
    pub fn recommended(gguf: &Gguf) -> Result<Sampling> {
        let metadata = gguf.metadata();
        let number = |key: &str, default: f64| {
            let key = format!("general.sampling.{key}");
            let Some(value) = metadata.get(&key) else { return Ok(default) };
            let number = value.as_f64().or(value.as_i64().map(|i| i as f64));
            number.ok_or_else(|| Error::Sampling(format!("{key} is {}, not a number", value.describe())))
        };
        let usual = Sampling::default();
        let sampling = Sampling {
            temperature: number("temp", 0.0)? as f32,
            // A negative number is how some programs write "no limit".
            top_k: number("top_k", usual.top_k as f64)?.max(0.0) as usize,
            top_p: number("top_p", f64::from(usual.top_p))? as f32,
            min_p: number("min_p", f64::from(usual.min_p))? as f32,
            repeat_penalty: number("penalty_repeat", f64::from(usual.repeat_penalty))? as f32,
            repeat_last: number("penalty_last_n", usual.repeat_last as f64)?.max(0.0) as usize,
        };
        sampling.check()?;
        Ok(sampling)
    }

    /// Rejects invalid options.
    pub fn check(&self) -> Result<()> {
        let rules = [
            (
                self.temperature >= 0.0 && self.temperature.is_finite(),
                "temperature",
                self.temperature,
                "non-negative",
            ),
            (self.top_p > 0.0 && self.top_p <= 1.0, "top-p", self.top_p, "above 0 and at most 1"),
            ((0.0..=1.0).contains(&self.min_p), "min-p", self.min_p, "from 0 to 1"),
            (
                self.repeat_penalty > 0.0 && self.repeat_penalty.is_finite(),
                "repetition penalty",
                self.repeat_penalty,
                "above 0",
            ),
        ];
        match rules.iter().find(|r| !r.0) {
            Some((_, name, value, range)) => {
                Err(Error::Sampling(format!("{name} is {value}, but must be {range}")))
            }
            None => Ok(()),
        }
    }

    /// How many of the most likely tokens sampling needs; `None` for all logits.
    pub(crate) fn candidates_needed(&self) -> Option<usize> {
        let penalised = if self.repeat_penalty == 1.0 { 0 } else { self.repeat_last };
        let kept = if self.temperature == 0.0 { 1 } else { self.top_k };
        // A penalty below 1 makes tokens more likely that were not among the first.
        (kept > 0 && self.repeat_penalty >= 1.0).then_some(kept + penalised)
    }

    /// Samples a token. `history` are the preceding tokens, oldest first. The penalty modifies the logits.
    pub fn choose(&self, logits: &mut [f32], history: &[u32], random: &mut Random) -> Result<u32> {
        self.check()?;
        if let Some(i) = logits.iter().position(|l| l.is_nan()) {
            return Err(Error::Sampling(format!("logit {i} of {} is NaN", logits.len())));
        }
        self.penalise(history, |id, change| {
            if let Some(logit) = logits.get_mut(id as usize) {
                change(logit);
            }
        });
        let best = argmax(logits)?;
        let largest = logits[best as usize];
        if self.temperature == 0.0 || largest == f32::INFINITY {
            return Ok(best);
        }
        // Below this nothing can matter: its probability is zero in f32, or min-p excludes it.
        let floor = if self.min_p > 0.0 && self.top_k == 0 && self.top_p == 1.0 {
            largest + self.min_p.ln()
        } else {
            f32::NEG_INFINITY
        };
        let possible = |(_, l): &(usize, &f32)| **l > f32::NEG_INFINITY && **l >= floor;
        let all = logits.iter().enumerate().filter(possible).map(|(i, l)| (i as u32, *l)).collect();
        Ok(draw(&self.filtered(all, largest), self.temperature, random).unwrap_or(best))
    }

    /// Samples from a pass's scores: the same token as from all logits.
    pub(crate) fn choose_from(&self, offer: Offer, history: &[u32], random: &mut Random) -> Result<u32> {
        let (largest, mut candidates) = match offer {
            Offer::All(mut logits) => return self.choose(&mut logits, history, random),
            Offer::Best(token, logit) => (logit, vec![(token, logit)]),
            Offer::Top { largest, candidates } => (largest, candidates),
        };
        self.check()?;
        if largest.is_nan() {
            return Err(Error::Sampling("a logit is NaN".into()));
        }
        candidates.retain(|c| c.1 > f32::NEG_INFINITY);
        self.penalise(history, |id, change| {
            if let Some(candidate) = candidates.iter_mut().find(|c| c.0 == id) {
                change(&mut candidate.1);
            }
        });
        let none = || Error::Sampling("all logits are −∞".into());
        let &(best, largest) = candidates.iter().min_by(|a, b| order(a, b)).ok_or_else(none)?;
        if self.temperature == 0.0 || largest == f32::INFINITY {
            return Ok(best);
        }
        Ok(draw(&self.filtered(candidates, largest), self.temperature, random).unwrap_or(best))
    }

    /// Calls `visit` for each recent token with its penalised logit.
    fn penalise(&self, history: &[u32], mut visit: impl FnMut(u32, &dyn Fn(&mut f32))) {
        if self.repeat_penalty == 1.0 {
            return;
        }
        let mut recent = history[history.len().saturating_sub(self.repeat_last)..].to_vec();
        recent.sort_unstable();
        recent.dedup();
        let change = |l: &mut f32| {
            *l = if *l > 0.0 { *l / self.repeat_penalty } else { *l * self.repeat_penalty };
        };
        recent.into_iter().for_each(|id| visit(id, &change));
    }

    /// The tokens that pass the filters, sorted if a filter sorts.
    fn filtered(&self, mut all: Vec<(u32, f32)>, largest: f32) -> Vec<(u32, f32)> {
        if self.top_k > 0 {
            sort_first(&mut all, self.top_k);
            all.truncate(self.top_k);
        }
        if self.top_p < 1.0 {
            keep_mass(&mut all, largest, self.top_p);
        }
        if self.min_p > 0.0 {
            let floor = largest + self.min_p.ln();
            all.retain(|c| c.1 >= floor);
        }
        all
    }
}

/// What sampling needs of the logits.
#[derive(Clone, Debug)]
pub(crate) enum Offer {
    /// The most likely token and its logit.
    Best(u32, f32),
    /// The most likely tokens with their logits, and the largest logit, which is NaN if any is.
    Top { largest: f32, candidates: Vec<(u32, f32)> },
    /// All logits.
    All(Vec<f32>),
}

impl Offer {
    /// The most likely token; 0 if no logit is a number.
    pub fn best(&self) -> u32 {
        match self {
            Offer::Best(token, _) => *token,
            Offer::Top { candidates, .. } => candidates.first().map_or(0, |c| c.0),
            Offer::All(logits) => argmax(logits).unwrap_or(0),
        }
    }
}

/// The index of the largest logit, the first one of ties.
pub fn argmax(logits: &[f32]) -> Result<u32> {
    let mut best: Option<(usize, f32)> = None;
    for (i, &l) in logits.iter().enumerate() {
        if l > f32::NEG_INFINITY && best.is_none_or(|b| l > b.1) {
            best = Some((i, l));
        }
    }
    let none = || Error::Sampling(format!("all of {} logits are NaN or −∞", logits.len()));
    best.map(|b| b.0 as u32).ok_or_else(none)
}

/// More likely tokens first; ties in order of id.
fn order(a: &(u32, f32), b: &(u32, f32)) -> std::cmp::Ordering {
    b.1.total_cmp(&a.1).then(a.0.cmp(&b.0))
}

/// Sorts the first `n`, without sorting the rest.
fn sort_first(all: &mut [(u32, f32)], n: usize) {
    if n < all.len() {
        all.select_nth_unstable_by(n, order);
    }
    let n = n.min(all.len());
    all[..n].sort_unstable_by(order);
}

/// Keeps the most likely tokens until their probability reaches `p`. Sorts in growing steps, as a few are usually
/// enough.
fn keep_mass(all: &mut Vec<(u32, f32)>, best: f32, p: f32) {
    let weight = |l: f32| f64::from((l - best).exp());
    let goal = all.iter().map(|c| weight(c.1)).sum::<f64>() * f64::from(p);
    let mut sorted = 64;
    loop {
        sort_first(all, sorted);
        let mut sum = 0.0;
        let reached = all[..sorted.min(all.len())].iter().position(|c| {
            sum += weight(c.1);
            sum >= goal
        });
        match reached {
            Some(i) => return all.truncate(i + 1),
            None if sorted >= all.len() => return,
            None => sorted *= 8,
        }
    }
}

fn draw(kept: &[(u32, f32)], temperature: f32, random: &mut Random) -> Option<u32> {
    let best = kept.iter().map(|c| c.1).fold(f32::NEG_INFINITY, f32::max);
    let weight = |l: f32| f64::from((l - best) / temperature).exp();
    let mut at = random.unit() * kept.iter().map(|c| weight(c.1)).sum::<f64>();
    for c in kept {
        at -= weight(c.1);
        if at < 0.0 {
            return Some(c.0);
        }
    }
    // Rounding may leave a crumb behind the last one.
    kept.last().map(|c| c.0)
}

/// A small random number generator (SplitMix64): the same seed gives the same tokens on every machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Random(u64);

impl Random {
    /// A generator with a seed.
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A uniform number in [0, 1).
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wootz_gguf::{MetaValue, Writer};

    fn file(settings: &[(&str, MetaValue)]) -> Gguf {
        let mut writer = Writer::new();
        for (key, value) in settings {
            writer.set(format!("general.sampling.{key}"), value.clone());
        }
        Gguf::assemble(&writer, Vec::new()).unwrap()
    }

    #[test]
    fn a_file_recommends_settings() {
        let silent = Sampling::recommended(&file(&[])).unwrap();
        assert_eq!((silent.temperature, silent.repeat_penalty), (0.0, 1.0));
        let told = file(&[
            ("temp", MetaValue::F32(0.6)),
            ("top_k", MetaValue::I32(20)),
            ("top_p", MetaValue::F32(0.8)),
        ]);
        let told = Sampling::recommended(&told).unwrap();
        assert_eq!((told.temperature, told.top_k, told.top_p, told.min_p), (0.6, 20, 0.8, 0.05));
        let impossible = Sampling::recommended(&file(&[("temp", MetaValue::F32(f32::NAN))])).unwrap_err();
        assert!(impossible.to_string().contains("temperature is NaN"), "{impossible}");
        let text = Sampling::recommended(&file(&[("top_p", MetaValue::from("high"))])).unwrap_err();
        assert!(text.to_string().contains("general.sampling.top_p"), "{text}");
    }

    /// How often each of 5 tokens is drawn in 20 000.
    fn counts(sampling: Sampling) -> [usize; 5] {
        let mut random = Random::new(11);
        let mut counts = [0; 5];
        for _ in 0..20_000 {
            // Probabilities 0.4, 0.3, 0.2, 0.1 and none.
            let mut logits = [0.3f32.ln(), 0.4f32.ln(), f32::NEG_INFINITY, 0.1f32.ln(), 0.2f32.ln()];
            counts[sampling.choose(&mut logits, &[], &mut random).unwrap() as usize] += 1;
        }
        counts
    }

    const PLAIN: Sampling = Sampling { temperature: 1.0, ..Sampling::GREEDY };

    fn near(count: usize, probability: f64) -> bool {
        (count as f64 / 20_000.0 - probability).abs() < 0.015
    }

    #[test]
    fn draws_follow_the_probabilities() {
        let c = counts(PLAIN);
        assert!(
            near(c[0], 0.3) && near(c[1], 0.4) && c[2] == 0 && near(c[3], 0.1) && near(c[4], 0.2),
            "{c:?}"
        );
    }

    #[test]
    fn filters_keep_what_they_should() {
        let c = counts(Sampling { top_k: 2, ..PLAIN });
        assert!(near(c[1], 4.0 / 7.0) && near(c[0], 3.0 / 7.0) && c[3] + c[4] == 0, "{c:?}");
        // 0.4 + 0.3 does not reach 0.71, so the third stays too.
        let c = counts(Sampling { top_p: 0.71, ..PLAIN });
        assert!(near(c[1], 4.0 / 9.0) && c[4] > 0 && c[3] == 0, "{c:?}");
        let c = counts(Sampling { min_p: 0.6, ..PLAIN });
        assert!(near(c[1], 4.0 / 7.0) && c[3] + c[4] == 0, "{c:?}");
        let c = counts(Sampling { temperature: 0.5, ..PLAIN });
        assert!(near(c[1], 16.0 / 30.0) && near(c[3], 1.0 / 30.0), "{c:?}");
    }

    #[test]
    fn greedy_takes_the_first_of_the_best() {
        let mut random = Random::new(1);
        let mut logits = [1.0, 3.0, 3.0, -1.0];
        assert_eq!(Sampling::GREEDY.choose(&mut logits, &[], &mut random).unwrap(), 1);
        assert_eq!(random, Random::new(1), "greedy draws nothing");
    }

    #[test]
    fn repeated_tokens_lose() {
        let sampling = Sampling { repeat_penalty: 2.0, repeat_last: 2, ..Sampling::GREEDY };
        let mut logits = [4.0, 3.0, -1.0];
        assert_eq!(sampling.choose(&mut logits, &[0, 2, 0], &mut Random::new(1)).unwrap(), 1);
        assert_eq!(logits, [2.0, 3.0, -2.0]);
        // Out of the window, or no token at all, nothing happens.
        let mut logits = [4.0, 3.0, -1.0];
        assert_eq!(sampling.choose(&mut logits, &[0, 9, 9], &mut Random::new(1)).unwrap(), 0);
    }

    #[test]
    fn the_seed_decides() {
        let run = |seed| {
            let mut random = Random::new(seed);
            (0..50).map(|_| PLAIN.choose(&mut [0.0; 1000], &[], &mut random).unwrap()).collect::<Vec<_>>()
        };
        assert_eq!(run(5), run(5));
        assert_ne!(run(5), run(6));
    }

    #[test]
    fn an_offer_of_candidates_gives_the_token_of_all_logits() {
        let logits: Vec<f32> = (0..500).map(|i| ((i * 7919) % 499) as f32 / 50.0).collect();
        let mut order: Vec<(u32, f32)> = logits.iter().enumerate().map(|(i, l)| (i as u32, *l)).collect();
        order.sort_by(super::order);
        let history: Vec<u32> = order[..20].iter().map(|c| c.0).collect();
        for repeat_penalty in [1.0, 1.3] {
            for temperature in [0.0, 0.7] {
                let sampling = Sampling { temperature, repeat_penalty, ..Sampling::default() };
                let needed = sampling.candidates_needed().unwrap();
                let offer = Offer::Top { largest: order[0].1, candidates: order[..needed].to_vec() };
                for seed in 0..50 {
                    let all = sampling.choose(&mut logits.clone(), &history, &mut Random::new(seed)).unwrap();
                    let few = sampling.choose_from(offer.clone(), &history, &mut Random::new(seed)).unwrap();
                    assert_eq!(all, few, "{sampling:?} seed {seed}");
                }
            }
        }
        let nan = Offer::Best(3, f32::NAN);
        assert!(Sampling::GREEDY.choose_from(nan, &[], &mut Random::new(0)).is_err());
        assert_eq!(Sampling { top_k: 0, ..Sampling::default() }.candidates_needed(), None);
        assert_eq!(Sampling { repeat_penalty: 0.9, ..Sampling::GREEDY }.candidates_needed(), None);
    }

    #[test]
    fn a_wide_top_p_keeps_the_right_number() {
        // 10 000 equal tokens: a tenth of the mass is a tenth of the tokens.
        let sampling = Sampling { top_p: 0.1, ..PLAIN };
        let kept = sampling.filtered((0..10_000).map(|i| (i, 0.5)).collect(), 0.5);
        assert!((kept.len() as i64 - 1000).abs() <= 1, "{}", kept.len());
        assert!(kept.iter().enumerate().all(|(i, c)| c.0 == i as u32));
    }

    #[test]
    fn nonsense_is_an_error() {
        let mut random = Random::new(1);
        let error = |s: Sampling, logits: &mut [f32]| {
            s.choose(logits, &[], &mut Random::new(1)).unwrap_err().to_string()
        };
        assert!(error(PLAIN, &mut [0.0, f32::NAN]).contains("logit 1"));
        assert!(error(PLAIN, &mut [f32::NEG_INFINITY; 3]).contains("all of 3"));
        assert!(error(PLAIN, &mut []).contains("all of 0"));
        assert!(error(Sampling { temperature: -1.0, ..PLAIN }, &mut [0.0]).contains("temperature is -1"));
        assert!(error(Sampling { top_p: 0.0, ..PLAIN }, &mut [0.0]).contains("top-p is 0"));
        assert_eq!(PLAIN.choose(&mut [0.0, f32::INFINITY], &[], &mut random).unwrap(), 1);
    }
}

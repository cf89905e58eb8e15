//! The networks once more, as loops over f64 that follow the formulas of the papers one token at a time.

use crate::tiny::*;
use wootz_gguf::Gguf;

type Row = Vec<f64>;

/// `W·x` for the matrix of this name.
fn product(gguf: &Gguf, name: &str, x: &[f64]) -> Row {
    let w = stored(gguf, &format!("{name}.weight"));
    let mut y: Row = w.chunks_exact(x.len()).map(|row| row.iter().zip(x).map(|(w, x)| w * x).sum()).collect();
    if gguf.find_tensor(&format!("{name}.bias")).is_some() {
        let bias = stored(gguf, &format!("{name}.bias"));
        y.iter_mut().zip(bias).for_each(|(y, b)| *y += b);
    }
    y
}

fn rms_norm(x: &[f64], weight: &[f64]) -> Row {
    let mean = x.iter().map(|x| x * x).sum::<f64>() / x.len() as f64;
    let scale = 1.0 / (mean + f64::from(EPSILON)).sqrt();
    x.iter().zip(weight).map(|(x, w)| x * scale * w).collect()
}

fn layer_norm(x: &[f64], weight: &[f64], bias: &[f64], epsilon: f64) -> Row {
    let mean = x.iter().sum::<f64>() / x.len() as f64;
    let variance = x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / x.len() as f64;
    let scale = 1.0 / (variance + epsilon).sqrt();
    x.iter().zip(weight.iter().zip(bias)).map(|(x, (w, b))| (x - mean) * scale * w + b).collect()
}

fn add(x: &mut [f64], y: &[f64]) {
    x.iter_mut().zip(y).for_each(|(x, y)| *x += y);
}

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// Turns the heads of a row.
fn rotate(x: &mut [f64], position: usize, base: f64, interleaved: bool) {
    for head in x.chunks_exact_mut(HEAD_LEN) {
        for i in 0..HEAD_LEN / 2 {
            let angle = position as f64 * f64::from(base.powf(-2.0 * i as f64 / HEAD_LEN as f64) as f32);
            let (a, b) = if interleaved { (2 * i, 2 * i + 1) } else { (i, i + HEAD_LEN / 2) };
            let (sine, cosine) = angle.sin_cos();
            (head[a], head[b]) = (head[a] * cosine - head[b] * sine, head[a] * sine + head[b] * cosine);
        }
    }
}

/// Logits after every token of an attention family.
pub fn attention_logits(gguf: &Gguf, arch: &str, tokens: &[u32]) -> Vec<Row> {
    let gemma = arch == "gemma3";
    let embedding = stored(gguf, "token_embd.weight");
    let mut caches: Vec<(Vec<Row>, Vec<Row>)> = vec![Default::default(); layers(arch)];
    let mut logits = Vec::new();
    for (position, &token) in tokens.iter().enumerate() {
        let mut x: Row = embedding[token as usize * WIDTH..][..WIDTH].to_vec();
        if gemma {
            x.iter_mut().for_each(|x| *x *= (WIDTH as f64).sqrt());
        }
        for (i, cache) in caches.iter_mut().enumerate() {
            let name = |part: &str| format!("blk.{i}.{part}");
            let norm = |part: &str, x: &[f64]| rms_norm(x, &stored(gguf, &name(&format!("{part}.weight"))));
            let h = norm("attn_norm", &x);
            let [mut q, mut k, v] = ["attn_q", "attn_k", "attn_v"].map(|part| product(gguf, &name(part), &h));
            if gemma || arch == "qwen3" {
                q = q.chunks(HEAD_LEN).flat_map(|head| norm("attn_q_norm", head)).collect();
                k = k.chunks(HEAD_LEN).flat_map(|head| norm("attn_k_norm", head)).collect();
            }
            let windowed = gemma && (i + 1) % 6 != 0;
            let base = if windowed { 10_000.0 } else { 50_000.0 };
            rotate(&mut q, position, base, arch == "llama");
            rotate(&mut k, position, base, arch == "llama");
            cache.0.push(k);
            cache.1.push(v);
            let first = if windowed { (position + 1).saturating_sub(WINDOW) } else { 0 };
            let mixed = attend(&q, &cache.0[first..], &cache.1[first..]);
            let mut out = product(gguf, &name("attn_output"), &mixed);
            if gemma {
                out = norm("post_attention_norm", &out);
            }
            add(&mut x, &out);
            let h = norm("ffn_norm", &x);
            let (gate, up) = (product(gguf, &name("ffn_gate"), &h), product(gguf, &name("ffn_up"), &h));
            let act = |g: f64| match gemma {
                true => {
                    0.5 * g
                        * (1.0 + ((2.0 / std::f64::consts::PI).sqrt() * (g + 0.044715 * g.powi(3))).tanh())
                }
                false => g * sigmoid(g),
            };
            let gated: Row = gate.iter().zip(up).map(|(&g, u)| act(g) * u).collect();
            let mut out = product(gguf, &name("ffn_down"), &gated);
            if gemma {
                out = norm("post_ffw_norm", &out);
            }
            add(&mut x, &out);
        }
        let h = rms_norm(&x, &stored(gguf, "output_norm.weight"));
        logits.push(product(gguf, if gemma { "token_embd" } else { "output" }, &h));
    }
    logits
}

fn attend(q: &[f64], keys: &[Row], values: &[Row]) -> Row {
    let mut out = Vec::new();
    for (h, q) in q.chunks_exact(HEAD_LEN).enumerate() {
        let own = h / (HEADS / KV_HEADS) * HEAD_LEN..(h / (HEADS / KV_HEADS) + 1) * HEAD_LEN;
        let score = |k: &Row| {
            k[own.clone()].iter().zip(q).map(|(k, q)| k * q).sum::<f64>() / (HEAD_LEN as f64).sqrt()
        };
        let weights: Row = keys.iter().map(|k| score(k).exp()).collect();
        let sum: f64 = weights.iter().sum();
        let mix = |i: usize| weights.iter().zip(values).map(|(w, v)| w * v[own.start + i]).sum::<f64>() / sum;
        out.extend((0..HEAD_LEN).map(mix));
    }
    out
}

/// Logits after every token of RWKV-7.
pub fn recurrent_logits(gguf: &Gguf, tokens: &[u32]) -> Vec<Row> {
    let arch = "rwkv7";
    let embedding = stored(gguf, "token_embd.weight");
    let vector = |name: &str| stored(gguf, &format!("{name}.weight"));
    let norm = |name: &str, x: &[f64]| {
        layer_norm(x, &vector(name), &stored(gguf, &format!("{name}.bias")), f64::from(EPSILON))
    };
    let mut states = vec![vec![0.0; WIDTH * HEAD_LEN]; layers(arch)];
    let mut shifts = vec![[vec![0.0; WIDTH], vec![0.0; WIDTH]]; layers(arch)];
    let mut logits = Vec::new();
    for &token in tokens {
        let mut x = norm("token_embd_norm", &embedding[token as usize * WIDTH..][..WIDTH]);
        let mut first_value = None;
        for i in 0..layers(arch) {
            let name = |part: &str| format!("blk.{i}.{part}");
            let h = norm(&name("attn_norm"), &x);
            let past = std::mem::replace(&mut shifts[i][0], h.clone());
            let out = time_mix(gguf, i, &h, &past, &mut first_value, &mut states[i]);
            add(&mut x, &out);
            let h = norm(&name("attn_norm_2"), &x);
            let past = std::mem::replace(&mut shifts[i][1], h.clone());
            let lerp = vector(&name("channel_mix_lerp_k"));
            let mixed: Row = (0..WIDTH).map(|j| h[j] + (past[j] - h[j]) * lerp[j]).collect();
            let k: Row =
                product(gguf, &name("channel_mix_key"), &mixed).iter().map(|k| k.max(0.0).powi(2)).collect();
            add(&mut x, &product(gguf, &name("channel_mix_value"), &k));
        }
        logits.push(product(gguf, "output", &norm_out(gguf, &x)));
    }
    logits
}

fn norm_out(gguf: &Gguf, x: &[f64]) -> Row {
    let (weight, bias) = (stored(gguf, "output_norm.weight"), stored(gguf, "output_norm.bias"));
    layer_norm(x, &weight, &bias, f64::from(EPSILON))
}

fn time_mix(
    gguf: &Gguf,
    layer: usize,
    x: &[f64],
    past: &[f64],
    first: &mut Option<Row>,
    state: &mut [f64],
) -> Row {
    let name = |part: &str| format!("blk.{layer}.time_mix_{part}");
    let vector = |part: &str| stored(gguf, &format!("{}.weight", name(part)));
    let lerp = vector("lerp_fused");
    let mixed =
        |i: usize| -> Row { (0..WIDTH).map(|j| x[j] + (past[j] - x[j]) * lerp[i * WIDTH + j]).collect() };
    let low_rank = |part: &str, x: &[f64], inner: fn(f64) -> f64| -> Row {
        let h: Row = product(gguf, &name(&format!("{part}1")), x).into_iter().map(inner).collect();
        let mut y = product(gguf, &name(&format!("{part}2")), &h);
        add(&mut y, &vector(&format!("{part}0")));
        y
    };
    let r = product(gguf, &name("receptance"), &mixed(0));
    let decay = low_rank("w", &mixed(1), f64::tanh);
    let w: Row = decay.iter().map(|&d| (-(-0.5f64).exp() * sigmoid(d)).exp()).collect();
    let k = product(gguf, &name("key"), &mixed(2));
    let mut v = product(gguf, &name("value"), &mixed(3));
    match first {
        None => *first = Some(v.clone()),
        Some(first) => {
            let back = low_rank("v", &mixed(3), |x| x);
            (0..WIDTH).for_each(|j| v[j] += (first[j] - v[j]) * sigmoid(back[j]));
        }
    }
    let a: Row = low_rank("a", &mixed(4), |x| x).into_iter().map(sigmoid).collect();
    let inner: Row = product(gguf, &name("g1"), &mixed(5)).into_iter().map(sigmoid).collect();
    let g = product(gguf, &name("g2"), &inner);
    let (k_k, k_a, r_k) = (vector("k_k"), vector("k_a"), vector("r_k"));
    let mut out = Vec::new();
    for h in 0..WIDTH / HEAD_LEN {
        let own = |j: usize| h * HEAD_LEN + j;
        let kk: Row = (0..HEAD_LEN).map(|j| k[own(j)] * k_k[own(j)]).collect();
        let length = kk.iter().map(|k| k * k).sum::<f64>().sqrt().max(1e-12);
        let kk: Row = kk.iter().map(|k| k / length).collect();
        let key: Row = (0..HEAD_LEN).map(|j| k[own(j)] * (1.0 + (a[own(j)] - 1.0) * k_a[own(j)])).collect();
        let s = &mut state[h * HEAD_LEN * HEAD_LEN..][..HEAD_LEN * HEAD_LEN];
        let mut head = Vec::new();
        for (i, row) in s.chunks_exact_mut(HEAD_LEN).enumerate() {
            let removed: f64 = row.iter().zip(&kk).map(|(s, k)| -s * k).sum();
            for j in 0..HEAD_LEN {
                row[j] = row[j] * w[own(j)] + removed * kk[j] * a[own(j)] + v[own(i)] * key[j];
            }
            head.push((0..HEAD_LEN).map(|j| row[j] * r[own(j)]).sum::<f64>());
        }
        let head = layer_norm(&head, &vec![1.0; HEAD_LEN], &vec![0.0; HEAD_LEN], 64e-5);
        let bonus: f64 = (0..HEAD_LEN).map(|j| r[own(j)] * key[j] * r_k[own(j)]).sum();
        let (weight, bias) = (vector("ln"), stored(gguf, &format!("{}.bias", name("ln"))));
        out.extend((0..HEAD_LEN).map(|j| head[j] * weight[own(j)] + bias[own(j)] + bonus * v[own(j)]));
    }
    let out: Row = out.iter().zip(g).map(|(o, g)| o * g).collect();
    product(gguf, &name("output"), &out)
}

//! Device memory: the most that is live at once, beside inputs and outputs alone.

use super::{Case, Suite, Work, graph, input};
use wootz::{AttentionOptions, Result, Tensor};

/// No peer has these: other libraries count memory differently, if at all.
const KIND: (Suite, &str, &str) = (Suite::Memory, "memory", "");

pub fn cases() -> Vec<Case> {
    let n = 4 << 20;
    let (rows, width, inner) = (256, 512, 2048);
    let mlp = vec![
        input([rows, width], 1),
        input([width, inner], 2),
        input([width, inner], 3),
        input([inner, width], 4),
    ];
    let (heads, length, d) = (8, 512, 64);
    let heads_of = |seed| input([1, heads, length, d], seed);
    vec![
        graph(KIND, "memory of a chain of forty on 4M", least(8 * n), vec![input([n], 1)], chain),
        graph(KIND, "memory of softmax 1024x4096", least(8 * n), vec![input([1024, 4096], 1)], |t| {
            t[0].softmax(-1)
        }),
        graph(
            KIND,
            "memory of a gated mlp",
            least(4 * (2 * rows * width + 3 * width * inner)),
            mlp,
            gated_mlp,
        ),
        graph(
            KIND,
            "memory of attention 512",
            least(4 * 4 * heads * length * d),
            vec![heads_of(1), heads_of(2), heads_of(3)],
            |t| t[0].attention(&t[1], &t[2], AttentionOptions::default()),
        ),
    ]
}

fn least(bytes: usize) -> Work {
    Work { least_memory: Some(bytes as u64), ..Work::default() }
}

fn chain(t: &[Tensor]) -> Result<Tensor> {
    let mut x = t[0].clone();
    for _ in 0..20 {
        x = x.mul(0.5)?.add(&t[0])?;
    }
    Ok(x)
}

fn gated_mlp(t: &[Tensor]) -> Result<Tensor> {
    let gate = t[0].matmul(&t[1])?;
    gate.sigmoid()?.mul(&gate)?.mul(t[0].matmul(&t[2])?)?.matmul(&t[3])
}

//! A roofline as an SVG picture: both axes logarithmic, one point per dispatch.

use super::chips::Chip;
use super::counters::DispatchProfile;
use super::roofline::Roofline;
use std::fmt::Write;

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 440.0;
const LEFT: f64 = 70.0;
const BOTTOM: f64 = 50.0;
const TOP: f64 = 40.0;
const RIGHT: f64 = 20.0;
/// Decades of the horizontal axis: operations per byte.
const X: (f64, f64) = (-2.0, 4.0);

/// The picture.
pub fn svg(chip: &Chip, profiles: &[DispatchProfile]) -> String {
    let y = (0.0, (chip.f32_rate.log10() + 0.3).ceil());
    let px = |v: f64| LEFT + (v.log10().clamp(X.0, X.1) - X.0) / (X.1 - X.0) * (WIDTH - LEFT - RIGHT);
    let py =
        |v: f64| HEIGHT - BOTTOM - (v.log10().clamp(y.0, y.1) - y.0) / (y.1 - y.0) * (HEIGHT - BOTTOM - TOP);
    let mut s = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{HEIGHT}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n<text x=\"{LEFT}\" y=\"22\" font-size=\"15\">Roofline of {} ({} GB/s, {} Gflop/s)</text>\n",
        chip.name, chip.bandwidth, chip.f32_rate
    );
    for d in X.0 as i32..=X.1 as i32 {
        let x = px(10f64.powi(d));
        let _ = writeln!(
            s,
            "<line x1=\"{x:.1}\" y1=\"{TOP}\" x2=\"{x:.1}\" y2=\"{:.1}\" stroke=\"#ddd\"/><text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">1e{d}</text>",
            HEIGHT - BOTTOM,
            HEIGHT - BOTTOM + 16.0
        );
    }
    for d in y.0 as i32..=y.1 as i32 {
        let at = py(10f64.powi(d));
        let _ = writeln!(
            s,
            "<line x1=\"{LEFT}\" y1=\"{at:.1}\" x2=\"{:.1}\" y2=\"{at:.1}\" stroke=\"#ddd\"/><text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">1e{d}</text>",
            WIDTH - RIGHT,
            LEFT - 6.0,
            at + 4.0
        );
    }
    let ridge = chip.f32_rate / chip.bandwidth;
    let foot = 10f64.powf(X.0);
    let _ = writeln!(
        s,
        "<polyline fill=\"none\" stroke=\"#06c\" stroke-width=\"2\" points=\"{:.1},{:.1} {:.1},{:.1} {:.1},{:.1}\"/>",
        px(foot),
        py(foot * chip.bandwidth),
        px(ridge),
        py(chip.f32_rate),
        px(10f64.powf(X.1)),
        py(chip.f32_rate)
    );
    for p in profiles {
        let r = Roofline::new(chip, &p.counters);
        let (x, at) = (px(r.intensity.max(foot)), py(r.attainable.max(1.0)));
        let _ = writeln!(
            s,
            "<circle cx=\"{x:.1}\" cy=\"{at:.1}\" r=\"4\" fill=\"#c30\"/><text x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            x + 7.0,
            at + 14.0,
            escaped(&p.kernel)
        );
    }
    let _ = writeln!(
        s,
        "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">flop per byte of device memory</text>",
        WIDTH / 2.0,
        HEIGHT - 10.0
    );
    let _ = writeln!(
        s,
        "<text x=\"18\" y=\"{:.1}\" text-anchor=\"middle\" transform=\"rotate(-90 18 {:.1})\">Gflop/s attainable</text>\n</svg>",
        HEIGHT / 2.0,
        HEIGHT / 2.0
    );
    s
}

fn escaped(t: &str) -> String {
    t.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

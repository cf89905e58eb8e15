//! Rooflines: operations per second over operations per byte, both logarithmic, under a device's two limits.

use crate::run::{Contender, Kind, Limits, Run};
use crate::svg::{COLOURS_OF_SERIES, Svg, width_of};
use crate::text::{percent, rate, seconds, three};

/// One kernel under the roof.
pub(crate) struct Point {
    pub label: String,
    pub family: String,
    /// Operations per byte.
    pub intensity: f64,
    /// Operations per second.
    pub flops_per_s: f64,
    pub tip: String,
}

const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 500.0;
const LEFT: f64 = 74.0;
const RIGHT: f64 = 24.0;
const TOP: f64 = 64.0;
const BOTTOM: f64 = 52.0;
/// Sizes of labels.
const SIZE: f64 = 11.0;

/// Left, top, right, bottom.
type Frame = (f64, f64, f64, f64);

/// The axes: decades that hold all points and the roof's corner.
struct Axes {
    x: (f64, f64),
    y: (f64, f64),
}

impl Axes {
    fn around(points: &[Point], limits: &Limits) -> Axes {
        let ridge = limits.flops_per_s / limits.bytes_per_s;
        let left = points.iter().map(|p| p.intensity).fold(ridge, f64::min);
        let right = points.iter().map(|p| p.intensity).fold(ridge * 10.0, f64::max);
        let x = ((left.log10() - 0.15).floor(), (right.log10() + 0.15).ceil());
        let lowest = points.iter().map(|p| p.flops_per_s).fold(limits.flops_per_s, f64::min);
        let highest = points.iter().map(|p| p.flops_per_s).fold(limits.flops_per_s, f64::max);
        let y = (lowest.log10() - 0.45, highest.log10() + 0.35);
        Axes { x, y }
    }

    fn at(&self, x: f64, y: f64) -> (f64, f64) {
        let part = |v: f64, (low, high): (f64, f64)| (v.log10() - low) / (high - low);
        (
            LEFT + part(x, self.x) * (WIDTH - LEFT - RIGHT),
            HEIGHT - BOTTOM - part(y, self.y) * (HEIGHT - TOP - BOTTOM),
        )
    }
}

/// The roofline of one device with every case that does arithmetic.
pub(crate) fn of_device(run: &Run, device: &Contender) -> String {
    let Some(limits) = device.limits else { return String::new() };
    let mut points = Vec::new();
    for case in run.cases.iter().filter(|c| c.flops > 0.0 && c.bytes > 0.0) {
        let Some(measured) = case.measured(&device.name) else { continue };
        let best = measured.times.best_s;
        let of_limit =
            measured.of_limit.map(|f| format!(", {} of the limit", percent(f))).unwrap_or_default();
        points.push(Point {
            label: case.name.clone(),
            family: case.family.clone(),
            intensity: case.flops / case.bytes,
            flops_per_s: case.flops / best,
            tip: format!("{}: {}, {}{of_limit}", case.name, seconds(best), rate(case, best)),
        });
    }
    let software =
        if device.kind == Kind::Software { " (software: not the speed of any hardware)" } else { "" };
    draw(&format!("{}{software}: measured", device.name), &limits, &points)
}

/// A roofline with points.
pub(crate) fn draw(title: &str, limits: &Limits, points: &[Point]) -> String {
    let axes = Axes::around(points, limits);
    let mut svg = Svg::new();
    svg.text("head", (LEFT, 22.0), "start", title);
    grid(&mut svg, &axes);
    let mut placed = roof(&mut svg, &axes, limits);
    let families = families(points);
    legend(&mut svg, &families);
    for point in points {
        let at = axes.at(point.intensity, point.flops_per_s);
        placed.push((at.0 - 6.0, at.1 - 6.0, at.0 + 6.0, at.1 + 6.0));
    }
    for point in points {
        let at = axes.at(point.intensity, point.flops_per_s);
        let class = families.iter().position(|f| *f == point.family).unwrap_or(0) % COLOURS_OF_SERIES;
        svg.dot(&format!("f{class}"), at, &point.tip);
        label(&mut svg, &mut placed, at, &point.label);
    }
    svg.element(title, WIDTH, HEIGHT)
}

/// Families in the order of their first appearance.
fn families(points: &[Point]) -> Vec<&str> {
    let mut families: Vec<&str> = Vec::new();
    for point in points {
        if !families.contains(&point.family.as_str()) {
            families.push(&point.family);
        }
    }
    families
}

fn legend(svg: &mut Svg, families: &[&str]) {
    let mut x = LEFT + 5.0;
    for (i, family) in families.iter().enumerate() {
        svg.raw(&format!(r#"<circle class="f{}" cx="{x:.1}" cy="40" r="4"/>"#, i % COLOURS_OF_SERIES));
        svg.text("value", (x + 9.0, 44.0), "start", family);
        x += 27.0 + width_of(family, SIZE);
    }
}

fn grid(svg: &mut Svg, axes: &Axes) {
    let (bottom, right) = (HEIGHT - BOTTOM, WIDTH - RIGHT);
    for decade in axes.x.0 as i32..=axes.x.1 as i32 {
        let (x, _) = axes.at(10f64.powi(decade), 1.0);
        svg.line("grid", (x, TOP), (x, bottom));
        svg.text("tick", (x, bottom + 18.0), "middle", &plain(10f64.powi(decade)));
    }
    for decade in axes.y.0.ceil() as i32..=axes.y.1 as i32 {
        let (_, y) = axes.at(1.0, 10f64.powi(decade));
        svg.line("grid", (LEFT, y), (right, y));
        svg.text("tick", (LEFT - 8.0, y + 4.0), "end", &plain(10f64.powi(decade) / 1e9));
    }
    svg.line("axis", (LEFT, bottom), (right, bottom));
    svg.line("axis", (LEFT, TOP), (LEFT, bottom));
    svg.text("small", ((LEFT + right) / 2.0, HEIGHT - 10.0), "middle", "operations per byte of memory");
    svg.turned_text("small", (18.0, (TOP + bottom) / 2.0), -90.0, "GFLOP/s");
}

fn plain(x: f64) -> String {
    if x >= 1.0 { format!("{x:.0}") } else { format!("{x}") }
}

/// The two limits, each named along its line. Returns what is taken now, for labels to keep off.
fn roof(svg: &mut Svg, axes: &Axes, limits: &Limits) -> Vec<Frame> {
    let ridge = limits.flops_per_s / limits.bytes_per_s;
    let low = 10f64.powf(axes.x.0).max(10f64.powf(axes.y.0) / limits.bytes_per_s);
    let foot = axes.at(low, low * limits.bytes_per_s);
    let corner = axes.at(ridge, limits.flops_per_s);
    let end = axes.at(10f64.powf(axes.x.1), limits.flops_per_s);
    svg.raw(&format!(
        "<polyline class=\"roof\" points=\"{:.1},{:.1} {:.1},{:.1} {:.1},{:.1}\"/>\n",
        foot.0, foot.1, corner.0, corner.1, end.0, end.1
    ));
    let slope = ((corner.1 - foot.1) / (corner.0 - foot.0)).atan().to_degrees();
    let along = (foot.0 * 0.5 + corner.0 * 0.5, foot.1 * 0.5 + corner.1 * 0.5 - 9.0);
    svg.turned_text("name", along, slope, &format!("{} GB/s", three(limits.bytes_per_s / 1e9)));
    let flat = format!("{} GFLOP/s", three(limits.flops_per_s / 1e9));
    svg.text("name", (end.0 - 4.0, end.1 - 9.0), "end", &flat);
    let mut taken = vec![
        (corner.0, corner.1 - 2.0, end.0, corner.1 + 2.0),
        (end.0 - 100.0, end.1 - 22.0, end.0, end.1),
        (along.0 - 30.0, along.1 - 24.0, along.0 + 30.0, along.1 + 24.0),
    ];
    for i in 0..=60 {
        let part = f64::from(i) / 60.0;
        let (x, y) = (foot.0 + part * (corner.0 - foot.0), foot.1 + part * (corner.1 - foot.1));
        taken.push((x - 3.0, y - 3.0, x + 3.0, y + 3.0));
    }
    taken
}

/// Writes a label beside its dot where nothing else is, or nowhere: the dot's tip has it too.
fn label(svg: &mut Svg, placed: &mut Vec<Frame>, (x, y): (f64, f64), text: &str) {
    let width = width_of(text, SIZE);
    let spots = [
        (x + 9.0, y + 4.0),
        (x + 7.0, y - 7.0),
        (x + 7.0, y + 15.0),
        (x - width - 9.0, y + 4.0),
        (x - width / 2.0, y - 10.0),
        (x - width / 2.0, y + 19.0),
    ];
    for (left, base) in spots {
        let frame = (left, base - SIZE + 1.0, left + width, base + 3.0);
        let inside =
            frame.0 > LEFT && frame.2 < WIDTH - 4.0 && frame.1 > TOP - 10.0 && frame.3 < HEIGHT - BOTTOM;
        let free = placed.iter().all(|p| frame.2 < p.0 || p.2 < frame.0 || frame.3 < p.1 || p.3 < frame.1);
        if inside && free {
            svg.text("value", (left, base), "start", text);
            placed.push(frame);
            return;
        }
    }
}

//! Bar charts: the speed of each contender relative to a Wootz device, case by case. Longer is faster.

use crate::run::{Case, Run};
use crate::svg::{COLOURS_OF_SERIES, Svg};
use crate::text::{seconds, times};

const WIDTH: f64 = 960.0;
const LEFT: f64 = 210.0;
const RIGHT: f64 = 64.0;
const BAR: f64 = 9.0;
const GAP: f64 = 3.0;
/// The longest bar: peers beyond it are cut, and their figures say how fast they are.
const MOST: f64 = 2.0;

/// The bars of all cases that some peer has too; none without peers.
pub(crate) fn bars(run: &Run, device: &str) -> Option<String> {
    let peers: Vec<&str> = run.peers().map(|p| p.name.as_str()).collect();
    let cases: Vec<&Case> =
        run.cases.iter().filter(|c| peers.iter().any(|p| c.ratio(device, p).is_some())).collect();
    if cases.is_empty() {
        return None;
    }
    let mut svg = Svg::new();
    let title = format!("Speed relative to wootz on {device}: longer is faster");
    svg.text("head", (16.0, 22.0), "start", &title);
    legend(&mut svg, device, &peers);
    let speeds = cases.iter().flat_map(|c| peers.iter().filter_map(|p| Some(1.0 / c.ratio(device, p)?)));
    let most = speeds.fold(1.2, f64::max).min(MOST);
    let x = |speed: f64| LEFT + speed.min(most) / most * (WIDTH - LEFT - RIGHT);
    let top = 66.0;
    let mut y = top;
    let mut rows = Svg::new();
    for case in cases {
        y = group(&mut rows, case, device, &peers, y, &x) + 12.0;
    }
    for mark in [0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 2.0].into_iter().filter(|m| *m <= most) {
        svg.line(if mark == 1.0 { "one" } else { "grid" }, (x(mark), top - 6.0), (x(mark), y - 6.0));
        svg.text("tick", (x(mark), y + 10.0), "middle", &format!("{mark}×"));
    }
    svg.append(rows);
    Some(svg.element(&title, WIDTH, y + 24.0))
}

fn legend(svg: &mut Svg, device: &str, peers: &[&str]) {
    let mut x = 20.0;
    let ours = format!("wootz ({device})");
    for (i, name) in std::iter::once(ours.as_str()).chain(peers.iter().copied()).enumerate() {
        svg.raw(&format!(
            r#"<rect class="f{}" x="{x:.1}" y="36" width="10" height="10" rx="2"/>"#,
            i % COLOURS_OF_SERIES
        ));
        svg.text("value", (x + 15.0, 45.0), "start", name);
        x += 36.0 + crate::svg::width_of(name, 11.0);
    }
}

/// One case: our bar, then a bar for each peer that has it. Returns the lower end.
fn group(svg: &mut Svg, case: &Case, device: &str, peers: &[&str], top: f64, x: &impl Fn(f64) -> f64) -> f64 {
    let Some(ours) = case.best(device) else { return top };
    let mut bars = vec![(0, 1.0, ours, "wootz")];
    for (i, peer) in peers.iter().enumerate() {
        if let Some(theirs) = case.best(peer) {
            bars.push((i + 1, ours / theirs, theirs, peer));
        }
    }
    let height = bars.len() as f64 * (BAR + GAP) - GAP;
    svg.text("name", (LEFT - 14.0, top + height / 2.0 + 4.0), "end", &case.name);
    for (row, (colour, speed, time, name)) in bars.iter().enumerate() {
        let y = top + row as f64 * (BAR + GAP);
        let width = (x(*speed) - LEFT).max(1.5);
        let tip = format!("{}: {name} {}", case.name, seconds(*time));
        svg.bar(&format!("f{}", colour % COLOURS_OF_SERIES), (LEFT, y), (width, BAR), &tip);
        let class = if row == 0 { "value ours" } else { "value" };
        let value = if row == 0 { seconds(*time) } else { times(*speed) };
        svg.text(class, (LEFT + width + 6.0, y + BAR - 0.5), "start", &value);
    }
    top + height
}

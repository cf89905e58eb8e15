//! The page of `--html`: one file, no network, dark and light.

use crate::bars;
use crate::counted::{Chip, Counted};
use crate::page::{cases_table, counted_table, tiles};
use crate::roofline::{self, Point};
use crate::run::Run;
use crate::svg::COLOURS;
use crate::text::{bytes, escape, seconds};
use std::fmt::Write;

/// The page. Without counted kernels that section is left out.
pub fn html(run: &Run, counted: &[Counted], chips: &[Chip]) -> String {
    let title = format!("Wootz bench: {}", run.machine.processor);
    let mut body = String::new();
    header(&mut body, run);
    body.push_str(&tiles(run));
    rooflines(&mut body, run);
    peers(&mut body, run);
    body.push_str(
        "<h2>Every case</h2>\n<p>Best times with the spread of their repetitions. Click on a heading to sort.</p>\n",
    );
    body.push_str(&cases_table(run));
    if !counted.is_empty() {
        metal(&mut body, counted, chips);
    }
    footer(&mut body, run);
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>{}</title>\n\
         <style>\n{COLOURS}{}{}</style>\n</head>\n<body>\n<main>\n{body}</main>\n<script>\n{}</script>\n</body>\n</html>\n",
        escape(&title),
        include_str!("page.css"),
        include_str!("chart.css"),
        include_str!("page.js"),
    )
}

fn header(body: &mut String, run: &Run) {
    let machine = &run.machine;
    let _ = write!(
        body,
        "<header>\n<div class=\"mark\">Wootz bench</div><button id=\"theme\" type=\"button\">Dark</button>\n\
         <h1>{}</h1>\n<p class=\"meta\"><b>{}</b> threads · <b>{}</b> of memory · {} · wootz <b>{}</b> at <code>{}</code> · {}</p>\n</header>\n",
        escape(&machine.processor),
        machine.threads,
        bytes(machine.memory_bytes as f64),
        escape(&machine.system),
        escape(&run.version),
        escape(&run.revision),
        escape(&run.when.replace('T', " ").replace('Z', " UTC")),
    );
    if !run.complete {
        let count = run.cases.len();
        let _ = writeln!(body, "<p class=\"warn\">Partial: the run was interrupted after {count} cases.</p>");
    }
    if run.quick {
        body.push_str(
            "<p class=\"warn\">A quick run: few repetitions, so times are noisier than in a full one.</p>\n",
        );
    }
}

fn rooflines(body: &mut String, run: &Run) {
    body.push_str(
        "<h2>Under the roof</h2>\n<p>Each dot is a case. The line is what the device can do at most, measured in the same \
         run: a large copy on the slope, multiply-adds on the flat. The nearer to the line, the less is left to gain; dots \
         above the slope ran from a cache, dots above the flat part multiplied small integers.</p>\n",
    );
    for device in run.devices() {
        let _ = writeln!(body, "<figure>{}</figure>", roofline::of_device(run, device));
    }
}

fn peers(body: &mut String, run: &Run) {
    let Some(device) = run.devices().next() else { return };
    let Some(chart) = bars::bars(run, &device.name) else { return };
    let mut about = Vec::new();
    for peer in run.peers() {
        about.push(format!("{} {}", escape(&peer.name), escape(&peer.description)));
    }
    for skipped in &run.skipped {
        about.push(format!("{} was skipped ({})", escape(&skipped.name), escape(&skipped.reason)));
    }
    let _ = write!(
        body,
        "<h2>Beside other libraries</h2>\n<p>The same work on the same data, taking turns in one run, each with all threads. \
         {}.</p>\n<figure>{chart}</figure>\n",
        about.join("; ")
    );
}

/// Metal kernels: counts, and where they put a kernel under each chip's roof.
fn metal(body: &mut String, counted: &[Counted], chips: &[Chip]) {
    body.push_str(
        "<h2>Metal kernels: counted, not timed</h2>\n<p>SoftMetal ran these kernels and counted every byte and operation. \
         A chip's bandwidth and arithmetic rate then say how long it needs at least. Nobody ran them on that chip: \
         this is a calculation, not a measurement. Bytes are counted before any cache.</p>\n<div class=\"tools\">\n",
    );
    for (i, chip) in chips.iter().enumerate() {
        let _ = writeln!(
            body,
            "<button type=\"button\" data-show=\"{0}\" aria-pressed=\"{1}\">{0}</button>",
            escape(&chip.name),
            i == 0
        );
    }
    body.push_str("</div>\n");
    for (i, chip) in chips.iter().enumerate() {
        let points: Vec<Point> = counted.iter().filter(|c| c.flops > 0).map(|c| predicted(c, chip)).collect();
        let title = format!("{}: predicted from counts", chip.name);
        let chart = roofline::draw(&title, &chip.limits, &points);
        let _ = writeln!(
            body,
            "<div data-panel=\"{}\"{}><figure>{chart}</figure>\n{}</div>",
            escape(&chip.name),
            if i == 0 { "" } else { " hidden" },
            counted_table(counted, chip)
        );
    }
}

fn predicted(counted: &Counted, chip: &Chip) -> Point {
    let p = counted.on(chip);
    Point {
        label: counted.problem.clone(),
        family: counted.project.clone(),
        intensity: p.intensity,
        flops_per_s: p.flops_per_s,
        tip: format!(
            "{} {} on {}: at least {} on {}",
            counted.project,
            counted.kernel,
            counted.problem,
            seconds(p.least_s),
            chip.name
        ),
    }
}

fn footer(body: &mut String, run: &Run) {
    let files: Vec<&str> = run.skipped.iter().map(|s| s.name.as_str()).collect();
    let skipped = if files.is_empty() { "nothing".into() } else { escape(&files.join(", ")) };
    let _ = write!(
        body,
        "<footer><dl>\n\
         <dt>best ± spread</dt><dd>The fastest of the repeats; the spread is half the distance between the quartiles.</dd>\n\
         <dt>of the limit</dt><dd>The least time that the device's measured copy bandwidth and multiply-add rate allow for the \
         case's bytes and operations, divided by the best time. Above 100 % when data stayed in a cache.</dd>\n\
         <dt>ratios</dt><dd>A peer's best time over ours: above 1 we are faster.</dd>\n\
         <dt>skipped</dt><dd>{skipped}</dd>\n</dl></footer>\n"
    );
}

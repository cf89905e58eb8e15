//! SVG: a small builder, and the file of `--svg`.

use crate::run::Run;
use crate::text::escape;
use std::fmt::Write;

/// Colours of pictures and pages, light and dark.
pub(crate) const COLOURS: &str = include_str!("colours.css");

/// How many colours there are for series; more start over.
pub(crate) const COLOURS_OF_SERIES: usize = 10;

/// A picture under construction. Colours come from classes, so that one picture serves light and dark.
pub(crate) struct Svg {
    body: String,
}

impl Svg {
    pub fn new() -> Svg {
        Svg { body: String::new() }
    }

    /// A straight line of a class.
    pub fn line(&mut self, class: &str, (x1, y1): (f64, f64), (x2, y2): (f64, f64)) {
        let _ = writeln!(
            self.body,
            r#"<line class="{class}" x1="{x1:.1}" y1="{y1:.1}" x2="{x2:.1}" y2="{y2:.1}"/>"#
        );
    }

    /// Text of a class; `anchor` is start, middle or end.
    pub fn text(&mut self, class: &str, (x, y): (f64, f64), anchor: &str, text: &str) {
        let text = escape(text);
        let _ = writeln!(
            self.body,
            r#"<text class="{class}" x="{x:.1}" y="{y:.1}" text-anchor="{anchor}">{text}</text>"#
        );
    }

    /// Text of a class turned by degrees around its place.
    pub fn turned_text(&mut self, class: &str, (x, y): (f64, f64), degrees: f64, text: &str) {
        let text = escape(text);
        let _ = writeln!(
            self.body,
            r#"<text class="{class}" x="{x:.1}" y="{y:.1}" text-anchor="middle" transform="rotate({degrees:.1} {x:.1} {y:.1})">{text}</text>"#
        );
    }

    /// A rectangle of a class, with rounded ends and a tip.
    pub fn bar(&mut self, class: &str, (x, y): (f64, f64), (width, height): (f64, f64), tip: &str) {
        let tip = escape(tip);
        let _ = writeln!(
            self.body,
            r#"<rect class="{class}" x="{x:.1}" y="{y:.1}" width="{width:.1}" height="{height:.1}" rx="2"><title>{tip}</title></rect>"#
        );
    }

    /// A dot of a class, with a tip.
    pub fn dot(&mut self, class: &str, (x, y): (f64, f64), tip: &str) {
        let tip = escape(tip);
        let _ = writeln!(
            self.body,
            r#"<circle class="dot {class}" cx="{x:.1}" cy="{y:.1}" r="5"><title>{tip}</title></circle>"#
        );
    }

    /// Raw markup, already safe.
    pub fn raw(&mut self, markup: &str) {
        self.body.push_str(markup);
    }

    /// What another picture has, on top.
    pub fn append(&mut self, other: Svg) {
        self.body.push_str(&other.body);
    }

    /// The picture as an element of a page.
    pub fn element(self, label: &str, width: f64, height: f64) -> String {
        let label = escape(label);
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"chart\" viewBox=\"0 0 {width:.0} {height:.0}\" \
             role=\"img\" aria-label=\"{label}\">\n{}</svg>\n",
            self.body
        )
    }
}

/// How wide text is, near enough to keep labels apart.
pub(crate) fn width_of(text: &str, size: f64) -> f64 {
    text.chars().count() as f64 * size * 0.55
}

/// The file of `--svg`: the roofline of each device and the bars against peers, one under the other.
pub fn picture(run: &Run) -> String {
    let mut parts: Vec<String> = run.devices().map(|d| crate::roofline::of_device(run, d)).collect();
    parts.extend(run.devices().next().and_then(|d| crate::bars::bars(run, &d.name)));
    let (mut body, mut y) = (String::new(), 0.0);
    for part in parts {
        let height = height_of(&part);
        let inner = part.replacen(
            "<svg ",
            &format!("<svg x=\"0\" y=\"{y:.0}\" width=\"960\" height=\"{height:.0}\" "),
            1,
        );
        body.push_str(&inner);
        y += height + 24.0;
    }
    let sheet = include_str!("chart.css");
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"960\" height=\"{y:.0}\" viewBox=\"0 0 960 {y:.0}\">\n\
         <style>{COLOURS}{sheet}</style>\n<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n{body}</svg>\n"
    )
}

/// The height declared by an SVG that this crate wrote.
fn height_of(svg: &str) -> f64 {
    let inside = svg.split("viewBox=\"").nth(1).and_then(|s| s.split('"').next()).unwrap_or_default();
    inside.split(' ').nth(3).and_then(|h| h.parse().ok()).unwrap_or(0.0)
}

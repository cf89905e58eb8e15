//! The page of `wootz bench --serve URL --html FILE`: how servers answer under the same load.

use crate::svg::{COLOURS, COLOURS_OF_SERIES, Svg};
use crate::text::{escape, seconds, three};
use std::fmt::Write;

/// What was measured of one server.
#[derive(Clone, Debug, Default)]
pub struct Load {
    /// Its address.
    pub server: String,
    /// The model that answered.
    pub model: String,
    /// Requests in all, and those that failed.
    pub requests: usize,
    /// Requests that failed.
    pub failed: usize,
    /// Tokens of all answers, by the time of the whole run.
    pub tokens_per_second: f64,
    /// Tokens of all prompts.
    pub prompt_tokens: usize,
    /// How many of them the server had in its cache.
    pub cached_tokens: usize,
    /// Seconds to the first token of each answer.
    pub first: Vec<f64>,
    /// Seconds between tokens.
    pub between: Vec<f64>,
}

/// The time that a part of all times does not pass; none of no times.
pub fn percentile(times: &[f64], part: f64) -> Option<f64> {
    let mut times = times.to_vec();
    times.sort_by(f64::total_cmp);
    times.get((part * times.len().saturating_sub(1) as f64).round() as usize).copied()
}

const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 260.0;
const LEFT: f64 = 56.0;
const RIGHT: f64 = 24.0;
const TOP: f64 = 52.0;

/// The page: one file, no network, dark and light. `load` says what was sent.
pub fn load_page(load: &str, servers: &[Load]) -> String {
    let mut body = format!(
        "<header>\n<div class=\"mark\">Wootz bench</div><button id=\"theme\" type=\"button\">Dark</button>\n\
         <h1>Servers under load</h1>\n<p class=\"meta\">{}</p>\n</header>\n",
        escape(load)
    );
    for server in servers.iter().filter(|server| server.failed > 0) {
        let (failed, all, name) = (server.failed, server.requests, escape(&server.server));
        let _ = writeln!(body, "<p class=\"warn\">{failed} of {all} requests to {name} failed.</p>");
    }
    body.push_str("<div class=\"tiles\">\n");
    for server in servers {
        let (rate, name) = (three(server.tokens_per_second), escape(&server.server));
        let _ = writeln!(
            body,
            "<div class=\"tile\"><b>{rate}<small>tokens/s</small></b><span>{name}</span></div>"
        );
    }
    body.push_str("</div>\n");
    for (title, what, times) in [
        (
            "Time to the first token",
            "How many answers have begun after which time.",
            first as fn(&Load) -> &[f64],
        ),
        ("Time between tokens", "How many tokens came how soon after the one before.", between),
    ] {
        let _ = write!(body, "<h2>{title}</h2>\n<p>{what} Left and steep is better.</p>\n<figure>\n");
        body.push_str(&curves(title, servers, times));
        body.push_str("</figure>\n");
    }
    body.push_str(&table(servers));
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>Wootz bench: servers under load</title>\n\
         <style>\n{COLOURS}{}{}</style>\n</head>\n<body>\n<main>\n{body}</main>\n<script>\n{}</script>\n</body>\n</html>\n",
        include_str!("page.css"),
        include_str!("chart.css"),
        include_str!("page.js"),
    )
}

fn first(load: &Load) -> &[f64] {
    &load.first
}

fn between(load: &Load) -> &[f64] {
    &load.between
}

/// The part of all times that is not above each time, for every server, over a logarithmic axis.
fn curves(title: &str, servers: &[Load], times: fn(&Load) -> &[f64]) -> String {
    let mut svg = Svg::new();
    let all = servers.iter().flat_map(times).copied().filter(|t| *t > 0.0);
    let (low, high) = all.fold((f64::INFINITY, 0.0f64), |(low, high), t| (low.min(t), high.max(t)));
    if low > high {
        svg.text("value", (LEFT, TOP), "start", "no answer");
        return svg.element(title, WIDTH, 2.0 * TOP);
    }
    let (from, to) = (low.log10().floor(), high.log10().ceil().max(low.log10().floor() + 1.0));
    let x = |t: f64| LEFT + (t.max(low).log10() - from) / (to - from) * (WIDTH - LEFT - RIGHT);
    let y = |part: f64| TOP + (1.0 - part) * HEIGHT;
    for part in [0.0, 0.25, 0.5, 0.75, 1.0] {
        svg.line("grid", (LEFT, y(part)), (WIDTH - RIGHT, y(part)));
        svg.text("tick", (LEFT - 8.0, y(part) + 4.0), "end", &format!("{:.0} %", part * 100.0));
    }
    for power in from as i32..=to as i32 {
        let t = 10f64.powi(power);
        svg.line("grid", (x(t.max(low)), y(0.0)), (x(t.max(low)), y(1.0)));
        svg.text(
            "tick",
            (LEFT + (f64::from(power) - from) / (to - from) * (WIDTH - LEFT - RIGHT), y(0.0) + 18.0),
            "middle",
            &seconds(t),
        );
    }
    let mut legend = LEFT;
    for (i, server) in servers.iter().enumerate() {
        let class = i % COLOURS_OF_SERIES;
        svg.raw(&format!(
            "<rect class=\"f{class}\" x=\"{legend:.1}\" y=\"16\" width=\"10\" height=\"10\" rx=\"2\"/>"
        ));
        svg.text("value", (legend + 15.0, 25.0), "start", &server.server);
        legend += 36.0 + crate::svg::width_of(&server.server, 11.0);
        let mut points = String::new();
        for step in 0..=100 {
            let part = f64::from(step) / 100.0;
            let Some(t) = percentile(times(server), part) else { continue };
            let _ = write!(points, "{:.1},{:.1} ", x(t), y(part));
        }
        svg.raw(&format!(
            "<polyline points=\"{}\" fill=\"none\" stroke=\"var(--c{class})\" stroke-width=\"2\" stroke-linejoin=\"round\"/>\n",
            points.trim_end()
        ));
    }
    svg.element(title, WIDTH, TOP + HEIGHT + 32.0)
}

fn table(servers: &[Load]) -> String {
    let mut out = String::from(
        "<h2>All figures</h2>\n<p>Click on a heading to sort.</p>\n<div class=\"scroll\"><table>\n<thead><tr>",
    );
    let heads = [
        "server",
        "model",
        "requests",
        "failed",
        "tokens/s",
        "first p50",
        "first p90",
        "first p99",
        "between p50",
        "between p90",
        "between p99",
        "prompt tokens",
        "cached",
    ];
    for head in heads {
        let _ = write!(out, "<th scope=\"col\"><button type=\"button\">{head}</button></th>");
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for load in servers {
        let (server, model) = (escape(&load.server), escape(&load.model));
        let _ = write!(out, "<tr><td>{server}</td><td>{model}</td>");
        let mut number = |value: Option<f64>, text: String| {
            let value = value.map(|v| v.to_string()).unwrap_or_default();
            let _ = write!(out, "<td data-v=\"{value}\">{text}</td>");
        };
        for count in [load.requests, load.failed] {
            number(Some(count as f64), count.to_string());
        }
        number(Some(load.tokens_per_second), three(load.tokens_per_second));
        for times in [&load.first, &load.between] {
            for part in [0.5, 0.9, 0.99] {
                let time = percentile(times, part);
                number(time, time.map_or_else(|| "–".into(), seconds));
            }
        }
        for count in [load.prompt_tokens, load.cached_tokens] {
            number(Some(count as f64), count.to_string());
        }
        out.push_str("</tr>\n");
    }
    out + "</tbody></table></div>\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_of_sorted_times() {
        let times: Vec<f64> = (1..=100).rev().map(f64::from).collect();
        assert_eq!(
            [0.0, 0.5, 0.99, 1.0].map(|part| percentile(&times, part)),
            [1.0, 51.0, 99.0, 100.0].map(Some)
        );
        assert_eq!(percentile(&[], 0.5), None);
    }

    #[test]
    fn a_page_has_a_curve_for_each_server_and_escapes_their_names() {
        let times: Vec<f64> = (1..=50).map(|i| f64::from(i) * 1e-3).collect();
        let one = Load {
            server: "http://a".into(),
            model: "<b>".into(),
            requests: 50,
            tokens_per_second: 123.4,
            first: times.clone(),
            between: times,
            ..Load::default()
        };
        let none = Load { server: "http://c".into(), requests: 3, failed: 3, ..Load::default() };
        let page = load_page("50 requests", &[one, none]);
        assert_eq!(page.matches("<polyline points=\"").count(), 4);
        assert!(page.contains("&lt;b&gt;") && !page.contains("<b>&lt;") && page.contains("123"));
        assert!(page.contains("3 of 3 requests to http://c failed") && page.contains("50.0 ms"));
        assert!(load_page("", &[Load::default()]).contains("no answer"));
    }
}

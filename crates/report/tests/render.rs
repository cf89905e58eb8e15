//! A fixed run, rendered: what must be on the page, and what must not.

use wootz_report::*;

fn run() -> Run {
    Run::parse(include_str!("run.json"), "run.json").unwrap()
}

fn counted() -> Vec<Counted> {
    parse_counted(include_str!("counted.json"), "counted.json").unwrap()
}

fn chips() -> Vec<Chip> {
    let chip = |name: &str, gb: f64, gflops: f64| Chip {
        name: name.into(),
        limits: Limits { bytes_per_s: gb * 1e9, flops_per_s: gflops * 1e9 },
    };
    vec![chip("m1", 68.0, 2600.0), chip("m4-max", 546.0, 17040.0)]
}

fn count(text: &str, what: &str) -> usize {
    text.matches(what).count()
}

#[test]
fn a_run_survives_json() {
    let run = run();
    assert_eq!(Run::parse(&run.to_json(), "again").unwrap(), run);
}

#[test]
fn the_page_shows_every_case_and_every_dot() {
    let run = run();
    let page = html(&run, &counted(), &chips());
    for case in &run.cases {
        let name = case.name.replace('<', "&lt;").replace('>', "&gt;");
        assert!(page.contains(&format!("<td>{name}</td>")), "{name} is missing from the table");
    }
    let placed = run.cases.iter().filter(|c| c.flops > 0.0 && c.bytes > 0.0).count();
    let predicted = counted().iter().filter(|c| c.flops > 0).count() * chips().len();
    assert_eq!(count(&page, "<circle class=\"dot"), placed + predicted);
    assert_eq!(count(&page, "class=\"roof\""), 1 + chips().len());
    assert!(page.contains("134 GFLOP/s"), "the rate of matmul 1024");
    assert!(page.contains("88 %"), "its fraction of the limit");
    assert!(page.contains("225 tok/s"), "the rate of decode");
    assert!(page.contains("interrupted after 14 cases") && page.contains("quick run"));
    assert!(page.contains("counted, not timed") && page.contains("not a measurement"));
    assert!(page.contains("mlx was skipped (not installed"));
}

#[test]
fn the_page_is_self_contained_and_escapes_what_it_shows() {
    let page = html(&run(), &counted(), &chips());
    for outside in ["src=\"", "href=\"", "url(", "@import", "fetch(", "https://"] {
        assert!(!page.contains(outside), "{outside} asks for something outside");
    }
    assert_eq!(count(&page, "http://"), count(&page, "http://www.w3.org/2000/svg"), "only a namespace");
    assert!(!page.contains("<b>failed</b>") && !page.contains("<went>") && !page.contains("<& co>"));
    assert!(page.contains("the device said &quot;no&quot; &amp; &lt;went&gt;"));
}

#[test]
fn a_page_without_peers_or_counts_leaves_them_out() {
    let mut run = run();
    run.contenders.truncate(1);
    (run.complete, run.quick) = (true, false);
    let page = html(&run, &[], &chips());
    for absent in ["Beside other libraries", "counted, not timed", "Partial:", "A quick run"] {
        assert!(!page.contains(absent), "{absent}");
    }
}

#[test]
fn the_picture_has_the_roofline_and_the_bars() {
    let svg = picture(&run());
    assert!(svg.starts_with("<svg xmlns") && svg.ends_with("</svg>\n"));
    assert!(svg.contains("cpu: measured") && svg.contains("longer is faster"));
    assert_eq!(count(&svg, "<svg "), count(&svg, "</svg>"));
}

#[test]
fn changes_beyond_the_noise_are_told() {
    let old = run();
    let mut new = run();
    let scale = |case: &mut Case, by: f64| {
        if let Some(Outcome::Measured(m)) = case.results.get_mut("cpu") {
            m.times.best_s *= by;
        }
    };
    scale(&mut new.cases[0], 0.5);
    scale(&mut new.cases[1], 1.5);
    scale(&mut new.cases[2], 1.03);
    if let Some(Outcome::Measured(m)) = new.cases[3].results.get_mut("cpu") {
        m.times.best_s *= 1.2;
        m.times.spread = 0.3;
    }
    new.cases.remove(4);
    new.machine.threads = 64;
    let comparison = compare(&old, &new);
    let verdicts: Vec<Verdict> = comparison.changes.iter().take(4).map(|c| c.verdict).collect();
    assert_eq!(verdicts, [Verdict::Faster, Verdict::Slower, Verdict::Same, Verdict::Same]);
    assert_eq!(comparison.gone, ["add 10M on cpu"]);
    assert!(comparison.warnings.iter().any(|w| w.contains("machines differ")), "{:?}", comparison.warnings);
}

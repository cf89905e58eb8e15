//! The command line: list, check, run, profile.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const SOURCE: &str = "#include <metal_stdlib>
using namespace metal;
constant bool negate [[function_constant(0)]];
kernel void scale(device const float *x [[buffer(0)]], device float *y [[buffer(1)]], constant uint &n [[buffer(2)]], threadgroup float *t [[threadgroup(0)]],
                  uint i [[thread_position_in_grid]], uint l [[thread_index_in_threadgroup]]) {
  t[l] = i < n ? x[i] * 2 : 0;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  float s = simd_sum(t[l]);
  if (i < n) y[i] = (negate ? -t[l] : t[l]) + 0 * s;
}
kernel void racy(device float *y, uint i [[thread_position_in_grid]]) {
  y[0] += i;
}
";

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let dir = std::env::temp_dir().join(format!("softmetal-cli-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::write(dir.join("k.metal"), SOURCE).unwrap();
        Folder(dir)
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn softmetal(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_softmetal")).args(args).output().unwrap()
}

fn stdout(o: &Output) -> String {
    String::from_utf8_lossy(&o.stdout).into_owned()
}

#[test]
fn list_prints_bindings() {
    let f = Folder::new("list");
    let text = stdout(&softmetal(&["list", &f.path("k.metal")]));
    assert!(text.contains("scale\n  buffer(0) read: const float * x\n"), "{text}");
    assert!(text.contains("threadgroup(0) read-write: float * t") && text.contains("racy"), "{text}");
    let json: serde_json::Value =
        serde_json::from_slice(&softmetal(&["list", "--json", &f.path("k.metal")]).stdout).unwrap();
    assert_eq!(json[0]["bindings"][2]["kind"], "constant");
}

#[test]
fn check_counts_kernels_and_fails_on_errors() {
    let f = Folder::new("check");
    let good = softmetal(&["check", &f.path("k.metal")]);
    assert!(
        good.status.success() && stdout(&good).ends_with("2 kernels, 2 ok, 0 failed, 1 files\n"),
        "{}",
        stdout(&good)
    );
    std::fs::write(
        f.0.join("bad.metal"),
        format!("{SOURCE}\nkernel void broken(device float *y) {{ y[0] = oops; }}\n"),
    )
    .unwrap();
    let bad = softmetal(&["check", &f.path("k.metal"), &f.path("bad.metal")]);
    let text = stdout(&bad);
    assert!(
        !bad.status.success()
            && text.contains("5 kernels, 4 ok, 1 failed, 2 files")
            && text.contains("bad.metal:15:46: use of undeclared identifier 'oops'"),
        "{text}"
    );
    let json: serde_json::Value = serde_json::from_slice(
        &softmetal(&["check", "--json", "--codegen", "--kernel", "scale", &f.path("bad.metal")]).stdout,
    )
    .unwrap();
    assert_eq!((json["total"].as_u64(), json["failed"].as_u64()), (Some(1), Some(0)));
}

#[test]
fn check_tells_files_that_fail_as_a_whole_and_says_what_its_headers_assert() {
    let f = Folder::new("whole");
    std::fs::write(f.0.join("whole.metal"), "#include \"missing.h\"\n").unwrap();
    let bad = "kernel void bad(device float *y, uint i [[thread_position_in_grid]]) { y[i] = simd_sum(i > 3) + oops; }";
    std::fs::write(f.0.join("bad.metal"), format!("{SOURCE}\n{bad}\n")).unwrap();
    let text = stdout(&softmetal(&["check", &f.path("whole.metal"), &f.path("bad.metal")]));
    assert!(text.starts_with(&format!("FAIL  {}\n", f.path("whole.metal"))), "{text}");
    assert!(text.ends_with("3 kernels, 2 ok, 1 failed, 2 files, 1 of them failed as a whole\n"), "{text}");
    let says: Vec<&str> = text.lines().filter(|l| l.contains("bad.metal:15:")).collect();
    assert!(
        says[0].contains(": simd and quad functions take integers") && says[1].contains("oops"),
        "{text}"
    );
}

fn read_f32(path: &Path) -> Vec<f32> {
    let raw = std::fs::read(path).unwrap();
    let at = 10 + usize::from(u16::from_le_bytes([raw[8], raw[9]]));
    raw[at..].chunks_exact(4).map(|c| f32::from_le_bytes([c[0], c[1], c[2], c[3]])).collect()
}

#[test]
fn run_writes_results_and_profiles() {
    let f = Folder::new("run");
    let out = format!("1={}", f.path("y.npy"));
    let svg = f.path("roof.svg");
    let args = [
        "run",
        &f.path("k.metal"),
        "scale",
        "--grid",
        "100",
        "--threads",
        "32",
        "--arg",
        "0=iota:f32:100",
        "--arg",
        "1=zeros:f32:100",
        "--arg",
        "2=u32:100",
        "--threadgroup",
        "0=128",
        "--constant",
        "0=bool:true",
        "--out",
        &out,
    ];
    let plain = softmetal(&args);
    assert!(plain.status.success(), "{}", stdout(&plain));
    assert_eq!(read_f32(&f.0.join("y.npy")), (0..100).map(|i| -2.0 * i as f32).collect::<Vec<_>>());
    let mut more = args.to_vec();
    more.extend(["--sanitize", "--profile", "--chip", "m2-max", "--svg", &svg, "--json"]);
    let o = softmetal(&more);
    let json: serde_json::Value =
        serde_json::from_slice(&o.stdout).unwrap_or_else(|e| panic!("{e}: {}", stdout(&o)));
    assert_eq!(json["ok"], true, "{json}");
    let c = &json["profiles"][0]["profile"]["counters"];
    assert_eq!(
        (c["threads"].as_u64(), c["barriers"].as_u64(), c["simd_operations"].as_u64()),
        (Some(100), Some(4), Some(4))
    );
    // Each thread reads x and n once or twice, and writes y once.
    assert_eq!(c["device_bytes_written"].as_u64(), Some(400));
    assert!(c["flops_f32"].as_u64().unwrap() >= 100, "{c}");
    assert_eq!(json["profiles"][0]["roofline"]["bound"], "memory");
    assert!(std::fs::read_to_string(&svg).unwrap().contains("<polyline"));
}

#[test]
fn run_fails_with_reports_and_reasons() {
    let f = Folder::new("fail");
    let racy = softmetal(&[
        "run",
        &f.path("k.metal"),
        "racy",
        "--grid",
        "64",
        "--threads",
        "32",
        "--arg",
        "0=zeros:f32:1",
        "--sanitize",
        "--json",
    ]);
    assert!(!racy.status.success());
    let json: serde_json::Value = serde_json::from_slice(&racy.stdout).unwrap();
    assert_eq!(
        (&json["reports"][0]["kind"], json["reports"][0]["line"].as_u64()),
        (&"device_race".into(), Some(12))
    );
    for (args, words) in [
        (vec!["run", "/nowhere.metal", "k", "--grid", "1", "--threads", "1"], "/nowhere.metal"),
        (vec!["run", &f.path("k.metal"), "racy", "--grid", "1y", "--threads", "1"], "write N, NxM or NxMxK"),
        (
            vec![
                "run",
                &f.path("k.metal"),
                "racy",
                "--grid",
                "1",
                "--threads",
                "1",
                "--arg",
                "0=zeros:f99:1",
            ],
            "unknown type `f99`",
        ),
        (vec!["run", &f.path("k.metal"), "racy", "--grid", "1", "--threads", "1"], "is not bound"),
        (
            vec!["run", &f.path("k.metal"), "racy", "--grid", "1", "--threads", "1", "--chip", "m9"],
            "unknown chip",
        ),
        (vec!["list", &f.path("k.metal"), "--family", "apple99"], "unknown GPU family"),
    ] {
        let o = softmetal(&args);
        let text = String::from_utf8_lossy(&o.stderr).into_owned();
        assert!(!o.status.success() && text.contains(words), "{args:?}: {text}");
    }
}

#[test]
fn many_processes_share_an_empty_cache() {
    let f = Folder::new("shared");
    let check = || {
        Command::new(env!("CARGO_BIN_EXE_softmetal"))
            .args(["check", "--codegen", &f.path("k.metal")])
            .env("SOFTMETAL_CACHE", f.path("cache"))
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap()
    };
    let running: Vec<_> = (0..4).map(|_| check()).collect();
    for process in running {
        let output = process.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    // What one of them left half-made would be found by the next: nothing is, and every kernel is whole.
    let output = check().wait_with_output().unwrap();
    assert!(stdout(&output).contains("2 kernels, 2 ok"), "{}", stdout(&output));
    let left = walk(&f.0.join("cache"));
    assert!(left.iter().all(|name| !name.contains(".making-")), "{left:?}");
}

/// Every path below a folder.
fn walk(dir: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().path());
    entries
        .flat_map(|p| {
            let inside = if p.is_dir() { walk(&p) } else { vec![] };
            [p.display().to_string()].into_iter().chain(inside)
        })
        .collect()
}

/// An array that no memory has is refused at once; it took a minute.
#[test]
fn arrays_of_arguments_are_bounded() {
    let f = Folder::new("bounds");
    let run = |what: &str, more: &[&str]| {
        let file = f.path("k.metal");
        let mut args = vec!["run", &file, "racy", "--grid", "1", "--threads", "1", "--arg", what];
        args.extend(more);
        let output = softmetal(&args);
        (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let started = std::time::Instant::now();
    for what in ["0=zeros:f32:99999999999999", "0=rand:f32:99999999999999", "0=ones:f32:18446744073709551615"]
    {
        let (ok, text) = run(what, &[]);
        assert!(!ok && text.contains("--array-limit"), "{what}: {text}");
    }
    assert!(started.elapsed() < std::time::Duration::from_secs(30));
    assert!(!run("0=zeros:f32:100", &["--array-limit", "399"]).0);
    assert!(run("0=zeros:f32:100", &["--array-limit", "400"]).0);
}

#[cfg(unix)]
#[test]
fn an_isolated_kernel_has_limits_and_gives_the_same() {
    let f = Folder::new("isolate");
    let source = "#include <metal_stdlib>\nkernel void fill(device float* x, uint i [[thread_position_in_grid]]) { x[i] = i; }\n\
        kernel void wild(device float* x, uint i [[thread_position_in_grid]]) { x[ulong(i) << 40] = 1; }\n\
        kernel void endless(device float* x) { volatile device float* p = x; while (p[0] == 0) { } }\n";
    std::fs::write(f.0.join("own.metal"), source).unwrap();
    let run = |kernel: &str, more: &[&str]| {
        let (file, out) = (f.path("own.metal"), format!("0={}", f.path("out.npy")));
        let mut args = vec!["run", &file, kernel, "--grid", "8", "--threads", "8", "--arg", "0=zeros:f32:8"];
        args.extend(["--out", &out, "--isolate"]);
        args.extend(more);
        let output = softmetal(&args);
        let text = [&output.stdout[..], &output.stderr].concat();
        (output.status.success(), String::from_utf8_lossy(&text).into_owned())
    };
    let (ok, text) = run("fill", &[]);
    assert!(ok, "{text}");
    let bytes = std::fs::read(f.0.join("out.npy")).unwrap();
    assert_eq!(bytes[bytes.len() - 4..], 7f32.to_le_bytes());
    for (kernel, more, expected) in [
        ("wild", &[][..], "faulted"),
        ("endless", &["--time-limit", "0.5"], "0.5"),
        ("fill", &["--isolate-memory", "1000000"], ""),
    ] {
        let (ok, text) = run(kernel, more);
        assert!(!ok && !text.is_empty() && text.contains(expected), "{kernel}: {text}");
    }
}

/// A cache that cannot be written, or no home to keep one in, makes things slower and nothing worse.
#[test]
fn no_cache_folder_is_no_failure() {
    let f = Folder::new("no-cache");
    let command = |args: &[&str]| {
        let mut c = Command::new(env!("CARGO_BIN_EXE_softmetal"));
        c.args(args).env_remove("HOME").env_remove("XDG_CACHE_HOME").env_remove("SOFTMETAL_CACHE");
        c
    };
    let file = f.path("k.metal");
    let temp = f.path("temp");
    std::fs::create_dir_all(&temp).unwrap();
    let homeless = command(&["check", &file]).env("TMPDIR", &temp).output().unwrap();
    assert!(homeless.status.success(), "{}", String::from_utf8_lossy(&homeless.stderr));
    // Nothing stays behind under a name that somebody else could have made first.
    assert!(!Path::new(&temp).join("softmetal").exists());
    let unwritable = command(&["check", &file]).env("SOFTMETAL_CACHE", "/proc/softmetal").output().unwrap();
    assert!(unwritable.status.success(), "{}", String::from_utf8_lossy(&unwritable.stderr));
}

/// `softmetal list FILE | head -1`
#[cfg(unix)]
#[test]
fn a_closed_pipe_ends_it_quietly() {
    let f = Folder::new("pipe");
    let many: String =
        (0..4000).map(|i| format!("kernel void k{i}(device float *o) {{ o[0] = {i}; }}\n")).collect();
    std::fs::write(f.0.join("many.metal"), many).unwrap();
    let line = format!("{} list {} | head -1", env!("CARGO_BIN_EXE_softmetal"), f.path("many.metal"));
    let out = Command::new("sh").args(["-c", &line]).output().unwrap();
    assert_eq!(stdout(&out).lines().count(), 1);
    assert!(out.stderr.is_empty(), "{}", String::from_utf8_lossy(&out.stderr));
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_one_line() {
    let f = Folder::new("full");
    let file = f.path("k.metal");
    let run = ["run", &file, "racy", "--grid", "1", "--threads", "1", "--arg", "0=zeros:f32:9"];
    for args in [&["list", &file][..], &["check", &file], &run] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let out = Command::new(env!("CARGO_BIN_EXE_softmetal")).args(args).stdout(full).output().unwrap();
        let text = String::from_utf8_lossy(&out.stderr);
        assert_eq!(out.status.code(), Some(2), "{args:?}: {text}");
        assert!(
            text.contains("cannot write to standard output") && text.lines().count() == 1,
            "{args:?}: {text}"
        );
    }
}

#[test]
fn run_binds_textures_and_samplers() {
    let f = Folder::new("textures");
    std::fs::write(
        f.0.join("t.metal"),
        "#include <metal_stdlib>\nusing namespace metal;\n\
         kernel void fill(texture2d<float, access::write> t [[texture(0)]], uint2 p [[thread_position_in_grid]]) { t.write(p.y * 4 + p.x, p); }\n\
         kernel void half_way(texture2d<float> a [[texture(0)]], texture2d<float, access::write> b [[texture(1)]], sampler s [[sampler(0)]],\n\
           uint2 p [[thread_position_in_grid]]) { b.write(a.sample(s, float2(p) + float2(1, 0.5)), p); }\n",
    )
    .unwrap();
    let (file, first, second) = (f.path("t.metal"), f.path("a.npy"), f.path("b.npy"));
    let run = |kernel: &str, more: &[&str]| {
        let o = softmetal(
            &[&["run", &file, kernel, "--grid", "4x2", "--threads", "4x2", "--sanitize"], more].concat(),
        );
        assert!(o.status.success(), "{}{}", stdout(&o), String::from_utf8_lossy(&o.stderr));
    };
    run("fill", &["--texture", "0=r32float:4x2", "--texture-out", &format!("0={first}")]);
    assert_eq!(read_f32(&f.0.join("a.npy")), [0., 1., 2., 3., 4., 5., 6., 7.]);
    let (from, out) = (format!("0=r32float:{first}"), format!("1={second}"));
    let textures = ["--texture", &from, "--texture", "1=r32float:4x2", "--texture-out", &out];
    run("half_way", &[&textures[..], &["--sampler", "0=linear,pixel,edge"]].concat());
    assert_eq!(read_f32(&f.0.join("b.npy")), [0.5, 1.5, 2.5, 3., 4.5, 5.5, 6.5, 7.]);
    let o = softmetal(&["run", &file, "fill", "--grid", "1", "--threads", "1", "--texture", "0=rgb7:4x2"]);
    assert!(String::from_utf8_lossy(&o.stderr).contains("unknown pixel format `rgb7`"), "{o:?}");
}

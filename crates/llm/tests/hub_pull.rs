//! Pulling from a hub: a small server of this test, and the real client.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};
use wootz_llm::pull::Progress;
use wootz_llm::pull::hub::{Hub, Reference};

/// What the server has, and how it behaves.
#[derive(Default)]
struct Shop {
    files: Vec<(String, Vec<u8>)>,
    /// Lie about checksums.
    lie: bool,
    /// Break off the next download after so many bytes.
    break_after: Option<usize>,
    /// Say nothing more after so many bytes, and keep the line open.
    silent_after: Option<usize>,
    /// Request lines and ranges, as they came.
    seen: Vec<String>,
}

fn serve(shop: Arc<Mutex<Shop>>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let _ = answer(stream, &shop);
        }
    });
    address
}

fn answer(mut stream: TcpStream, shop: &Mutex<Shop>) -> std::io::Result<()> {
    let mut lines = BufReader::new(stream.try_clone()?).lines();
    let request = lines.next().unwrap_or(Ok(String::new()))?;
    let mut from = 0;
    for line in lines {
        let line = line?.to_ascii_lowercase();
        if let Some(range) = line.strip_prefix("range: bytes=") {
            from = range.trim_end_matches('-').parse().unwrap_or(0);
        }
        if line.is_empty() {
            break;
        }
    }
    let mut shop = shop.lock().unwrap();
    shop.seen.push(format!("{request} from {from}"));
    let (method, path) = (request.split(' ').next().unwrap_or(""), request.split(' ').nth(1).unwrap_or(""));
    let Some((_, body)) = shop.files.iter().find(|(name, _)| name == path) else {
        return write!(stream, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    };
    let sum = if shop.lie { "0".repeat(64) } else { sha256(body) };
    let total = body.len();
    let body = body[from..].to_vec();
    let status = match from {
        0 => "200 OK".to_string(),
        _ => format!("206 Partial Content\r\nContent-Range: bytes {from}-{}/{total}", total - 1),
    };
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Length: {}\r\nETag: \"{sum}\"\r\nConnection: close\r\n\r\n",
        body.len()
    )?;
    if let ("GET", Some(count)) = (method, shop.silent_after) {
        stream.write_all(&body[..count.min(body.len())])?;
        // Kept open for the life of the test.
        std::mem::forget(stream);
        return Ok(());
    }
    if method == "GET" {
        let cut = shop.break_after.take().unwrap_or(body.len());
        stream.write_all(&body[..cut.min(body.len())])?;
    }
    Ok(())
}

fn sha256(data: &[u8]) -> String {
    use sha2::Digest;
    sha2::Sha256::digest(data).iter().map(|b| format!("{b:02x}")).collect()
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .map(|list| list.flatten().map(|e| e.file_name().to_string_lossy().into_owned()).collect())
        .unwrap_or_default();
    names.sort();
    names
}

#[test]
fn one_file_with_resume_and_checksum() {
    let body: Vec<u8> = (0..200_000u32).map(|i| (i * 7 % 251) as u8).collect();
    let path = "/some/models/resolve/main/small.gguf".to_string();
    let shop = Arc::new(Mutex::new(Shop {
        files: vec![(path, body.clone())],
        break_after: Some(50_000),
        ..Shop::default()
    }));
    let hub = Hub::new(serve(shop.clone()));
    let cache = tempfile::tempdir().unwrap();
    let folder = cache.path().join("some--models");
    let reference = Reference::parse("hf:some/models/small.gguf").unwrap();
    let error = hub.pull(&reference, cache.path(), &mut |_| {}).unwrap_err().to_string();
    assert!(error.contains("small.gguf"), "{error}");
    assert_eq!(names(&folder), ["small.gguf.partial"], "nothing looks like a model");
    let mut last = None;
    let file = hub.pull(&reference, cache.path(), &mut |p| last = Some(p)).unwrap();
    assert_eq!(std::fs::read(&file).unwrap(), body);
    assert_eq!(last, Some(Progress::Downloading { done: 200_000, total: 200_000 }));
    assert_eq!(names(&folder), ["small.gguf"]);
    let seen = shop.lock().unwrap().seen.clone();
    assert!(seen.last().unwrap().ends_with("from 50000"), "only the rest was asked for: {seen:?}");
    hub.pull(&reference, cache.path(), &mut |_| panic!("no work is left")).unwrap();
    assert_eq!(shop.lock().unwrap().seen.len(), seen.len(), "what is there is not asked for");
}

#[test]
fn wrong_checksums_missing_files_and_silent_hubs() {
    let path = "/some/models/resolve/v2/x.gguf".to_string();
    let shop = Shop { files: vec![(path, vec![1; 100])], lie: true, ..Shop::default() };
    let hub = Hub::new(serve(Arc::new(Mutex::new(shop))));
    let cache = tempfile::tempdir().unwrap();
    let failed = |hub: &Hub, reference: &str| {
        let reference = Reference::parse(reference).unwrap();
        hub.pull(&reference, cache.path(), &mut |_| {}).unwrap_err().to_string()
    };
    let error = failed(&hub, "hf:some/models@v2/x.gguf");
    assert!(error.contains("checksum") && error.contains("0000"), "{error}");
    assert!(names(&cache.path().join("some--models/@v2")).is_empty());
    let error = failed(&hub, "hf:some/models/other.gguf");
    assert!(error.contains("other.gguf") && error.contains("404"), "{error}");
    // Nobody listens there.
    let error = failed(&Hub::new("http://127.0.0.1:9"), "hf:some/models/x.gguf");
    assert!(error.contains("127.0.0.1") && error.contains("curl"), "{error}");
}

#[test]
fn a_hub_that_goes_silent_is_given_up() {
    let path = "/some/models/resolve/main/x.gguf".to_string();
    let shop = Shop { files: vec![(path, vec![1; 100_000])], silent_after: Some(10), ..Shop::default() };
    let hub = Hub::new(serve(Arc::new(Mutex::new(shop)))).stall_after(2);
    let cache = tempfile::tempdir().unwrap();
    let reference = Reference::parse("hf:some/models/x.gguf").unwrap();
    let started = std::time::Instant::now();
    let error = hub.pull(&reference, cache.path(), &mut |_| {}).unwrap_err().to_string();
    assert!(started.elapsed() < std::time::Duration::from_secs(30), "{:?}", started.elapsed());
    assert!(error.contains("x.gguf") && error.contains("slow"), "{error}");
    assert!(!cache.path().join("some--models/x.gguf").exists());
}

#[test]
fn a_repository_becomes_a_folder() {
    let file = |name: &str| (format!("/a/b/resolve/main/{name}"), name.as_bytes().to_vec());
    let mut files: Vec<_> = ["config.json", "tokenizer.json", "model.safetensors"].map(file).to_vec();
    let list = r#"{"siblings": [{"rfilename": "config.json"}, {"rfilename": "tokenizer.json"},
        {"rfilename": "model.safetensors"}, {"rfilename": "onnx/model.onnx"}, {"rfilename": "README.md"}]}"#;
    files.push(("/api/models/a/b/revision/main".into(), list.as_bytes().to_vec()));
    let only_gguf = r#"{"siblings": [{"rfilename": "x-q4.gguf"}, {"rfilename": "config.json"}]}"#;
    files.push(("/api/models/a/c/revision/main".into(), only_gguf.as_bytes().to_vec()));
    let hub = Hub::new(serve(Arc::new(Mutex::new(Shop { files, ..Shop::default() }))));
    let cache = tempfile::tempdir().unwrap();
    let folder = hub.pull(&Reference::parse("hf:a/b").unwrap(), cache.path(), &mut |_| {}).unwrap();
    assert_eq!(names(&folder), [".files", "config.json", "model.safetensors", "tokenizer.json"]);
    let error = hub.pull(&Reference::parse("hf:a/c").unwrap(), cache.path(), &mut |_| {}).unwrap_err();
    assert!(error.to_string().contains("x-q4.gguf"), "{error}");
}

#[test]
fn references_are_read_and_escapes_refused() {
    let read = |text| Reference::parse(text).unwrap();
    let plain = Reference { repository: "o/r".into(), revision: "main".into(), file: None };
    assert_eq!(read("hf:o/r"), plain);
    assert_eq!(read("hf:o/r/f.gguf"), Reference { file: Some("f.gguf".into()), ..plain.clone() });
    assert_eq!(read("hf:o/r@x/sub/f").file.as_deref(), Some("sub/f"));
    for wrong in ["hf:", "hf:o", "hf:o/", "hf:../r", "hf:o/r/../../x", "hf:o/r//x", "hf:o/r/a b", "o/r"] {
        assert!(Reference::parse(wrong).is_err(), "{wrong}");
    }
}

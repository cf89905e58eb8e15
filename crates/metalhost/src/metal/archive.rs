//! Binary archives: which pipelines have been compiled. Not thread-safe, like Apple's: use during another thread's
//! addition is reported.

use super::library::Function;
use super::{ARCHIVE as ARCHIVE_CLASS, descriptor, options};
use crate::abi::{Bool, Id, Out, methods};
use crate::foundation::{error, url};
use crate::objc::object::Strong;
use crate::report::{Kind, report};
use parking_lot::{Mutex, RwLock, RwLockReadGuard};
use std::collections::BTreeSet;

/// What an archive holds.
#[derive(Debug)]
pub struct Archive {
    keys: Mutex<BTreeSet<u64>>,
    busy: RwLock<()>,
    device: Strong,
}

impl Archive {
    /// Whether a function was added.
    pub fn has(&self, key: u64) -> bool {
        self.keys.lock().contains(&key)
    }

    /// A pipeline is looked for while the result lives.
    pub fn begin_use(&self) -> RwLockReadGuard<'_, ()> {
        self.busy.try_read().unwrap_or_else(|| {
            report(Kind::Thread, "an archive is read while another thread changes it");
            self.busy.read()
        })
    }
}

const FIRST_LINE: &str = "softmetal archive 1";
const DOMAIN: &str = "MTLBinaryArchiveDomain";

/// An archive, empty or from a file.
pub fn open(device: Id, wanted: Id, out: Out) -> Id {
    options::begin(out);
    let mut keys = BTreeSet::new();
    let address = descriptor::object(wanted, "url");
    if !address.is_nil() {
        let path = url::expect(address, "the descriptor's url");
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(e) => return error::fail(out, DOMAIN, 1, format!("{path}: {e}")),
        };
        let mut lines = text.lines();
        let good = lines.next() == Some(FIRST_LINE);
        let parsed: Result<BTreeSet<u64>, _> = lines.map(str::parse).collect();
        match parsed {
            Ok(read) if good => keys = read,
            _ => return error::fail(out, DOMAIN, 1, format!("{path} is not an archive")),
        }
    }
    let content = Archive { keys: Mutex::new(keys), busy: RwLock::new(()), device: Strong::of(device) };
    Strong::new(&ARCHIVE_CLASS, content).into_owned()
}

fn own(this: Id) -> &'static Archive {
    this.expect::<Archive>("the archive")
}

methods! { pub ARCHIVE;
    "device" (this) -> Id { own(this).device.id() }
    "addComputePipelineFunctionsWithDescriptor:error:" (this, given: Id, _out: Out) -> Bool {
        let archive = own(this);
        let function = descriptor::object(given, "computeFunction").expect::<Function>("the compute function");
        let _busy = archive.busy.try_write().unwrap_or_else(|| {
            report(Kind::Thread, "an archive is changed while another thread uses it");
            archive.busy.write()
        });
        archive.keys.lock().insert(function.key);
        true.into()
    }
    "serializeToURL:error:" (this, address: Id, out: Out) -> Bool {
        let archive = own(this);
        let path = url::expect(address, "the address");
        let _busy = archive.begin_use();
        let keys: Vec<String> = archive.keys.lock().iter().map(u64::to_string).collect();
        match std::fs::write(&path, format!("{FIRST_LINE}\n{}\n", keys.join("\n"))) {
            Ok(()) => true.into(),
            Err(e) => {
                error::fail(out, DOMAIN, 2, format!("{path}: {e}"));
                false.into()
            }
        }
    }
}

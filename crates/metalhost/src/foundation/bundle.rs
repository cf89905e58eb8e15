//! `NSBundle`, `NSProcessInfo` and `NSFileManager`: the program's location, its arguments, and files.

use super::names::{NSFileType, NSFileTypeRegular, NSFileTypeSymbolicLink};
use super::{NSBUNDLE, NSFILE_MANAGER, NSPROCESS_INFO, array, dictionary, error, root, string, url};
use crate::abi::{Bool, Id, Out, methods};
use crate::objc::object::Strong;
use std::sync::LazyLock;

static MAIN: LazyLock<Strong> = LazyLock::new(|| root::plain(&NSBUNDLE));
static PROCESS_INFO: LazyLock<Strong> = LazyLock::new(|| root::plain(&NSPROCESS_INFO));
static MANAGER: LazyLock<Strong> = LazyLock::new(|| root::plain(&NSFILE_MANAGER));

/// The folder of the program.
fn folder() -> String {
    let path = std::env::current_exe().unwrap_or_default();
    path.parent().map_or(String::new(), |p| p.display().to_string())
}

fn resource(name: Id, kind: Id) -> Option<String> {
    let name = string::expect(name, "the name");
    let kind = string::text(kind).filter(|k| !k.is_empty()).map_or(String::new(), |k| format!(".{k}"));
    let path = format!("{}/{name}{kind}", folder());
    std::path::Path::new(&path).exists().then_some(path)
}

methods! { pub BUNDLE;
    "bundlePath" (this) -> Id { string::make(folder()).autoreleased() }
    "resourcePath" (this) -> Id { string::make(folder()).autoreleased() }
    "resourceURL" (this) -> Id { url::make(folder()).autoreleased() }
    "bundleIdentifier" (this) -> Id { Id::NIL }
    "pathForResource:ofType:" (this, name: Id, kind: Id) -> Id {
        resource(name, kind).map_or(Id::NIL, |path| string::make(path).autoreleased())
    }
    "URLForResource:withExtension:" (this, name: Id, kind: Id) -> Id {
        resource(name, kind).map_or(Id::NIL, |path| url::make(path).autoreleased())
    }
}

methods! { pub BUNDLE_CLASS;
    "mainBundle" (this) -> Id { MAIN.id() }
    "bundleForClass:" (this, _class: Id) -> Id { MAIN.id() }
    "allBundles" (this) -> Id { array::make(vec![MAIN.clone()]).autoreleased() }
}

methods! { pub PROCESS;
    "environment" (this) -> Id {
        let pairs = std::env::vars().map(|(k, v)| (string::make(k), string::make(v)));
        dictionary::make(pairs.collect()).autoreleased()
    }
    "arguments" (this) -> Id { array::make(std::env::args().map(string::make).collect()).autoreleased() }
    "processName" (this) -> Id {
        let path = std::env::current_exe().unwrap_or_default();
        string::make(path.file_name().map_or(String::new(), |n| n.to_string_lossy().into_owned())).autoreleased()
    }
    "processorCount" (this) -> usize { std::thread::available_parallelism().map_or(1, |n| n.get()) }
    "activeProcessorCount" (this) -> usize { std::thread::available_parallelism().map_or(1, |n| n.get()) }
    "physicalMemory" (this) -> u64 {
        // SAFETY: both only ask the system.
        let (pages, size) = unsafe { (libc::sysconf(libc::_SC_PHYS_PAGES), libc::sysconf(libc::_SC_PAGESIZE)) };
        (pages.max(0) as u64) * (size.max(0) as u64)
    }
    "isLowPowerModeEnabled" (this) -> Bool { false.into() }
    "hasPerformanceProfile:" (this, _profile: isize) -> Bool { false.into() }
}

methods! { pub PROCESS_CLASS;
    "processInfo" (this) -> Id { PROCESS_INFO.id() }
}

methods! { pub FILES;
    "fileExistsAtPath:" (this, path: Id) -> Bool { std::path::Path::new(&string::expect(path, "the path")).exists().into() }
    "isReadableFileAtPath:" (this, path: Id) -> Bool { std::fs::File::open(string::expect(path, "the path")).is_ok().into() }
    "attributesOfItemAtPath:error:" (this, path: Id, out: Out) -> Id {
        let path = string::expect(path, "the path");
        match std::fs::symlink_metadata(&path) {
            Ok(found) => {
                let kind = if found.is_symlink() { NSFileTypeSymbolicLink } else { NSFileTypeRegular };
                dictionary::make(vec![(Strong::of(NSFileType), Strong::of(kind))]).autoreleased()
            }
            Err(e) => error::fail(out, "NSCocoaErrorDomain", 260, format!("{path}: {e}")),
        }
    }
    "destinationOfSymbolicLinkAtPath:error:" (this, path: Id, out: Out) -> Id {
        let path = string::expect(path, "the path");
        match std::fs::read_link(&path) {
            Ok(to) => string::make(to.display().to_string()).autoreleased(),
            Err(e) => error::fail(out, "NSCocoaErrorDomain", 256, format!("{path}: {e}")),
        }
    }
    "currentDirectoryPath" (this) -> Id {
        string::make(std::env::current_dir().unwrap_or_default().display().to_string()).autoreleased()
    }
}

methods! { pub FILES_CLASS;
    "defaultManager" (this) -> Id { MANAGER.id() }
}

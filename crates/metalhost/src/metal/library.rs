//! Libraries and functions.

use super::constants::Values;
use super::device::Device;
use super::{FUNCTION as FUNCTION_CLASS, LIBRARY as LIBRARY_CLASS, argument, descriptor, options};
use crate::abi::{Block, Id, Out, methods};
use crate::foundation::{array, dictionary, error, number, string};
use crate::objc::block::Held;
use crate::objc::object::{self, Strong};
use crate::report::{Kind, raise, report};
use softmetal::{CompileOptions, FunctionConstants};
use std::hash::{BuildHasher, BuildHasherDefault};

/// What a library holds.
#[derive(Debug)]
pub struct Library {
    soft: softmetal::Library,
    /// Tells libraries apart.
    key: u64,
    device: Strong,
}

/// What a function holds.
#[derive(Debug)]
pub struct Function {
    /// The function under Metal.
    pub soft: softmetal::Function,
    /// Tells functions with their constants apart.
    pub key: u64,
    /// The device.
    pub device: Strong,
}

fn hash(parts: &[&str]) -> u64 {
    BuildHasherDefault::<rustc_hash::FxHasher>::default().hash_one(parts)
}

fn compile_options(wanted: Id) -> CompileOptions {
    let version = descriptor::number(wanted, "languageVersion", descriptor::LANGUAGE);
    let macros = dictionary::pairs(descriptor::object(wanted, "preprocessorMacros"));
    let defines = macros.into_iter().map(|(name, value)| {
        let text = string::text(value.id()).or_else(|| number::text(value.id()));
        (
            string::expect(name.id(), "a macro's name"),
            text.unwrap_or_else(|| raise("a macro is a string or a number")),
        )
    });
    let safe = descriptor::number(wanted, "mathMode", 2) == 0;
    CompileOptions {
        defines: defines.collect(),
        language_version: ((version >> 16) * 100 + (version & 0xffff) * 10) as u32,
        fast_math: descriptor::number(wanted, "fastMathEnabled", 1) != 0 && !safe,
        ..CompileOptions::default()
    }
}

/// A library from source; the compiler's words where it does not compile.
pub fn from_source(device: Id, source: &str, wanted: Id) -> Result<Strong, String> {
    let own = device.expect::<Device>("the device");
    let options = compile_options(wanted);
    let soft = own.soft.new_library(source, &options).map_err(|e| e.to_string())?;
    if own.options.eager {
        let names = soft.function_names();
        if let Some(e) = soft.check_all(&own.soft, &names).into_iter().flatten().next() {
            return Err(e.to_string());
        }
    }
    let key = hash(&[source, &format!("{options:?}")]);
    Ok(Strong::new(&LIBRARY_CLASS, Library { soft, key, device: Strong::of(device) }))
}

/// A library from a file: what Apple's compiler made (`.metallib`), or source.
pub fn from_file(device: Id, path: &str, out: Out) -> Id {
    options::begin(out);
    let bytes = match std::fs::read(path) {
        Ok(bytes) => bytes,
        Err(e) => return error::fail(out, "MTLLibraryErrorDomain", 6, format!("{path}: {e}")),
    };
    if bytes.starts_with(b"MTLB") {
        return match softmetal::Library::from_metallib_bytes(bytes, path) {
            Ok(soft) => {
                let content = Library { soft, key: hash(&[path]), device: Strong::of(device) };
                Strong::new(&LIBRARY_CLASS, content).into_owned()
            }
            Err(e) => error::fail(out, "MTLLibraryErrorDomain", 1, e.to_string()),
        };
    }
    match from_source(device, &String::from_utf8_lossy(&bytes), Id::NIL) {
        Ok(made) => made.into_owned(),
        Err(message) => error::fail(out, "MTLLibraryErrorDomain", 3, message),
    }
}

/// `default.metallib` or `default.metal` beside the program, or nil.
pub fn default_library(device: Id) -> Id {
    let folder = std::env::current_exe().ok().and_then(|p| p.parent().map(std::path::Path::to_path_buf));
    let paths = ["default.metallib", "default.metal"].map(|name| folder.as_ref().map(|f| f.join(name)));
    let path = paths.into_iter().flatten().find(|p| p.exists());
    path.map_or(Id::NIL, |p| from_file(device, &p.display().to_string(), Out(std::ptr::null_mut())))
}

fn own(this: Id) -> &'static Library {
    this.expect::<Library>("the library")
}

fn function(this: Id, name: &str, constants: &FunctionConstants) -> Result<Strong, String> {
    let library = own(this);
    let soft = library.soft.function_with_constants(name, constants).map_err(|e| e.to_string())?;
    let key = hash(&[&library.key.to_string(), name, &format!("{constants:?}")]);
    Ok(Strong::new(&FUNCTION_CLASS, Function { soft, key, device: library.device.clone() }))
}

/// A function with the values given. Metal takes a constant without one for zero, which is reported: programs do not mean it.
fn specialised(this: Id, name: &str, given: Id) -> Result<Strong, String> {
    let constants = values(given);
    match own(this).soft.function_with_constants(name, &constants) {
        Err(e @ softmetal::Error::Constant { .. }) if !given.is_nil() => {
            let made = function(this, name, &constants.with_rest_zero())?;
            report(Kind::Argument, format!("{e}: taken for zero"));
            Ok(made)
        }
        _ => function(this, name, &constants),
    }
}

fn values(given: Id) -> FunctionConstants {
    if given.is_nil() {
        FunctionConstants::new()
    } else {
        given.expect::<Values>("the constant values").current()
    }
}

/// The error of a function that cannot be had.
fn missing(out: Out, message: String) -> Id {
    error::fail(out, "MTLLibraryErrorDomain", 5, message)
}

methods! { pub LIBRARY;
    "device" (this) -> Id { own(this).device.id() }
    "functionNames" (this) -> Id {
        array::make(own(this).soft.function_names().into_iter().map(string::make).collect()).autoreleased()
    }
    "type" (this) -> isize { 0 }
    "installName" (this) -> Id { Id::NIL }
    "newFunctionWithName:" (this, name: Id) -> Id {
        function(this, &string::expect(name, "the name"), &FunctionConstants::new()).map_or(Id::NIL, Strong::into_owned)
    }
    "newFunctionWithName:constantValues:error:" (this, name: Id, given: Id, out: Out) -> Id {
        options::begin(out);
        match specialised(this, &string::expect(name, "the name"), given) {
            Ok(made) => made.into_owned(),
            Err(message) => missing(out, message),
        }
    }
    "newFunctionWithName:constantValues:completionHandler:" (this, name: Id, given: Id, done: Block) {
        let Some(done) = Held::new(done) else { raise("the handler must not be nil") };
        let (made, failure) = match specialised(this, &string::expect(name, "the name"), given) {
            Ok(made) => (made.autoreleased(), Id::NIL),
            Err(message) => (Id::NIL, error::make("MTLLibraryErrorDomain", 5, message).autoreleased()),
        };
        // SAFETY: handlers of this method take a function and an error.
        unsafe { done.call2(made, failure) };
    }
    "newFunctionWithDescriptor:error:" (this, wanted: Id, out: Out) -> Id {
        options::begin(out);
        let name = string::expect(descriptor::object(wanted, "name"), "the descriptor's name");
        match specialised(this, &name, descriptor::object(wanted, "constantValues")) {
            Ok(made) => {
                object::set_label(made.id(), string::text(descriptor::object(wanted, "specializedName")));
                made.into_owned()
            }
            Err(message) => missing(out, message),
        }
    }
}

methods! { pub FUNCTION;
    "device" (this) -> Id { this.expect::<Function>("the function").device.id() }
    "name" (this) -> Id { string::make(this.expect::<Function>("the function").soft.name()).autoreleased() }
    "functionType" (this) -> usize { 3 }
    "newArgumentEncoderWithBufferIndex:" (this, index: usize) -> Id { argument::from_function(this, index) }
    "options" (this) -> usize { 0 }
    "functionConstantsDictionary" (this) -> Id { dictionary::make(Vec::new()).autoreleased() }
}

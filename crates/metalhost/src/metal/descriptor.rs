//! Descriptors: objects that only contain settings.

use crate::abi::{Bool, Id, methods};
use crate::objc::class;
use crate::objc::object::{self, Strong};
use parking_lot::Mutex;
use rustc_hash::FxHashMap;

/// The settings of a descriptor, by name.
#[derive(Debug, Default)]
pub struct Settings {
    numbers: Mutex<FxHashMap<&'static str, usize>>,
    objects: Mutex<FxHashMap<&'static str, Strong>>,
}

fn own(this: Id) -> &'static Settings {
    this.expect::<Settings>("the descriptor")
}

/// A number of a descriptor; the default where it was not set, or where there is no descriptor.
pub fn number(this: Id, name: &'static str, default: usize) -> usize {
    if this.is_nil() {
        return default;
    }
    own(this).numbers.lock().get(name).copied().unwrap_or(default)
}

/// An object of a descriptor, or nil.
pub fn object(this: Id, name: &'static str) -> Id {
    if this.is_nil() {
        return Id::NIL;
    }
    own(this).objects.lock().get(name).map_or(Id::NIL, Strong::id)
}

fn set(this: Id, name: &'static str, value: usize) {
    own(this).numbers.lock().insert(name, value);
}

fn set_object(this: Id, name: &'static str, value: Id) {
    let old = {
        let mut objects = own(this).objects.lock();
        if value.is_nil() { objects.remove(name) } else { objects.insert(name, Strong::of(value)) }
    };
    drop(old);
}

fn copy(this: Id) -> Id {
    let from = own(this);
    let settings = Settings {
        numbers: Mutex::new(from.numbers.lock().clone()),
        objects: Mutex::new(from.objects.lock().clone()),
    };
    let made = Strong::new(class::of(this), settings);
    object::set_label(made.id(), object::label(this));
    made.into_owned()
}

/// A new descriptor of a class, autoreleased; for class methods.
fn fresh(class: Id) -> Id {
    // SAFETY: the receiver of a class method is a class.
    let class = unsafe { &*class.0.cast::<class::Class>() };
    Strong::new(class, Settings::default()).autoreleased()
}

/// The rows of a descriptor from its settings: `kind getter setter default`.
macro_rules! settings {
    ($name:ident; $($kind:ident $getter:literal $setter:literal $default:expr;)*) => {
        methods! { pub $name;
            "init" (this) -> Id { object::fill(this, Settings::default()) }
            "copy" (this) -> Id { copy(this) }
            "copyWithZone:" (this, _zone: *mut std::ffi::c_void) -> Id { copy(this) }
            $(
                $getter (this) -> settings!(@type $kind) { settings!(@get $kind this $getter $default) }
                $setter (this, value: settings!(@type $kind)) { settings!(@set $kind this $getter value) }
            )*
        }
    };
    (@type number) => { usize };
    (@type signed) => { isize };
    (@type flag) => { Bool };
    (@type object) => { Id };
    (@get number $this:ident $name:literal $default:expr) => { number($this, $name, $default) };
    (@get signed $this:ident $name:literal $default:expr) => { number($this, $name, $default) as isize };
    (@get flag $this:ident $name:literal $default:expr) => { Bool(number($this, $name, $default) as u8) };
    (@get object $this:ident $name:literal $default:expr) => { object($this, $name) };
    (@set number $this:ident $name:literal $value:ident) => { set($this, $name, $value) };
    (@set signed $this:ident $name:literal $value:ident) => { set($this, $name, $value as usize) };
    (@set flag $this:ident $name:literal $value:ident) => { set($this, $name, $value.0 as usize) };
    (@set object $this:ident $name:literal $value:ident) => { set_object($this, $name, $value) };
}

/// `MTLLanguageVersion3_1`, what SoftMetal takes where a program asks for nothing.
pub const LANGUAGE: usize = (3 << 16) + 1;

settings! { COMPILE_OPTIONS;
    flag "fastMathEnabled" "setFastMathEnabled:" 1;
    number "languageVersion" "setLanguageVersion:" LANGUAGE;
    object "preprocessorMacros" "setPreprocessorMacros:" 0;
    signed "mathMode" "setMathMode:" 2;
    signed "mathFloatingPointFunctions" "setMathFloatingPointFunctions:" 0;
    signed "optimizationLevel" "setOptimizationLevel:" 0;
    signed "libraryType" "setLibraryType:" 0;
    flag "preserveInvariance" "setPreserveInvariance:" 0;
    flag "enableLogging" "setEnableLogging:" 0;
    number "maxTotalThreadsPerThreadgroup" "setMaxTotalThreadsPerThreadgroup:" 0;
    object "libraries" "setLibraries:" 0;
    object "installName" "setInstallName:" 0;
}

settings! { PIPELINE;
    object "computeFunction" "setComputeFunction:" 0;
    object "binaryArchives" "setBinaryArchives:" 0;
    object "linkedFunctions" "setLinkedFunctions:" 0;
    object "preloadedLibraries" "setPreloadedLibraries:" 0;
    flag "threadGroupSizeIsMultipleOfThreadExecutionWidth" "setThreadGroupSizeIsMultipleOfThreadExecutionWidth:" 0;
    number "maxTotalThreadsPerThreadgroup" "setMaxTotalThreadsPerThreadgroup:" 0;
    number "maxCallStackDepth" "setMaxCallStackDepth:" 1;
    flag "supportIndirectCommandBuffers" "setSupportIndirectCommandBuffers:" 0;
}

settings! { FUNCTION;
    object "name" "setName:" 0;
    object "specializedName" "setSpecializedName:" 0;
    object "constantValues" "setConstantValues:" 0;
    number "options" "setOptions:" 0;
}

methods! { pub FUNCTION_CLASS;
    "functionDescriptor" (this) -> Id { fresh(this) }
}

settings! { LINKED;
    object "functions" "setFunctions:" 0;
    object "binaryFunctions" "setBinaryFunctions:" 0;
    object "privateFunctions" "setPrivateFunctions:" 0;
    object "groups" "setGroups:" 0;
}

methods! { pub LINKED_CLASS;
    "linkedFunctions" (this) -> Id { fresh(this) }
}

settings! { ARCHIVE;
    object "url" "setUrl:" 0;
}

settings! { RESIDENCY;
    number "initialCapacity" "setInitialCapacity:" 0;
}

settings! { HEAP;
    number "size" "setSize:" 0;
    number "storageMode" "setStorageMode:" 2;
    number "cpuCacheMode" "setCpuCacheMode:" 0;
    number "hazardTrackingMode" "setHazardTrackingMode:" 1;
    number "resourceOptions" "setResourceOptions:" 0;
    signed "type" "setType:" 0;
}

settings! { QUEUE;
    number "maxCommandBufferCount" "setMaxCommandBufferCount:" super::queue::DEFAULT_COUNT;
    object "logState" "setLogState:" 0;
}

settings! { COMMAND;
    flag "retainedReferences" "setRetainedReferences:" 1;
    number "errorOptions" "setErrorOptions:" 0;
    object "logState" "setLogState:" 0;
}

settings! { PASS;
    number "dispatchType" "setDispatchType:" 0;
}

methods! { pub PASS_CLASS;
    "computePassDescriptor" (this) -> Id { fresh(this) }
}

settings! { CAPTURE;
    object "captureObject" "setCaptureObject:" 0;
    signed "destination" "setDestination:" 1;
    object "outputURL" "setOutputURL:" 0;
}

settings! { ARGUMENT;
    number "dataType" "setDataType:" 0;
    number "index" "setIndex:" 0;
    number "arrayLength" "setArrayLength:" 0;
    number "access" "setAccess:" 0;
    number "textureType" "setTextureType:" 2;
    number "constantBlockAlignment" "setConstantBlockAlignment:" 0;
}

methods! { pub ARGUMENT_CLASS;
    "argumentDescriptor" (this) -> Id { fresh(this) }
}

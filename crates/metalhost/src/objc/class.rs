//! Classes. A class is forty bytes that Objective-C compilers also emit; everything else is behind its data pointer.

use super::selector;
use crate::abi::{Id, MethodSpec, Sel};
use parking_lot::RwLock;
use rustc_hash::FxHashMap;
use std::ffi::{CString, c_char, c_void};
use std::sync::atomic::{AtomicIsize, AtomicPtr, AtomicUsize, Ordering};
use std::sync::{LazyLock, Once};

/// A class object as compilers lay it out.
#[repr(C)]
#[derive(Debug)]
pub struct Class {
    /// The metaclass; of a metaclass, itself.
    pub isa: AtomicPtr<Class>,
    /// The class that it extends.
    pub(crate) superclass: AtomicPtr<Class>,
    cache: AtomicUsize,
    vtable: AtomicUsize,
    /// [`ClassData`] once registered; before that, in a compiled image, the compiler's own record.
    pub(crate) data: AtomicPtr<c_void>,
}

impl Class {
    /// A class that [`register`] will fill in.
    pub(crate) const fn unregistered() -> Class {
        Class {
            isa: AtomicPtr::new(std::ptr::null_mut()),
            superclass: AtomicPtr::new(std::ptr::null_mut()),
            cache: AtomicUsize::new(0),
            vtable: AtomicUsize::new(0),
            data: AtomicPtr::new(std::ptr::null_mut()),
        }
    }
}

/// How instances of a class are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    /// Counted, with a header before the object.
    Counted,
    /// Part of an image: never freed.
    Static,
    /// A block, which counts for itself.
    Block,
}

/// What the runtime knows of a class.
#[derive(Debug)]
pub struct ClassData {
    /// Its name.
    pub name: CString,
    /// Whether it is a metaclass.
    pub is_meta: bool,
    /// How instances are kept.
    pub memory: Memory,
    /// Bytes of an instance, the class pointer included.
    pub instance_size: usize,
    /// Names of the protocols that it says it has.
    pub protocols: RwLock<Vec<String>>,
    /// Instances that live.
    pub live: AtomicIsize,
    methods: RwLock<FxHashMap<Sel, &'static Method>>,
}

impl ClassData {
    /// A record without methods.
    pub fn new(
        name: CString,
        is_meta: bool,
        memory: Memory,
        instance_size: usize,
        protocols: RwLock<Vec<String>>,
        live: AtomicIsize,
    ) -> ClassData {
        ClassData { name, is_meta, memory, instance_size, protocols, live, methods: RwLock::default() }
    }
}

/// A method.
#[derive(Debug)]
pub struct Method {
    /// Its selector.
    pub selector: Sel,
    /// Its type encoding.
    pub types: CString,
    /// Its function.
    pub imp: AtomicPtr<()>,
}

/// A class of the framework: a row of the class table.
pub struct ClassSpec {
    /// The class object.
    pub class: &'static Class,
    /// Its name.
    pub name: &'static str,
    /// The class that it extends.
    pub superclass: Option<&'static Class>,
    /// How instances are kept.
    pub memory: Memory,
    /// Protocols.
    pub protocols: &'static [&'static str],
    /// Methods of instances.
    pub instance: &'static [&'static [MethodSpec]],
    /// Methods of the class.
    pub class_methods: &'static [&'static [MethodSpec]],
}

static CLASSES: LazyLock<RwLock<FxHashMap<String, &'static Class>>> = LazyLock::new(RwLock::default);

/// Registers the classes of the framework, once.
pub fn ready() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // Superclasses come first in the table.
        for spec in crate::CLASS_TABLE.iter().flat_map(|t| t.iter()) {
            register_spec(spec);
        }
    });
}

/// The root's metaclass, which compiled classes name.
#[unsafe(export_name = "OBJC_METACLASS_$_NSObject")]
static ROOT_META: Class = Class::unregistered();

fn register_spec(spec: &'static ClassSpec) {
    let meta: &'static Class =
        if spec.superclass.is_none() { &ROOT_META } else { Box::leak(Box::new(Class::unregistered())) };
    let data = |is_meta: bool| {
        let name = CString::new(spec.name).unwrap_or_default();
        let memory = if is_meta { Memory::Static } else { spec.memory };
        let protocols = RwLock::new(spec.protocols.iter().map(|p| (*p).to_string()).collect());
        ClassData::new(name, is_meta, memory, size_of::<usize>(), protocols, AtomicIsize::new(0))
    };
    install(spec.class, meta, spec.superclass, data(false), data(true));
    for (class, lists) in [(spec.class, spec.instance), (meta, spec.class_methods)] {
        for row in lists.iter().flat_map(|list| list.iter()) {
            let types = format!("{}@:{}", row.types[0], row.types[1..].concat());
            add_method(
                class,
                selector::register(row.selector.as_bytes()),
                types.as_bytes(),
                row.imp.cast_mut(),
            );
        }
    }
}

/// Makes a class known, with its metaclass.
pub fn install(
    class: &'static Class,
    meta: &'static Class,
    superclass: Option<&'static Class>,
    data: ClassData,
    meta_data: ClassData,
) {
    let name = data.name.to_string_lossy().into_owned();
    let address = |c: &'static Class| std::ptr::from_ref(c).cast_mut();
    class.data.store(Box::into_raw(Box::new(data)).cast(), Ordering::Release);
    meta.data.store(Box::into_raw(Box::new(meta_data)).cast(), Ordering::Release);
    class.isa.store(address(meta), Ordering::Release);
    meta.isa.store(address(meta), Ordering::Release);
    match superclass {
        Some(above) => {
            class.superclass.store(address(above), Ordering::Release);
            meta.superclass.store(above.isa.load(Ordering::Acquire), Ordering::Release);
        }
        // The root's metaclass extends the root, so that classes answer to the root's own methods.
        None => meta.superclass.store(address(class), Ordering::Release),
    }
    CLASSES.write().insert(name, class);
}

/// Adds or replaces a method.
pub fn add_method(class: &'static Class, selector: Sel, types: &[u8], imp: *mut ()) {
    let types = CString::new(types).unwrap_or_default();
    let method = Box::leak(Box::new(Method { selector, types, imp: AtomicPtr::new(imp) }));
    data(class).methods.write().insert(selector, method);
}

/// What is known of a registered class.
pub fn data(class: &'static Class) -> &'static ClassData {
    let data = class.data.load(Ordering::Acquire);
    if data.is_null() {
        // The first use of a class of the framework; inside of the registration itself no class is empty.
        ready();
        return self::data(class);
    }
    // SAFETY: registration stored a leaked record.
    unsafe { &*data.cast::<ClassData>() }
}

/// The class that this one extends.
pub fn superclass(class: &'static Class) -> Option<&'static Class> {
    // SAFETY: classes live as long as the process.
    unsafe { class.superclass.load(Ordering::Acquire).as_ref() }
}

/// A class by name.
pub fn lookup(name: &str) -> Option<&'static Class> {
    ready();
    CLASSES.read().get(name).copied()
}

/// The method that a class answers a selector with.
pub fn find_method(class: &'static Class, selector: Sel) -> Option<&'static Method> {
    let mut at = Some(class);
    while let Some(class) = at {
        if let Some(method) = data(class).methods.read().get(&selector) {
            return Some(method);
        }
        at = superclass(class);
    }
    None
}

/// The class of an object that is not nil.
pub fn of(object: Id) -> &'static Class {
    ready();
    // SAFETY: every object starts with the address of its class, which lives as long as the process.
    unsafe { &**object.0.cast::<*const Class>() }
}

/// Whether an object is a class.
pub fn is_class(object: Id) -> bool {
    !object.is_nil() && data(of(object)).is_meta
}

/// The name of an object's class, or of the object if it is one.
pub fn name_of(object: Id) -> String {
    if object.is_nil() {
        return "nil".into();
    }
    data(of(object)).name.to_string_lossy().into_owned()
}

/// Whether a class is another or extends it.
pub fn is_kind(class: &'static Class, of: &Class) -> bool {
    let mut at = Some(class);
    while let Some(class) = at {
        if std::ptr::eq(class, of) {
            return true;
        }
        at = superclass(class);
    }
    false
}

/// Whether a class or one that it extends names a protocol.
pub fn conforms(class: &'static Class, protocol: &str) -> bool {
    let mut at = Some(class);
    while let Some(class) = at {
        if data(class).protocols.read().iter().any(|p| p == protocol) {
            return true;
        }
        at = superclass(class);
    }
    false
}

/// Objects that live, by class; classes without any are left out.
pub fn live() -> Vec<(String, isize)> {
    ready();
    let mut list: Vec<(String, isize)> = CLASSES
        .read()
        .iter()
        .map(|(name, class)| (name.clone(), data(class).live.load(Ordering::Relaxed)))
        .filter(|(_, count)| *count != 0)
        .collect();
    list.sort();
    list
}

/// The C string of a class's name.
pub fn c_name(class: &'static Class) -> *const c_char {
    data(class).name.as_ptr()
}

/// The class objects of the framework, under both names: Apple's compilers' and GNUstep's.
macro_rules! class_objects {
    ($($(#[$meta:meta])* $ident:ident $name:literal),* $(,)?) => {
        unsafe extern "C" {
            $(
                $(#[$meta])*
                // Forty bytes of zero, which are an unregistered class.
                #[link_name = concat!("OBJC_CLASS_$_", $name)]
                pub safe static $ident: $crate::objc::class::Class;
            )*
        }
        $(
            std::arch::global_asm!(
                ".pushsection .data.objc_classes, \"aw\", @progbits",
                ".balign 16",
                concat!(".globl \"OBJC_CLASS_$_", $name, "\""),
                concat!(".globl \"._OBJC_CLASS_", $name, "\""),
                concat!("\"OBJC_CLASS_$_", $name, "\":"),
                concat!("\"._OBJC_CLASS_", $name, "\":"),
                ".zero 40",
                ".popsection",
            );
        )*
    };
}
pub(crate) use class_objects;

//! Method lookup.
//!
//! `objc_msg_lookup` returns the function (GNUstep's ABI); `objc_msgSend` calls it (Apple's ABI), in a few lines of
//! assembly that save and restore the argument registers around the lookup.

use super::class::{self, Class};
use super::{object, selector};
use crate::abi::{Id, Sel};
use crate::report::{Kind, call_text, raise, report};
use std::sync::LazyLock;
use std::sync::atomic::Ordering;

#[cfg(target_arch = "x86_64")]
std::arch::global_asm!(
    ".globl metalhost_answer_nil",
    "metalhost_answer_nil:",
    "xor eax, eax",
    "xor edx, edx",
    "xorps xmm0, xmm0",
    "xorps xmm1, xmm1",
    "ret",
);

#[cfg(target_arch = "x86_64")]
unsafe extern "C-unwind" {
    /// Gives zero in every register of a result.
    #[link_name = "metalhost_answer_nil"]
    fn answer_nil();
}

#[cfg(not(target_arch = "x86_64"))]
extern "C-unwind" fn answer_nil() -> usize {
    0
}

/// The function that answers `selector`; an unknown selector ends the process, as `doesNotRecognizeSelector:` does.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn objc_msg_lookup(receiver: Id, selector: Sel) -> *const () {
    if receiver.is_nil() {
        return answer_nil as *const ();
    }
    if object::is_gone(receiver) {
        report(
            Kind::UseAfterRelease,
            format!("{} was sent to an object that is gone", call_text(receiver, selector)),
        );
        return answer_nil as *const ();
    }
    lookup_in(class::of(receiver), receiver, selector)
}

fn lookup_in(class: &'static Class, receiver: Id, selector: Sel) -> *const () {
    match class::find_method(class, selector) {
        Some(method) => method.imp.load(Ordering::Acquire),
        None => raise(format!("{}: unrecognized selector", call_text(receiver, selector))),
    }
}

/// A receiver, and the class above which the method is looked for.
#[repr(C)]
#[derive(Debug)]
pub struct Super {
    receiver: Id,
    class: *const Class,
}

/// # Safety
/// `target` is a valid pair of receiver and class.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn objc_msg_lookup_super(target: *const Super, selector: Sel) -> *const () {
    // SAFETY: the caller's promise; classes live as long as the process.
    let (receiver, class) = unsafe { ((*target).receiver, &*(*target).class) };
    lookup_in(class, receiver, selector)
}

/// Apple's variant names the class of the method itself, and looks above it.
///
/// # Safety
/// As for [`objc_msg_lookup_super`].
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn metalhost_lookup_super2(target: *const Super, selector: Sel) -> *const () {
    // SAFETY: the caller's promise.
    let (receiver, class) = unsafe { ((*target).receiver, &*(*target).class) };
    match class::superclass(class) {
        Some(above) => lookup_in(above, receiver, selector),
        None => raise(format!("{}: the class has no superclass", call_text(receiver, selector))),
    }
}

/// Sends `dealloc`, which compiled classes may override.
pub fn send_dealloc(receiver: Id) {
    static DEALLOC: LazyLock<Sel> = LazyLock::new(|| selector::register(b"dealloc"));
    // SAFETY: every `dealloc` has this signature.
    unsafe { send::<()>(receiver, *DEALLOC) };
}

/// Sends a message without arguments.
///
/// # Safety
/// The method takes none and gives an `R`.
pub unsafe fn send<R>(receiver: Id, selector: Sel) -> R {
    let function = lookup_in(class::of(receiver), receiver, selector);
    // SAFETY: the caller's promise.
    let function: extern "C-unwind" fn(Id, Sel) -> R = unsafe { std::mem::transmute(function) };
    function(receiver, selector)
}

/// One entry point in assembly: `target` and `selector` are the registers of receiver and selector, `fix` is what else has to change.
#[cfg(target_arch = "x86_64")]
macro_rules! entry {
    ($name:literal, $target:literal, $selector:literal, $lookup:literal, $fix:literal) => {
        std::arch::global_asm!(
            concat!(".globl ", $name, "\n.type ", $name, ", @function\n", $name, ":"),
            "push rbp",
            "mov rbp, rsp",
            "sub rsp, 192",
            "mov [rsp], rdi",
            "mov [rsp + 8], rsi",
            "mov [rsp + 16], rdx",
            "mov [rsp + 24], rcx",
            "mov [rsp + 32], r8",
            "mov [rsp + 40], r9",
            "mov [rsp + 48], rax",
            "movups [rsp + 64], xmm0",
            "movups [rsp + 80], xmm1",
            "movups [rsp + 96], xmm2",
            "movups [rsp + 112], xmm3",
            "movups [rsp + 128], xmm4",
            "movups [rsp + 144], xmm5",
            "movups [rsp + 160], xmm6",
            "movups [rsp + 176], xmm7",
            concat!("mov rax, ", $target),
            concat!("mov rsi, ", $selector),
            "mov rdi, rax",
            concat!("call ", $lookup, "@PLT"),
            "mov r11, rax",
            "mov rdi, [rsp]",
            "mov rsi, [rsp + 8]",
            "mov rdx, [rsp + 16]",
            "mov rcx, [rsp + 24]",
            "mov r8, [rsp + 32]",
            "mov r9, [rsp + 40]",
            "mov rax, [rsp + 48]",
            "movups xmm0, [rsp + 64]",
            "movups xmm1, [rsp + 80]",
            "movups xmm2, [rsp + 96]",
            "movups xmm3, [rsp + 112]",
            "movups xmm4, [rsp + 128]",
            "movups xmm5, [rsp + 144]",
            "movups xmm6, [rsp + 160]",
            "movups xmm7, [rsp + 176]",
            "leave",
            $fix,
            "jmp r11",
        );
    };
}

#[cfg(target_arch = "x86_64")]
mod entries {
    entry!("objc_msgSend", "rdi", "rsi", "objc_msg_lookup", "");
    entry!("objc_msgSend_fpret", "rdi", "rsi", "objc_msg_lookup", "");
    entry!("objc_msgSend_stret", "rsi", "rdx", "objc_msg_lookup", "");
    // The receiver stands in the pair.
    entry!("objc_msgSendSuper2", "rdi", "rsi", "metalhost_lookup_super2", "mov rdi, [rdi]");
    entry!("objc_msgSendSuper2_stret", "rsi", "rdx", "metalhost_lookup_super2", "mov rsi, [rsi]");
}

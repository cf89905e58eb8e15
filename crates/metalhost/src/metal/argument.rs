//! Argument encoders: they write addresses of buffers, and lay out constants, in a buffer that kernels read as a struct.

use super::buffer::Buffer;
use super::library::Function;
use super::{ARGUMENT_ENCODER, descriptor};
use crate::abi::{Id, NSRange, methods};
use crate::foundation::array;
use crate::objc::object::Strong;
use crate::report::{Kind, raise, report};
use parking_lot::Mutex;
use softmetal::{Layout, Member};
use std::ffi::c_void;

/// What an encoder holds.
#[derive(Debug)]
pub struct Encoder {
    layout: Layout,
    /// The buffer that is written, and where in it.
    target: Mutex<Option<(Strong, usize)>>,
    device: Strong,
}

/// `MTLDataTypePointer`, and the resources that take as much room.
const POINTER: usize = 60;
const RESOURCES: [usize; 3] = [58, 59, POINTER];

/// Bytes and alignment of an `MTLDataType`.
fn size(kind: usize) -> Option<(usize, usize)> {
    // Runs of a scalar and its vectors, by the number of the scalar.
    let runs =
        [(3, 4), (16, 2), (29, 4), (33, 4), (37, 2), (41, 2), (45, 1), (49, 1), (53, 1), (81, 8), (85, 8)];
    if RESOURCES.contains(&kind) {
        return Some((8, 8));
    }
    let (first, one) = runs.into_iter().find(|(first, _)| (*first..first + 4).contains(&kind))?;
    let lanes = match kind - first + 1 {
        3 => 4,
        n => n,
    };
    Some((one * lanes, one * lanes))
}

/// An encoder for a list of `MTLArgumentDescriptor`.
pub fn from_descriptors(device: Id, list: Id) -> Id {
    let mut given: Vec<(usize, usize, usize)> = array::items(list)
        .iter()
        .map(|d| {
            let number = |name, default| descriptor::number(d.id(), name, default);
            (number("index", 0), number("dataType", 0), number("arrayLength", 0).max(1))
        })
        .collect();
    given.sort_unstable();
    let (mut members, mut end, mut most) = (Vec::new(), 0usize, 1usize);
    for (index, kind, count) in given {
        let Some((size, align)) = size(kind) else {
            raise(format!("data type {kind} is not supported in an argument buffer"))
        };
        let offset = end.next_multiple_of(align);
        (end, most) = (offset + size * count, most.max(align));
        let pointer = kind == POINTER;
        members.push(Member { id: index as u32, name: String::new(), pointer, offset, size, count });
    }
    make(device, Layout { members, length: end.next_multiple_of(most), alignment: most })
}

/// An encoder for the struct of a function's buffer.
pub fn from_function(function: Id, index: usize) -> Id {
    let own = function.expect::<Function>("the function");
    match own.soft.argument_layout(index as u32) {
        Some(layout) => make(own.device.id(), layout),
        None => raise(format!("buffer {index} of `{}` is no struct whose layout is known", own.soft.name())),
    }
}

fn make(device: Id, layout: Layout) -> Id {
    let content = Encoder { layout, target: Mutex::new(None), device: Strong::of(device) };
    Strong::new(&ARGUMENT_ENCODER, content).into_owned()
}

fn own(this: Id) -> &'static Encoder {
    this.expect::<Encoder>("the argument encoder")
}

impl Encoder {
    /// Where the element of an index lies: an array takes as many indices as it has elements.
    fn place(&self, index: usize, pointer: bool) -> (Strong, usize) {
        let covers = |m: &&Member| (m.id as usize..m.id as usize + m.count).contains(&index);
        let Some(member) = self.layout.members.iter().find(covers) else {
            raise(format!("there is no argument {index}"))
        };
        if member.pointer != pointer {
            raise(format!("argument {index} is {}", if member.pointer { "a buffer" } else { "no buffer" }));
        }
        let Some((buffer, start)) = self.target.lock().clone() else { raise("no argument buffer is set") };
        (buffer, start + member.offset + (index - member.id as usize) * member.size)
    }

    fn aim(&self, buffer: Id, offset: usize) {
        if buffer.is_nil() {
            *self.target.lock() = None;
            return;
        }
        let length = buffer.expect::<Buffer>("the argument buffer").soft.length();
        if !offset.is_multiple_of(self.layout.alignment) {
            report(Kind::Argument, format!("offset {offset} is no multiple of {}", self.layout.alignment));
        }
        if offset + self.layout.length > length {
            raise(format!("{} bytes at {offset} are outside of the buffer's {length}", self.layout.length));
        }
        *self.target.lock() = Some((Strong::of(buffer), offset));
    }

    fn put(&self, buffer: Id, offset: usize, index: usize) {
        let address = if buffer.is_nil() {
            0
        } else {
            let soft = &buffer.expect::<Buffer>("the buffer").soft;
            if offset >= soft.length() {
                report(
                    Kind::Argument,
                    format!("offset {offset} is outside of the buffer's {} bytes", soft.length()),
                );
            }
            soft.gpu_address() + offset as u64
        };
        let (target, at) = self.place(index, true);
        let bytes = target.id().expect::<Buffer>("the argument buffer");
        for memory in [Some(&bytes.soft), bytes.mirror.as_ref()].into_iter().flatten() {
            if let Err(e) = memory.write_bytes(at, &address.to_ne_bytes()) {
                raise(e.to_string());
            }
        }
    }
}

methods! { pub ENCODER;
    "device" (this) -> Id { own(this).device.id() }
    "encodedLength" (this) -> usize { own(this).layout.length }
    "alignment" (this) -> usize { own(this).layout.alignment }
    "setArgumentBuffer:offset:" (this, buffer: Id, offset: usize) { own(this).aim(buffer, offset); }
    "setArgumentBuffer:startOffset:arrayElement:" (this, buffer: Id, offset: usize, element: usize) {
        own(this).aim(buffer, offset + element * own(this).layout.length);
    }
    "setBuffer:offset:atIndex:" (this, buffer: Id, offset: usize, index: usize) { own(this).put(buffer, offset, index); }
    "setBuffers:offsets:withRange:" (this, buffers: *const Id, offsets: *const usize, range: NSRange) {
        for i in 0..range.length {
            // SAFETY: the sender gave so many buffers and offsets.
            let (buffer, offset) = unsafe { (buffers.add(i).read(), offsets.add(i).read()) };
            own(this).put(buffer, offset, range.location + i);
        }
    }
    "constantDataAtIndex:" (this, index: usize) -> *mut c_void {
        let (target, at) = own(this).place(index, false);
        let buffer = target.id().expect::<Buffer>("the argument buffer");
        buffer.mirror.as_ref().unwrap_or(&buffer.soft).contents().wrapping_add(at).cast()
    }
}

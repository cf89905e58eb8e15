//! A library behind an interface without its handle type: starting operations, and testing them for completion.
//!
//! No call here waits for another rank, except [`Messages::split`] and [`Messages::finalize`]. Buffers are raw
//! pointers: the caller keeps them alive and untouched until [`Messages::test`] reports completion.

use crate::abi::{BuiltinOp, Constants, Element, Handle};
use crate::calls::{Functions, UserFunction};
use crate::failed;
use crate::reduce::{self, Combine, ReduceOp};
use parking_lot::Mutex;
use std::ffi::{c_char, c_int, c_void};
use wootz_ir::{DType, Result};

/// A communicator, as bits of its handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Comm(pub usize);

/// An operation under way, as bits of its handle.
#[derive(Debug)]
pub struct Request(usize);

/// Where a message comes from, and what it is marked with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Envelope {
    pub source: usize,
    pub tag: i32,
}

/// Elements that an operation reads or writes.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    pub start: *mut u8,
    pub count: usize,
    pub element: Element,
}

impl Span {
    /// Bytes that are read.
    pub fn of(bytes: &[u8]) -> Span {
        Span { start: bytes.as_ptr().cast_mut(), count: bytes.len(), element: Element::U8 }
    }

    /// Bytes that are written.
    pub fn of_mut(bytes: &mut [u8]) -> Span {
        Span { start: bytes.as_mut_ptr(), count: bytes.len(), element: Element::U8 }
    }

    /// Elements of a dtype that are read.
    pub fn elements(bytes: &[u8], dtype: DType) -> Span {
        let count = bytes.len() / dtype.size();
        Span { start: bytes.as_ptr().cast_mut(), count, element: Element::of(dtype) }
    }

    /// Elements of a dtype that are written.
    pub fn elements_mut(bytes: &mut [u8], dtype: DType) -> Span {
        let count = bytes.len() / dtype.size();
        Span { start: bytes.as_mut_ptr(), count, element: Element::of(dtype) }
    }

    fn counted(&self) -> Result<c_int> {
        c_int::try_from(self.count)
            .map_err(|_| failed(format!("{} elements exceed the size of an MPI message", self.count)))
    }

    fn data(&self) -> *mut c_void {
        self.start.cast()
    }
}

/// The calls of a library.
pub trait Messages: Send + Sync {
    fn world(&self) -> Comm;
    fn rank(&self, comm: Comm) -> Result<usize>;
    fn size(&self, comm: Comm) -> Result<usize>;
    /// A communicator of the ranks with the same colour, in the order of their keys. Waits for all ranks of `comm`.
    fn split(&self, comm: Comm, colour: i32, key: i32) -> Result<Comm>;
    fn send(&self, comm: Comm, from: Span, to: usize, tag: i32) -> Result<Request>;
    fn receive(&self, comm: Comm, into: Span, from: usize, tag: i32) -> Result<Request>;
    /// A message that has come with this tag, if there is one.
    fn probe(&self, comm: Comm, tag: i32) -> Result<Option<Envelope>>;
    fn test(&self, request: &mut Request) -> Result<bool>;
    fn all_reduce(&self, comm: Comm, op: ReduceOp, dtype: DType, from: Span, into: Span) -> Result<Request>;
    fn all_gather(&self, comm: Comm, from: Span, into: Span) -> Result<Request>;
    fn reduce_scatter(
        &self,
        comm: Comm,
        op: ReduceOp,
        dtype: DType,
        from: Span,
        into: Span,
    ) -> Result<Request>;
    fn broadcast(&self, comm: Comm, data: Span, root: usize) -> Result<Request>;
    /// Ends MPI, where nobody has. Waits for all ranks.
    fn finalize(&self);
}

/// A library with one kind of handles.
pub struct Typed<H: Handle> {
    functions: Functions<H>,
    constants: Constants<H>,
    /// Ops that libraries lack, created at first use.
    own_ops: Mutex<Vec<(Combine, H)>>,
    /// Calls are short, so one at a time costs little and asks less of the library than calls from many threads.
    turn: Mutex<()>,
}

impl<H: Handle> Typed<H> {
    pub fn new(functions: Functions<H>, constants: Constants<H>) -> Typed<H> {
        Typed { functions, constants, own_ops: Mutex::default(), turn: Mutex::new(()) }
    }

    /// Starts MPI, unless somebody in this process has; whether it was started here.
    pub fn start(&self) -> Result<bool> {
        let (mut flag, mut provided) = (0, 0);
        // SAFETY: MPI allows this call at any time.
        self.check("MPI_Initialized", unsafe { (self.functions.initialized)(&mut flag) })?;
        let ours = flag == 0;
        let code = match ours {
            true => {
                let none = std::ptr::null_mut();
                let wanted = self.constants.thread_multiple;
                // SAFETY: MPI has not been started, and needs no arguments of the command.
                unsafe { (self.functions.init_thread)(none, none.cast(), wanted, &mut provided) }
            }
            // SAFETY: MPI has been started.
            false => unsafe { (self.functions.query_thread)(&mut provided) },
        };
        self.check("MPI_Init_thread", code)?;
        if provided < self.constants.thread_serialized {
            return Err(failed("the library does not support calls from several threads, which Wootz needs"));
        }
        self.return_errors(self.constants.comm_world)?;
        Ok(ours)
    }

    fn return_errors(&self, comm: H) -> Result<()> {
        let handler = self.constants.errors_return;
        // SAFETY: a communicator and a predefined handler.
        self.check("MPI_Comm_set_errhandler", unsafe { (self.functions.comm_set_errhandler)(comm, handler) })
    }

    fn check(&self, call: &str, code: c_int) -> Result<()> {
        if code == 0 {
            return Ok(());
        }
        // No library's longest message is longer.
        let mut text = [0u8; 8192];
        let mut length = 0;
        // SAFETY: the buffer is as large as any library asks for.
        let known =
            unsafe { (self.functions.error_string)(code, text.as_mut_ptr().cast::<c_char>(), &mut length) }
                == 0;
        let length = (length.max(0) as usize).min(text.len());
        let said = if known { String::from_utf8_lossy(&text[..length]).into_owned() } else { String::new() };
        Err(failed(format!("{call} failed with code {code}: {}", said.trim_end_matches(['\0', '\n']))))
    }

    fn op(&self, op: ReduceOp, dtype: DType) -> Result<H> {
        let Some(combine) = reduce::own(op, dtype) else {
            return Ok(self.constants.op(match op {
                ReduceOp::Sum => BuiltinOp::Sum,
                ReduceOp::Max => BuiltinOp::Max,
                ReduceOp::Min => BuiltinOp::Min,
            }));
        };
        let mut own = self.own_ops.lock();
        if let Some((_, handle)) = own.iter().find(|(known, _)| std::ptr::fn_addr_eq(*known, combine)) {
            return Ok(*handle);
        }
        let mut handle = H::from_bits(0);
        // SAFETY: all of them have one shape but for the type of the last argument, a pointer that they do not follow.
        let function: UserFunction = combine;
        // SAFETY: the function combines vectors element by element, and commutes.
        self.check("MPI_Op_create", unsafe { (self.functions.op_create)(function, 1, &mut handle) })?;
        own.push((combine, handle));
        Ok(handle)
    }

    fn started(&self, call: &str, begin: impl FnOnce(&mut H) -> c_int) -> Result<Request> {
        let mut request = H::from_bits(0);
        let turn = self.turn.lock();
        let code = begin(&mut request);
        drop(turn);
        self.check(call, code)?;
        Ok(Request(request.bits()))
    }
}

/// Room for any library's status, aligned for its widest field.
#[repr(align(8))]
struct Status([c_int; 16]);

impl<H: Handle> Messages for Typed<H> {
    fn world(&self) -> Comm {
        Comm(self.constants.comm_world.bits())
    }

    fn rank(&self, comm: Comm) -> Result<usize> {
        let mut rank = 0;
        let _turn = self.turn.lock();
        // SAFETY: a communicator of this library.
        self.check("MPI_Comm_rank", unsafe { (self.functions.comm_rank)(H::from_bits(comm.0), &mut rank) })?;
        Ok(rank as usize)
    }

    fn size(&self, comm: Comm) -> Result<usize> {
        let mut size = 0;
        let _turn = self.turn.lock();
        // SAFETY: a communicator of this library.
        self.check("MPI_Comm_size", unsafe { (self.functions.comm_size)(H::from_bits(comm.0), &mut size) })?;
        Ok(size as usize)
    }

    fn split(&self, comm: Comm, colour: i32, key: i32) -> Result<Comm> {
        let mut new = H::from_bits(0);
        let _turn = self.turn.lock();
        // SAFETY: a communicator of this library; every rank of it makes this call.
        let code = unsafe { (self.functions.comm_split)(H::from_bits(comm.0), colour, key, &mut new) };
        self.check("MPI_Comm_split", code)?;
        self.return_errors(new)?;
        Ok(Comm(new.bits()))
    }

    fn send(&self, comm: Comm, from: Span, to: usize, tag: i32) -> Result<Request> {
        let (count, element) = (from.counted()?, self.constants.element(from.element));
        // SAFETY: the caller keeps the elements until the request is done.
        self.started("MPI_Isend", |request| unsafe {
            let comm = H::from_bits(comm.0);
            (self.functions.isend)(from.data(), count, element, to as c_int, tag, comm, request)
        })
    }

    fn receive(&self, comm: Comm, into: Span, from: usize, tag: i32) -> Result<Request> {
        let (count, element) = (into.counted()?, self.constants.element(into.element));
        // SAFETY: the caller keeps the elements until the request is done.
        self.started("MPI_Irecv", |request| unsafe {
            let comm = H::from_bits(comm.0);
            (self.functions.irecv)(into.data(), count, element, from as c_int, tag, comm, request)
        })
    }

    fn probe(&self, comm: Comm, tag: i32) -> Result<Option<Envelope>> {
        let (mut flag, mut status) = (0, Status([0; 16]));
        let turn = self.turn.lock();
        // SAFETY: the status has room for any library's.
        let code = unsafe {
            let (any, comm) = (self.constants.any_source, H::from_bits(comm.0));
            (self.functions.iprobe)(any, tag, comm, &mut flag, status.0.as_mut_ptr().cast())
        };
        drop(turn);
        self.check("MPI_Iprobe", code)?;
        let at = self.constants.source_at;
        Ok((flag != 0).then(|| Envelope { source: status.0[at] as usize, tag: status.0[at + 1] }))
    }

    fn test(&self, request: &mut Request) -> Result<bool> {
        let (mut flag, mut status) = (0, Status([0; 16]));
        let mut handle = H::from_bits(request.0);
        let turn = self.turn.lock();
        // SAFETY: a request that was started and is not done, and a status with room.
        let code = unsafe { (self.functions.test)(&mut handle, &mut flag, status.0.as_mut_ptr().cast()) };
        drop(turn);
        self.check("MPI_Test", code)?;
        request.0 = handle.bits();
        Ok(flag != 0)
    }

    fn all_reduce(&self, comm: Comm, op: ReduceOp, dtype: DType, from: Span, into: Span) -> Result<Request> {
        let (op, count) = (self.op(op, dtype)?, into.counted()?);
        let element = self.constants.element(into.element);
        // SAFETY: the caller keeps both until the request is done.
        self.started("MPI_Iallreduce", |request| unsafe {
            let comm = H::from_bits(comm.0);
            (self.functions.iallreduce)(from.data(), into.data(), count, element, op, comm, request)
        })
    }

    fn all_gather(&self, comm: Comm, from: Span, into: Span) -> Result<Request> {
        let (count, element) = (from.counted()?, self.constants.element(from.element));
        // SAFETY: the caller keeps both until the request is done; the ranks have agreed that their parts have one size.
        self.started("MPI_Iallgather", |request| unsafe {
            let comm = H::from_bits(comm.0);
            let (from, into) = (from.data(), into.data());
            (self.functions.iallgather)(from, count, element, into, count, element, comm, request)
        })
    }

    fn reduce_scatter(
        &self,
        comm: Comm,
        op: ReduceOp,
        dtype: DType,
        from: Span,
        into: Span,
    ) -> Result<Request> {
        let (op, count) = (self.op(op, dtype)?, into.counted()?);
        let element = self.constants.element(into.element);
        // SAFETY: the caller keeps both until the request is done; the ranks have agreed on the size of a part.
        self.started("MPI_Ireduce_scatter_block", |request| unsafe {
            let comm = H::from_bits(comm.0);
            (self.functions.ireduce_scatter_block)(
                from.data(),
                into.data(),
                count,
                element,
                op,
                comm,
                request,
            )
        })
    }

    fn broadcast(&self, comm: Comm, data: Span, root: usize) -> Result<Request> {
        let (count, element) = (data.counted()?, self.constants.element(data.element));
        // SAFETY: the caller keeps the elements until the request is done.
        self.started("MPI_Ibcast", |request| unsafe {
            (self.functions.ibcast)(data.data(), count, element, root as c_int, H::from_bits(comm.0), request)
        })
    }

    fn finalize(&self) {
        let mut flag = 0;
        let _turn = self.turn.lock();
        // SAFETY: MPI allows this call at any time.
        if unsafe { (self.functions.finalized)(&mut flag) } == 0 && flag == 0 {
            // SAFETY: MPI has been started and not ended.
            unsafe { (self.functions.finalize)() };
        }
    }
}

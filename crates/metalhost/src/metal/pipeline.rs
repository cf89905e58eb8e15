//! Pipelines and their reflection.

use super::archive::Archive;
use super::device::Device;
use super::library::Function;
use super::options;
use super::{
    ARGUMENT as ARGUMENT_CLASS, PIPELINE as PIPELINE_CLASS, REFLECTION as REFLECTION_CLASS, descriptor,
};
use crate::abi::{Bool, Id, MTLSize, Out, methods};
use crate::foundation::{array, error, string};
use crate::objc::object::{self, Strong};
use crate::report::raise;
use softmetal::{Access, Argument, BindingKind};

/// What a pipeline holds.
#[derive(Debug)]
pub struct Pipeline {
    /// The pipeline under Metal.
    pub soft: softmetal::Pipeline,
    most: u32,
    device: Strong,
}

/// `MTLPipelineOptionFailOnBinaryArchiveMiss`
const FAIL_ON_MISS: usize = 1 << 2;

/// A pipeline of a function, with the settings of a descriptor if there is one.
pub fn make(device: Id, function: Id, given: Id, wanted: usize, out: Out) -> Id {
    options::begin(out);
    let own = device.expect::<Device>("the device");
    let function = function.expect::<Function>("the compute function");
    let archives = array::items(descriptor::object(given, "binaryArchives"));
    let uses: Vec<_> = archives.iter().map(|a| a.id().expect::<Archive>("an archive").begin_use()).collect();
    let found = archives.iter().any(|a| a.get::<Archive>().is_some_and(|a| a.has(function.key)));
    if wanted & FAIL_ON_MISS != 0 && !found {
        return error::fail(out, "MTLBinaryArchiveDomain", 4, "no archive has the pipeline");
    }
    let made = own.soft.new_pipeline(&function.soft);
    drop(uses);
    match made {
        Ok(soft) => {
            let limit = descriptor::number(given, "maxTotalThreadsPerThreadgroup", 0) as u32;
            let most = soft.max_total_threads_per_threadgroup();
            let most = if limit == 0 { most } else { most.min(limit) };
            let content = Pipeline { soft, most, device: Strong::of(device) };
            let pipeline = Strong::new(&PIPELINE_CLASS, content);
            if !given.is_nil() {
                object::set_label(pipeline.id(), object::label(given));
            }
            pipeline.into_owned()
        }
        Err(e) => error::fail(out, "MTLLibraryErrorDomain", 3, e.to_string()),
    }
}

struct Reflection(Strong);

/// Hands out the reflection of a pipeline, if it was asked for.
pub fn reflect(pipeline: Id, wanted: usize, out: Out) {
    if wanted & 3 == 0 || out.0.is_null() || pipeline.is_nil() {
        return;
    }
    let arguments = own(pipeline).soft.arguments().iter();
    let buffers = arguments.filter(|a| a.binding.kind != BindingKind::Builtin);
    let list = buffers.map(|a| Strong::new(&ARGUMENT_CLASS, a.clone())).collect();
    out.set(Strong::new(&REFLECTION_CLASS, Reflection(array::make(list))).autoreleased());
}

fn own(this: Id) -> &'static Pipeline {
    this.expect::<Pipeline>("the pipeline")
}

methods! { pub PIPELINE;
    "device" (this) -> Id { own(this).device.id() }
    "maxTotalThreadsPerThreadgroup" (this) -> usize { own(this).most as usize }
    "threadExecutionWidth" (this) -> usize { own(this).soft.thread_execution_width() as usize }
    "staticThreadgroupMemoryLength" (this) -> usize { own(this).soft.static_threadgroup_memory_length() as usize }
    "supportIndirectCommandBuffers" (this) -> Bool { false.into() }
    "imageblockMemoryLengthForDimensions:" (this, _size: MTLSize) -> usize { 0 }
    "setLabel:" (this, _label: Id) { raise("the label of a pipeline is set by its descriptor"); }
}

methods! { pub REFLECTION;
    "arguments" (this) -> Id { this.expect::<Reflection>("the reflection").0.id() }
    "bindings" (this) -> Id { this.expect::<Reflection>("the reflection").0.id() }
}

fn argument(this: Id) -> &'static Argument {
    this.expect::<Argument>("the argument")
}

methods! { pub ARGUMENT;
    "name" (this) -> Id { string::make(&*argument(this).binding.name).autoreleased() }
    "index" (this) -> usize { argument(this).binding.index as usize }
    "type" (this) -> isize { isize::from(argument(this).binding.kind == BindingKind::Threadgroup) }
    "access" (this) -> usize { if argument(this).binding.access == Access::ReadOnly { 0 } else { 1 } }
    "isActive" (this) -> Bool { argument(this).active.into() }
    "isUsed" (this) -> Bool { argument(this).active.into() }
    "isArgument" (this) -> Bool { true.into() }
    "bufferDataSize" (this) -> usize { argument(this).type_size as usize }
    "bufferAlignment" (this) -> usize { argument(this).type_align as usize }
}

//! Wootz from Python: the native half of the `wootz` package.
//!
//! Promises: no call aborts the process. Engine errors become exceptions of the `wootz.Error` family, panics become
//! `wootz.InternalError`. Computations release the GIL, unless the work is shorter than releasing it. All classes can
//! be used from several threads at once.
//! Not promised: that memory shared with NumPy stays unchanged; writing to it changes the array.

#![allow(
    unnameable_types,
    reason = "the interface is Python's, where classes have the names that the module gives them"
)]

mod array;
mod batch;
mod compile;
mod content;
mod convert;
mod create;
mod device;
mod distributed;
mod dlpack;
mod dtype;
mod elementwise;
mod errors;
mod export;
mod files;
mod index;
mod linear;
mod llm;
mod metal;
mod movement;
#[allow(
    unsafe_op_in_unsafe_fn,
    reason = "the glue that PyO3 generates for operators, seen as ours through a macro"
)]
mod operators;
mod own;
mod random;
mod reductions;
mod region;
mod run;
mod serve;
mod trace;

use pyo3::prelude::*;
use wootz::DType;

/// The native half of `wootz`; import `wootz` instead.
#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<array::PyArray>()?;
    module.add_class::<dtype::PyDType>()?;
    module.add_class::<device::PyDevice>()?;
    module.add_class::<compile::PyCompiled>()?;
    module.add_class::<distributed::PyGroup>()?;
    module.add_class::<distributed::PyGrid>()?;
    module.add_class::<llm::PyEmbedder>()?;
    module.add_class::<trace::PyParameter>()?;
    module.add_class::<index::PyItems>()?;
    module.add_class::<llm::PyModel>()?;
    module.add_class::<llm::PyStream>()?;
    module.add_class::<serve::PyServer>()?;
    module.add_class::<metal::PySoftDevice>()?;
    module.add_class::<metal::PySoftLibrary>()?;
    for dtype in DType::ALL {
        module.add(dtype::python_name(dtype), dtype::PyDType(dtype))?;
    }
    elementwise::register(module)?;
    macro_rules! functions {
        ($($path:path),* $(,)?) => {
            $(module.add_function(wrap_pyfunction!($path, module)?)?;)*
        };
    }
    functions! {
        array::eval, array::eval_async, array::explain, array::_from_bytes,
        run::_panic, trace::_is_tracing, device::devices, device::default_device, device::set_default_device,
        device::get_num_threads, device::set_num_threads, array::_set_print_options,
        distributed::_init_distributed, distributed::_distributed_library,
        dlpack::from_dlpack,
        movement::concat, movement::stack,
        linear::attention, linear::einsum, linear::_custom,
        create::asarray, create::full, create::arange, create::linspace, create::eye,
        random::_uniform, random::_normal, random::_integers, random::_next_seed, random::_set_seed, random::_split_key,
        files::load_npy, files::_load_npz, files::_load_safetensors, files::_load_gguf,
        llm::_fetch_model,
        files::save_npy, files::_save_npz, files::_save_safetensors,
    }
    module.add("__version__", env!("CARGO_PKG_VERSION"))
}

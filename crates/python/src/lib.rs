//! Wootz from Python: the native half of the `wootz` package.
//!
//! Promises: no call aborts the process. Errors of the engine become exceptions of the `wootz.Error` family, panics become
//! `wootz.InternalError`. Whatever computes releases the interpreter lock, unless the work is smaller than the releasing. All
//! classes may be used from many threads at once.
//! Not promised: that memory which NumPy shares with an array stays as it is; whoever writes to it changes the array.

mod array;
mod compile;
mod convert;
mod create;
mod device;
mod dlpack;
mod dtype;
mod elementwise;
mod errors;
mod export;
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
mod reductions;
mod run;

use pyo3::prelude::*;
use wootz::DType;

/// The native half of `wootz`; import `wootz` instead.
#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<array::PyArray>()?;
    module.add_class::<dtype::PyDType>()?;
    module.add_class::<device::PyDevice>()?;
    module.add_class::<compile::PyCompiled>()?;
    module.add_class::<llm::PyModel>()?;
    module.add_class::<llm::PyStream>()?;
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
        run::_panic, device::devices, device::default_device,
        dlpack::from_dlpack,
        movement::concat, movement::stack,
        linear::attention, linear::einsum, linear::_custom,
        create::asarray, create::full, create::arange, create::linspace, create::eye,
        create::_uniform, create::_normal, create::_integers,
        create::load_npy, create::_load_npz, create::_load_safetensors,
        llm::_fetch_model,
        create::save_npy, create::_save_npz, create::_save_safetensors,
    }
    module.add("__version__", env!("CARGO_PKG_VERSION"))
}

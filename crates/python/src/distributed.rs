//! Work over several processes: the native half of `wootz.distributed`.

use crate::array::{PyArray, array};

use crate::device::device_of;
use crate::dtype::optional_dtype;
use crate::errors::{OrRaise, raise};
use crate::movement::shape_of;
use crate::run::detached;
use pyo3::prelude::*;
use wootz::distributed::{self, Grid, Group, ReduceOp};

/// Processes that work together.
#[pyclass(name = "_Group", module = "wootz._native", frozen)]
pub struct PyGroup(Group);

/// Starts MPI and returns the group of all ranks; without ``strict``, a process that no launcher started is alone.
#[pyfunction]
#[pyo3(signature = (strict))]
pub fn _init_distributed(py: Python<'_>, strict: bool) -> PyResult<PyGroup> {
    detached(py, move || if strict { distributed::init() } else { distributed::init_or_alone() }).map(PyGroup)
}

/// The MPI library that would be used, as (path, interface, version); ``None`` where there is none.
#[pyfunction]
#[pyo3(signature = ())]
pub fn _distributed_library() -> Option<(String, String, String)> {
    let library = distributed::library().ok()?;
    Some((library.path, library.abi.name().into(), library.version))
}

fn op_of(name: &str) -> PyResult<ReduceOp> {
    let found = ReduceOp::ALL.into_iter().find(|op| op.name() == name);
    found.ok_or_else(|| {
        raise("ArgumentError", format!("{name:?} is no reduction over ranks: sum, max or min"))
    })
}

#[pymethods]
impl PyGroup {
    /// This process's rank.
    fn rank(&self) -> usize {
        self.0.rank()
    }

    /// How many ranks there are.
    fn size(&self) -> usize {
        self.0.size()
    }

    /// A group of the ranks that give the same colour, in the order of their keys.
    #[pyo3(signature = (color, key))]
    fn split(&self, py: Python<'_>, color: usize, key: i32) -> PyResult<PyGroup> {
        detached(py, || self.0.split(color, key)).map(PyGroup)
    }

    /// Waits for every rank.
    fn barrier(&self, py: Python<'_>) -> PyResult<()> {
        detached(py, || self.0.barrier())
    }

    /// Operations and bytes of this rank so far, messages and bytes sent for them, and collectives of the library.
    fn traffic(&self) -> (u64, u64, u64, u64, u64) {
        let traffic = self.0.traffic();
        (traffic.operations, traffic.bytes, traffic.messages, traffic.sent, traffic.delegated)
    }

    /// These ranks in rows and columns.
    #[pyo3(signature = (rows))]
    fn grid(&self, py: Python<'_>, rows: usize) -> PyResult<PyGrid> {
        detached(py, || self.0.grid(rows)).map(PyGrid)
    }

    /// Fails unless an array is this rank's part, along an axis, of one with ``extent``.
    #[pyo3(signature = (local, axis, extent))]
    fn check_part(&self, local: PyRef<'_, PyArray>, axis: isize, extent: usize) -> PyResult<()> {
        self.0.sharded(&local.tensor(), axis, extent).or_raise().map(drop)
    }

    /// Tells all ranks that this one cannot go on.
    #[pyo3(signature = (cause))]
    fn abandon(&self, py: Python<'_>, cause: &str) {
        py.detach(|| self.0.abandon(cause));
    }

    #[pyo3(signature = (op, x))]
    fn all_reduce(&self, op: &str, x: PyRef<'_, PyArray>) -> PyResult<PyArray> {
        array(self.0.all_reduce(op_of(op)?, &x.tensor()))
    }

    #[pyo3(signature = (op, x))]
    fn reduce_scatter(&self, op: &str, x: PyRef<'_, PyArray>) -> PyResult<PyArray> {
        array(self.0.reduce_scatter(op_of(op)?, &x.tensor()))
    }

    #[pyo3(signature = (x))]
    fn all_gather(&self, x: PyRef<'_, PyArray>) -> PyResult<PyArray> {
        array(self.0.all_gather(&x.tensor()))
    }

    #[pyo3(signature = (x, root))]
    fn broadcast(&self, x: PyRef<'_, PyArray>, root: usize) -> PyResult<PyArray> {
        array(self.0.broadcast(&x.tensor(), root))
    }

    #[pyo3(signature = (x, dst))]
    fn send(&self, x: PyRef<'_, PyArray>, dst: usize) -> PyResult<PyArray> {
        array(self.0.send(&x.tensor(), dst))
    }

    #[pyo3(signature = (shape, dtype, src, device))]
    fn recv(
        &self,
        shape: &Bound<'_, PyAny>,
        dtype: &Bound<'_, PyAny>,
        src: usize,
        device: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<PyArray> {
        let dtype = optional_dtype(Some(dtype))?
            .ok_or_else(|| raise("ArgumentError", "recv: the dtype of what is received is needed"))?;
        array(self.0.recv(shape_of(shape)?, dtype, src, &device_of(device)?))
    }

    /// This rank's part of an array along an axis.
    #[pyo3(signature = (x, axis))]
    fn shard(&self, x: PyRef<'_, PyArray>, axis: isize) -> PyResult<PyArray> {
        let sharded = self.0.shard(&x.tensor(), axis).or_raise()?;
        Ok(PyArray::new(sharded.local().clone()))
    }

    /// The whole array from every rank's part along an axis of ``extent``.
    #[pyo3(signature = (local, axis, extent))]
    fn gather(&self, local: PyRef<'_, PyArray>, axis: isize, extent: usize) -> PyResult<PyArray> {
        let sharded = self.0.sharded(&local.tensor(), axis, extent).or_raise()?;
        array(sharded.gather())
    }
}

/// Ranks in rows and columns.
#[pyclass(name = "_Grid", module = "wootz._native", frozen)]
pub struct PyGrid(Grid);

#[pymethods]
impl PyGrid {
    /// How many rows and columns there are.
    fn extents(&self) -> [usize; 2] {
        self.0.extents()
    }

    /// This rank's block of a matrix.
    #[pyo3(signature = (x))]
    fn shard(&self, x: PyRef<'_, PyArray>) -> PyResult<PyArray> {
        array(self.0.shard(&x.tensor()))
    }

    /// The whole matrix from every rank's block.
    #[pyo3(signature = (block, rows, columns))]
    fn gather(&self, block: PyRef<'_, PyArray>, rows: usize, columns: usize) -> PyResult<PyArray> {
        array(self.0.gather(&block.tensor(), [rows, columns]))
    }

    /// This rank's block of a product.
    #[pyo3(signature = (a, b, inner))]
    fn matmul(&self, a: PyRef<'_, PyArray>, b: PyRef<'_, PyArray>, inner: usize) -> PyResult<PyArray> {
        array(self.0.matmul(&a.tensor(), &b.tensor(), inner))
    }
}

//! Ranks arranged in rows and columns, for matrices cut into blocks along both axes.

use super::{Group, part};
use crate::tensor::Tensor;
use wootz_ir::{Error, Result, Shape};

/// A group of ranks in rows and columns, numbered row by row. A matrix is cut into as many rows and columns of blocks; blocks
/// differ by at most one row and column of elements.
pub struct Grid {
    /// The ranks of this rank's row.
    row: Group,
    /// The ranks of this rank's column.
    column: Group,
}

impl Group {
    /// These ranks in `rows` rows. All ranks call it.
    pub fn grid(&self, rows: usize) -> Result<Grid> {
        if rows == 0 || !self.size().is_multiple_of(rows) {
            return Err(Error::argument("grid", format!("{} ranks do not fill {rows} rows", self.size())));
        }
        let columns = self.size() / rows;
        let key = self.rank() as i32;
        Ok(Grid {
            row: self.split(self.rank() / columns, key)?,
            column: self.split(self.rank() % columns, key)?,
        })
    }
}

impl Grid {
    /// How many rows and columns of ranks there are.
    pub fn extents(&self) -> [usize; 2] {
        [self.column.size(), self.row.size()]
    }

    /// This rank's block of a matrix that every rank has.
    pub fn shard(&self, x: &Tensor) -> Result<Tensor> {
        let [rows, columns] = matrix("shard", x)?;
        let own = part(rows, self.column.rank(), self.column.size());
        let rows = x.narrow(0, own.start, own.len())?;
        let own = part(columns, self.row.rank(), self.row.size());
        rows.narrow(1, own.start, own.len())
    }

    /// The matrix with these extents from every rank's block, on every rank.
    pub fn gather(&self, block: &Tensor, [rows, columns]: [usize; 2]) -> Result<Tensor> {
        self.column.sharded(&self.of_row(block, columns)?, 0, rows)?.gather()
    }

    /// This rank's block of `a · b`, from its blocks of both. `inner` is the extent over which the product is summed. Each rank
    /// gathers the blocks of its row of `a` and of its column of `b`.
    pub fn matmul(&self, a: &Tensor, b: &Tensor, inner: usize) -> Result<Tensor> {
        matrix("matmul", b)?;
        self.of_row(a, inner)?.matmul(&self.column.sharded(b, 0, inner)?.gather()?)
    }

    fn of_row(&self, block: &Tensor, columns: usize) -> Result<Tensor> {
        matrix("gather", block)?;
        self.row.sharded(block, 1, columns)?.gather()
    }
}

fn matrix(op: &'static str, x: &Tensor) -> Result<[usize; 2]> {
    let shape: &Shape = x.shape();
    match shape.rank() {
        2 => Ok([shape[0], shape[1]]),
        _ => Err(Error::shape(op, &[shape], "a matrix".to_string())),
    }
}

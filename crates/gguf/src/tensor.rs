//! The tensor index.

use wootz_blocks::BlockFormat;

use crate::MAX_DIMS;
use crate::cursor::Cursor;
use crate::error::{Error, Result};

/// The type of a tensor: one of our formats, or a type of which only the size is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TensorType {
    id: u32,
    name: &'static str,
    block_len: usize,
    block_bytes: usize,
}

/// Types that files may contain but the engine cannot compute with: id, name, values and bytes per block.
const OTHERS: &[(u32, &str, usize, usize)] = &[
    (9, "Q8_1", 32, 36),
    (24, "I8", 1, 1),
    (25, "I16", 1, 2),
    (26, "I32", 1, 4),
    (27, "I64", 1, 8),
    (28, "F64", 1, 8),
];

impl TensorType {
    /// The type with this id, if known.
    pub fn from_id(id: u32) -> Option<TensorType> {
        if let Some(f) = BlockFormat::from_gguf_id(id) {
            return Some(f.into());
        }
        let &(id, name, block_len, block_bytes) = OTHERS.iter().find(|o| o.0 == id)?;
        Some(TensorType { id, name, block_len, block_bytes })
    }

    /// The id in the file.
    pub fn id(&self) -> u32 {
        self.id
    }

    /// The name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The format, if the engine can compute with it.
    pub fn format(&self) -> Option<BlockFormat> {
        BlockFormat::from_gguf_id(self.id)
    }
}

impl From<BlockFormat> for TensorType {
    fn from(f: BlockFormat) -> Self {
        TensorType { id: f.gguf_id(), name: f.name(), block_len: f.block_len(), block_bytes: f.block_bytes() }
    }
}

/// An entry of the tensor index.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor {
    /// Name.
    pub name: String,
    /// Extents, fastest-varying first, as in the file.
    pub dims: Vec<u64>,
    /// Type.
    pub kind: TensorType,
    /// Offset of its data, relative to the data section.
    pub offset: u64,
    /// Size of its data in bytes.
    pub bytes: u64,
}

impl Tensor {
    /// Reads one entry and checks everything that does not need the data section.
    pub(crate) fn parse(cursor: &mut Cursor<'_>, index: usize) -> Result<Tensor> {
        let what = || format!("entry {index} of the tensor index");
        let at = cursor.position() as u64;
        let name = cursor.utf8(&what)?.to_owned();
        let n = cursor.u32(&what)?;
        if n as usize > MAX_DIMS {
            let problem =
                format!("{n} dimensions; at most {MAX_DIMS} are allowed (index entry at byte {at})");
            return Err(Error::Tensor { name, problem });
        }
        let dims = (0..n).map(|_| cursor.u64(&what)).collect::<Result<Vec<u64>>>()?;
        let id = cursor.u32(&what)?;
        let Some(kind) = TensorType::from_id(id) else {
            return Err(Error::Tensor { name, problem: format!("unknown tensor type {id}") });
        };
        let offset = cursor.u64(&what)?;
        let bytes = match size(&dims, kind) {
            Ok(bytes) => bytes,
            Err(problem) => return Err(Error::Tensor { name, problem }),
        };
        Ok(Tensor { name, dims, kind, offset, bytes })
    }

    /// The number of values.
    pub fn len(&self) -> u64 {
        self.dims.iter().product()
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Extents with the slowest-varying first, the usual order for arrays.
    pub fn shape(&self) -> Vec<usize> {
        self.dims.iter().rev().map(|&d| d as usize).collect()
    }

    /// The format, or an error that names the tensor and its type.
    pub fn format(&self) -> Result<BlockFormat> {
        self.kind.format().ok_or_else(|| Error::Tensor {
            name: self.name.clone(),
            problem: format!("tensor type {} is not supported for computation", self.kind.name),
        })
    }
}

/// Size of a tensor in bytes, with overflow checks.
pub(crate) fn size(dims: &[u64], kind: TensorType) -> std::result::Result<u64, String> {
    let overflow = || format!("dimensions {dims:?} overflow");
    // Zero extents would hide an overflow of the others, so the product of the non-zero ones counts.
    dims.iter().try_fold(1u64, |n, &d| n.checked_mul(d.max(1))).ok_or_else(overflow)?;
    let len: u64 = dims.iter().product();
    let row = dims.first().copied().unwrap_or(1);
    if !row.is_multiple_of(kind.block_len as u64) {
        let block = kind.block_len;
        return Err(format!(
            "rows of {row} values are not a multiple of the {} block size {block}",
            kind.name
        ));
    }
    (len / kind.block_len as u64)
        .checked_mul(kind.block_bytes as u64)
        .filter(|&b| i64::try_from(b).is_ok())
        .ok_or_else(overflow)
}

//! Operation headers: ranks that meet in a collective compare these before anything else.

use wootz_ir::{DType, Shape};

/// Bytes of a header; what follows is aligned for every dtype.
pub const HEADER: usize = 64;

/// Extents that are compared one by one; of more, the last is their product.
const AXES: usize = 5;

/// The operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Operation {
    AllSum = 1,
    AllMax,
    AllMin,
    AllGather,
    SumScatter,
    MaxScatter,
    MinScatter,
    Broadcast,
    Send,
    Receive,
    Barrier,
    Split,
    End,
}

impl Operation {
    const ALL: [Operation; 13] = [
        Operation::AllSum,
        Operation::AllMax,
        Operation::AllMin,
        Operation::AllGather,
        Operation::SumScatter,
        Operation::MaxScatter,
        Operation::MinScatter,
        Operation::Broadcast,
        Operation::Send,
        Operation::Receive,
        Operation::Barrier,
        Operation::Split,
        Operation::End,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Operation::AllSum => "all_sum",
            Operation::AllMax => "all_max",
            Operation::AllMin => "all_min",
            Operation::AllGather => "all_gather",
            Operation::SumScatter => "sum_scatter",
            Operation::MaxScatter => "max_scatter",
            Operation::MinScatter => "min_scatter",
            Operation::Broadcast => "broadcast",
            Operation::Send => "send",
            Operation::Receive => "recv",
            Operation::Barrier => "barrier",
            Operation::Split => "split",
            Operation::End => "end",
        }
    }
}

/// What a rank does next in a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    pub operation: Operation,
    pub dtype: DType,
    /// The root of a broadcast.
    pub root: u16,
    /// How many operations the group has had before.
    pub sequence: u32,
    axes: u8,
    extents: [u64; AXES],
    /// Bytes that follow.
    pub payload: u64,
}

impl Header {
    pub fn new(operation: Operation, dtype: DType, shape: &Shape) -> Header {
        let mut extents = [0; AXES];
        for (i, &extent) in shape.iter().enumerate() {
            match i {
                0..AXES => extents[i] = extent as u64,
                _ => extents[AXES - 1] *= extent as u64,
            }
        }
        let axes = shape.rank().min(255) as u8;
        Header { operation, dtype, root: 0, sequence: 0, axes, extents, payload: 0 }
    }

    /// The operation without data.
    pub fn plain(operation: Operation) -> Header {
        Header::new(operation, DType::U8, &Shape::scalar())
    }

    pub fn encode(&self, to: &mut [u8]) {
        let dtype = DType::ALL.iter().position(|d| *d == self.dtype).unwrap_or(0) as u8;
        to[..HEADER].fill(0);
        to[..4].copy_from_slice(&[self.operation as u8, dtype, self.axes, 0]);
        to[4..6].copy_from_slice(&self.root.to_le_bytes());
        to[8..12].copy_from_slice(&self.sequence.to_le_bytes());
        to[16..24].copy_from_slice(&self.payload.to_le_bytes());
        for (i, extent) in self.extents.iter().enumerate() {
            to[24 + 8 * i..32 + 8 * i].copy_from_slice(&extent.to_le_bytes());
        }
    }

    /// The header in these bytes, if they are one.
    pub fn decode(from: &[u8]) -> Option<Header> {
        let from = from.first_chunk::<HEADER>()?;
        let word = |at: usize| Some(u64::from_le_bytes(from[at..at + 8].try_into().ok()?));
        let operation = *Operation::ALL.iter().find(|o| **o as u8 == from[0])?;
        let mut extents = [0; AXES];
        for (i, extent) in extents.iter_mut().enumerate() {
            *extent = word(24 + 8 * i)?;
        }
        Some(Header {
            operation,
            dtype: *DType::ALL.get(from[1] as usize)?,
            root: u16::from_le_bytes(from[4..6].try_into().ok()?),
            sequence: u32::from_le_bytes(from[8..12].try_into().ok()?),
            axes: from[2],
            extents,
            payload: word(16)?,
        })
    }

    /// Whether what was sent is what is received.
    pub fn is_received_as(&self, own: &Header) -> bool {
        *self == Header { operation: Operation::Send, ..*own }
    }

    /// In the words of an error.
    pub fn describe(&self) -> String {
        let name = self.operation.name();
        match self.operation {
            Operation::Barrier | Operation::Split => name.to_string(),
            Operation::End => "the end of the program".to_string(),
            Operation::Broadcast => {
                format!("{name} of {}{} from rank {}", self.dtype, self.shape(), self.root)
            }
            _ => format!("{name} of {}{}", self.dtype, self.shape()),
        }
    }

    fn shape(&self) -> Shape {
        self.extents[..(self.axes as usize).min(AXES)].iter().map(|&e| e as usize).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_read_as_it_was_written() {
        let mut header = Header::new(Operation::AllGather, DType::BF16, &Shape::from([3, 0, 7]));
        (header.root, header.sequence, header.payload) = (2, 77, 1 << 40);
        let mut bytes = [1; HEADER];
        header.encode(&mut bytes);
        assert_eq!(Header::decode(&bytes), Some(header));
        assert_eq!(header.describe(), "all_gather of bf16[3, 0, 7]");
        assert_eq!(Header::decode(&[0; HEADER]), None);
        assert!((0..HEADER).all(|length| Header::decode(&bytes[..length]).is_none()), "it is cut off");
    }
}

//! What the fuzzers reach into; not an interface.

use crate::header::{HEADER, Header};
use crate::process::Peer;

/// Reads bytes as the messages that ranks send each other. Whether they are the header of an operation.
pub fn message(bytes: &[u8]) -> bool {
    let peer = Peer::decode(bytes);
    assert_eq!(Peer::decode(&peer.encode()).pid, peer.pid);
    let Some(header) = Header::decode(bytes) else { return false };
    let mut again = [0xff; HEADER];
    header.encode(&mut again);
    assert_eq!(Header::decode(&again), Some(header), "a header is read as it was written");
    std::hint::black_box((header.describe(), header.is_received_as(&header)));
    true
}

/// The header of a reduction, as it travels.
pub fn header() -> Vec<u8> {
    let shape = wootz_ir::Shape::from([3, 0, 7, 1, 2, 9]);
    let mut bytes = vec![0; HEADER];
    Header::new(crate::header::Operation::AllSum, wootz_ir::DType::BF16, &shape).encode(&mut bytes);
    bytes
}

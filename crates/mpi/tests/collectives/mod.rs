//! Every collective on every dtype, against plain arithmetic in f64 on what each rank is known to have.

use half::{bf16, f16};
use wootz_ir::{DType, Shape};
use wootz_mpi::{Group, ReduceOp};

/// Elements: none, few, and more bytes of every dtype than go along with a header.
const COUNTS: [usize; 4] = [0, 1, 7, 20_000];

/// What a rank has: integers that are exact in every dtype, as is their sum where it does not wrap, and a NaN among floats.
fn values(dtype: DType, count: usize, rank: usize) -> Vec<f64> {
    let value = |i: usize| {
        let mixed = (i * 37 + rank * 101 + i / 7) % 120;
        match dtype {
            DType::Bool => ((mixed / 3) % 2) as f64,
            _ if is_float(dtype) && i == rank && count > 4 => f64::NAN,
            DType::U8 | DType::U16 | DType::U32 | DType::U64 => (mixed / 2) as f64,
            _ => mixed as f64 - 60.0,
        }
    };
    (0..count).map(value).collect()
}

fn is_float(dtype: DType) -> bool {
    matches!(dtype, DType::F16 | DType::BF16 | DType::F32 | DType::F64)
}

fn encode(dtype: DType, values: &[f64]) -> Vec<u8> {
    let integer = |x: f64, size: usize| (x as i64).to_le_bytes()[..size].to_vec();
    let one = |&x: &f64| match dtype {
        DType::Bool => vec![u8::from(x != 0.0)],
        DType::F16 => f16::from_f64(x).to_le_bytes().to_vec(),
        DType::BF16 => bf16::from_f64(x).to_le_bytes().to_vec(),
        DType::F32 => (x as f32).to_le_bytes().to_vec(),
        DType::F64 => x.to_le_bytes().to_vec(),
        _ => integer(x, dtype.size()),
    };
    values.iter().flat_map(one).collect()
}

/// Every rank's values, combined one after another.
fn combined(op: ReduceOp, dtype: DType, count: usize, size: usize) -> Vec<f64> {
    let two = |a: f64, b: f64| match op {
        _ if a.is_nan() || b.is_nan() => f64::NAN,
        ReduceOp::Sum => a + b,
        ReduceOp::Max => a.max(b),
        ReduceOp::Min => a.min(b),
    };
    let ranks: Vec<Vec<f64>> = (0..size).map(|rank| values(dtype, count, rank)).collect();
    (0..count).map(|i| (1..size).fold(ranks[0][i], |sum, rank| two(sum, ranks[rank][i]))).collect()
}

/// Compares bytes, but NaN with NaN whatever its bits.
fn same(dtype: DType, found: &[u8], expected: &[f64], what: &str) {
    let coded = encode(dtype, expected);
    assert_eq!(found.len(), coded.len(), "{what}");
    let pairs = found.chunks(dtype.size()).zip(coded.chunks(dtype.size()));
    for (i, (found, coded)) in pairs.enumerate() {
        let both_nan = expected[i].is_nan() && is_nan(dtype, found);
        assert!(found == coded || both_nan, "{what}, element {i}: {found:?} instead of {}", expected[i]);
    }
}

fn is_nan(dtype: DType, bytes: &[u8]) -> bool {
    match (dtype, bytes) {
        (DType::F16, &[a, b]) => f16::from_le_bytes([a, b]).is_nan(),
        (DType::BF16, &[a, b]) => bf16::from_le_bytes([a, b]).is_nan(),
        (DType::F32, &[a, b, c, d]) => f32::from_le_bytes([a, b, c, d]).is_nan(),
        (DType::F64, _) => f64::from_le_bytes(bytes.try_into().unwrap_or_default()).is_nan(),
        _ => false,
    }
}

/// A result's memory, aligned for every dtype, with wrong bytes in it.
struct Room(Vec<u64>, usize);

impl Room {
    fn new(bytes: usize) -> Room {
        Room(vec![0x5a5a_5a5a_5a5a_5a5a; bytes.div_ceil(8)], bytes)
    }

    fn of(bytes: &[u8]) -> Room {
        let mut room = Room::new(bytes.len());
        room.bytes_mut().copy_from_slice(bytes);
        room
    }

    fn bytes(&self) -> &[u8] {
        &bytemuck::cast_slice(&self.0)[..self.1]
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        &mut bytemuck::cast_slice_mut(&mut self.0)[..self.1]
    }
}

/// All of them.
pub fn check(group: &Group) {
    for dtype in DType::ALL {
        for count in COUNTS {
            reductions(group, dtype, count);
            copies(group, dtype, count);
        }
    }
}

fn reductions(group: &Group, dtype: DType, count: usize) {
    let (rank, size) = (group.rank(), group.size());
    for op in ReduceOp::ALL {
        let what = format!("{} of {dtype}[{count}] on rank {rank} of {size}", op.name());
        let own = Room::of(&encode(dtype, &values(dtype, count, rank)));
        let mut into = Room::new(own.1);
        let shape = Shape::from([count]);
        group.all_reduce(op, dtype, &shape, own.bytes(), into.bytes_mut()).expect(&what);
        same(dtype, into.bytes(), &combined(op, dtype, count, size), &what);
        let all = Room::of(&encode(dtype, &values(dtype, count * size, rank)));
        let shape = Shape::from([count * size]);
        group.reduce_scatter(op, dtype, &shape, all.bytes(), into.bytes_mut()).expect(&what);
        let expected = combined(op, dtype, count * size, size);
        same(dtype, into.bytes(), &expected[rank * count..(rank + 1) * count], &format!("scattered {what}"));
    }
}

fn copies(group: &Group, dtype: DType, count: usize) {
    let (rank, size, shape) = (group.rank(), group.size(), Shape::from([count]));
    let what = format!("{dtype}[{count}] on rank {rank} of {size}");
    let own = Room::of(&encode(dtype, &values(dtype, count, rank)));
    let mut all = Room::new(own.1 * size);
    group.all_gather(dtype, &shape, own.bytes(), all.bytes_mut()).expect(&what);
    let expected: Vec<f64> = (0..size).flat_map(|rank| values(dtype, count, rank)).collect();
    same(dtype, all.bytes(), &expected, &format!("all_gather of {what}"));
    for root in 0..size {
        let mut data = Room::of(own.bytes());
        group.broadcast(root, dtype, &shape, data.bytes_mut()).expect(&what);
        same(dtype, data.bytes(), &values(dtype, count, root), &format!("broadcast of {what}"));
    }
    if size == 1 {
        return;
    }
    // Round the ring: rank 0 receives first, so that somebody does.
    let (to, from) = ((rank + 1) % size, (rank + size - 1) % size);
    let mut got = Room::new(own.1);
    if rank > 0 {
        group.send(to, dtype, &shape, own.bytes()).expect(&what);
    }
    group.receive(from, dtype, &shape, got.bytes_mut()).expect(&what);
    if rank == 0 {
        group.send(to, dtype, &shape, own.bytes()).expect(&what);
    }
    same(dtype, got.bytes(), &values(dtype, count, from), &format!("recv of {what}"));
}

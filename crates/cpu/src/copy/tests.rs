use super::*;
use crate::team::Team;

fn check<T: Copy + Send + Sync + PartialEq + std::fmt::Debug>(make: fn(usize) -> T) {
    let cases: &[(&[usize], &[isize], usize)] = &[
        (&[], &[], 0),
        (&[7], &[1], 0),
        (&[7], &[-1], 6),
        (&[5], &[0], 3),
        (&[0, 3], &[3, 1], 0),
        (&[33, 65], &[65, 1], 0),
        (&[33, 65], &[1, 33], 0),
        (&[65, 33], &[1, 70], 4),
        (&[40, 3, 50], &[1, 2000, 40], 0),
        (&[3, 40, 50], &[2000, 1, 40], 0),
        (&[4, 9, 5, 6], &[270, 1, 54, 9], 0),
        (&[6, 7], &[-7, -1], 41),
        (&[3, 8], &[0, 2], 0),
        (&[1, 300], &[1, 1], 0),
        (&[2, 300], &[300, 1], 0),
    ];
    let memory: Vec<T> = (0..7000).map(make).collect();
    for workers in [1, 3] {
        let team = Team::new(workers);
        for &(shape, strides, start) in cases {
            let count: usize = shape.iter().product();
            let mut out = vec![make(9999); count];
            let to = SyncPtr::of(&mut out);
            // SAFETY: all cases stay inside the memory, and the result has room.
            unsafe {
                let gather = Gather::new(memory.as_ptr().add(start), shape, strides);
                team.run(&|w| gather.run(w, to));
            }
            for (i, value) in out.iter().enumerate() {
                let (mut rest, mut at) = (i, start as isize);
                for a in (0..shape.len()).rev() {
                    at += (rest % shape[a]) as isize * strides[a];
                    rest /= shape[a];
                }
                assert_eq!(*value, memory[at as usize], "{shape:?} {strides:?} at {i}");
            }
        }
    }
}

#[test]
fn any_layout_of_any_size() {
    check::<u8>(|i| i as u8);
    check::<u16>(|i| i as u16);
    check::<f32>(|i| i as f32);
    check::<u64>(|i| i as u64);
}

/// A transpose that is written past the caches if its rows start with cache lines.
fn large<T: Copy + Default + Send + Sync + PartialEq + std::fmt::Debug>(
    rows: usize,
    columns: usize,
    make: fn(usize) -> T,
) {
    let from: Vec<T> = (0..rows * columns).map(make).collect();
    let mut to = vec![T::default(); rows * columns];
    let target = SyncPtr::of(&mut to);
    let (shape, strides) = ([rows, columns], [1, rows as isize]);
    // SAFETY: the strides are those of the whole vector, and the result has room.
    unsafe {
        let gather = Gather::new(from.as_ptr(), &shape, &strides);
        Team::new(3).run(&|w| gather.run(w, target));
    }
    for (r, row) in to.chunks(columns).enumerate() {
        assert!(row.iter().enumerate().all(|(c, &v)| v == from[c * rows + r]), "row {r}");
    }
}

#[test]
fn large_transposes() {
    large::<u32>(1500, 1600, |i| i as u32);
    large::<u32>(1503, 1601, |i| i as u32);
    large::<u64>(1100, 1032, |i| i as u64);
    large::<u16>(2100, 2048, |i| i as u16);
}

#[test]
fn streamed_copies_keep_their_ends() {
    for (offset, len) in [(0, 1000), (3, 1001), (61, 64), (1, 5)] {
        let from: Vec<u8> = (0..2000).map(|i| (i * 7) as u8).collect();
        let mut to = vec![0; 2000];
        stream_bytes(&from[offset..offset + len], &mut to[5..5 + len]);
        assert_eq!(to[5..5 + len], from[offset..offset + len]);
        assert!(to[..5].iter().chain(&to[5 + len..]).all(|&b| b == 0));
    }
}

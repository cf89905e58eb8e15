use super::*;
use crate::team::Team;
use std::cmp::Ordering;

fn check<T: SortKey + PartialOrd + Send + Sync>(row: &[T], is_nan: fn(&T) -> bool) {
    let rising = |a: &T, b: &T| a.partial_cmp(b).unwrap_or_else(|| is_nan(a).cmp(&is_nan(b)));
    for descending in [false, true] {
        let mut want: Vec<usize> = (0..row.len()).collect();
        want.sort_by(|&i, &j| {
            let order: Ordering = rising(&row[i], &row[j]);
            if descending { order.reverse() } else { order }
        });
        for limit in [0, 1, 3, row.len() / 2, row.len()] {
            let mut places = vec![-1; limit.min(row.len())];
            Sorter::default().sort::<T, Places<T::Placed>>(row, descending, &mut places);
            let places: Vec<usize> = places.into_iter().map(|p| p as usize).collect();
            assert_eq!(places, want[..limit.min(row.len())], "{descending} {limit}");
            let mut sorted = row[..places.len()].to_vec();
            Sorter::default().sort::<T, Values>(row, descending, &mut sorted);
            for (value, &place) in sorted.iter().zip(&places) {
                assert!(value == &row[place] || is_nan(value) && is_nan(&row[place]), "{descending} {limit}");
            }
        }
        for workers in [1, 2, 3, 5] {
            let places: Vec<usize> = together::<T, Places<T::Placed>>(row, descending, workers)
                .into_iter()
                .map(|p| p as usize)
                .collect();
            assert_eq!(places, want, "{descending} by {workers}");
            let sorted = together::<T, Values>(row, descending, workers);
            for (value, &place) in sorted.iter().zip(&places) {
                assert!(
                    value == &row[place] || is_nan(value) && is_nan(&row[place]),
                    "{descending} by {workers}"
                );
            }
        }
    }
}

fn together<T: SortKey + Sync, S: Scheme<T>>(row: &[T], descending: bool, workers: usize) -> Vec<S::Out>
where
    S::Out: Send + Copy,
{
    let mut memory = crate::scratch::Scratch::new();
    let memory = SyncPtr::new(memory.reserve(Together::<S::Item>::bytes(row.len(), workers)));
    let parts = parking_lot::Mutex::new(Vec::new());
    Team::new(workers).run(&|worker| {
        // SAFETY: the memory is large enough, and every worker does the same.
        let mut together = unsafe { Together::<S::Item>::new(worker, memory, row.len()) };
        let share = together.share();
        let (range, sorted) = together.sort(S::BITS, |items| {
            for (item, place) in items.iter_mut().zip(share.clone()) {
                *item = S::item(row[place], place, descending);
            }
        });
        let part: Vec<S::Out> = sorted.iter().map(|&item| S::finish(item, descending)).collect();
        parts.lock().push((range.start, part));
    });
    let mut parts = parts.into_inner();
    parts.sort_by_key(|(start, part)| (*start, part.len()));
    parts.into_iter().flat_map(|(_, part)| part).collect()
}

#[test]
fn stable_with_nan_last() {
    let special =
        [0.0, -0.0, f32::NAN, 1.0, f32::INFINITY, -1.0, f32::NEG_INFINITY, -f32::NAN, 0.0, 1e-45, -1e-45];
    check(&special, |v| v.is_nan());
    check(&special.map(|v| v as f64), |v| v.is_nan());
    let many: Vec<f32> =
        (0..3000).map(|i| if i % 97 == 0 { f32::NAN } else { ((i * 7919) % 101) as f32 - 50.0 }).collect();
    check(&many, |v| v.is_nan());
    check::<f32>(&[], |v| v.is_nan());
}

#[test]
fn integers_of_any_size() {
    let values: Vec<i64> =
        (0..5000).map(|i: i64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15_u64 as i64) >> (i % 60)).collect();
    check(&values, |_| false);
    check(&values.iter().map(|&v| v as u64).collect::<Vec<_>>(), |_| false);
    check(&values.iter().map(|&v| v as i32).collect::<Vec<_>>(), |_| false);
    check(&values.iter().map(|&v| v as u32).collect::<Vec<_>>(), |_| false);
    check(&values.iter().map(|&v| v as i8).collect::<Vec<_>>(), |_| false);
    check(&values.iter().map(|&v| (v & 1) as u8).collect::<Vec<_>>(), |_| false);
}

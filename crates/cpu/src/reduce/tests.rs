use super::*;

fn data(n: usize) -> Vec<f32> {
    (0..n).map(|i| ((i * 7919 + 13) % 1009) as f32 / 1009.0 - 0.3).collect()
}

const LENGTHS: &[usize] = &[0, 1, 2, 63, 64, 65, 100, 4095, 4096, 4097, 300_001];

#[test]
fn sums_and_products_of_runs() {
    for &n in LENGTHS {
        let x = data(n);
        let want: f64 = x.iter().map(|&v| v as f64).sum();
        let size: f64 = x.iter().map(|&v| v.abs() as f64).sum();
        assert!((reduce::<Sum, f32>(&x) as f64 - want).abs() <= size * 4e-7, "{n}");
        assert!((sum_wide(&x) - want).abs() <= size * 4e-7, "{n}");
        let wide: Vec<f64> = x.iter().map(|&v| v as f64).collect();
        assert!((reduce::<Sum, f64>(&wide) - want).abs() <= size * 1e-14, "{n}");
        let ints: Vec<i32> = (0..n as i32).map(|i| i.wrapping_mul(0x1234_5677)).collect();
        assert_eq!(reduce::<Sum, i32>(&ints), ints.iter().fold(0i32, |a, &b| a.wrapping_add(b)));
        assert_eq!(reduce::<Prod, i32>(&ints), ints.iter().fold(1, |a: i32, &b| a.wrapping_mul(b)));
        assert_eq!(reduce::<Max, i32>(&ints), ints.iter().copied().max().unwrap_or(i32::MIN));
        assert_eq!(reduce::<Min, f32>(&x), x.iter().copied().fold(f32::INFINITY, f32::min));
    }
}

#[test]
fn a_long_sum_stays_accurate() {
    // One large number and ten million small ones: a single f32 chain would lose them all.
    let mut x = vec![0.1f32; 10_000_000];
    x[0] = 1e6;
    let want = 1e6 + 0.1f32 as f64 * 9_999_999.0;
    let got = reduce::<Sum, f32>(&x) as f64;
    assert!((got - want).abs() / want < 1e-6, "{got} not {want}");
}

#[test]
fn nan_wins_wherever_it_stands() {
    for n in [1, 64, 65, 5000] {
        for at in [0, n / 2, n - 1] {
            let mut x = data(n);
            x[at] = f32::NAN;
            assert!(reduce::<Max, f32>(&x).is_nan());
            assert!(reduce::<Min, f32>(&x).is_nan());
            assert_eq!(arg_reduce::<ArgMax, f32>(&x).unwrap().0, at);
            assert_eq!(arg_reduce::<ArgMin, f32>(&x).unwrap().0, at);
        }
    }
    let infinite = [f64::INFINITY, 1.0, f64::INFINITY];
    assert_eq!(reduce::<Sum, f64>(&infinite), f64::INFINITY);
}

#[test]
fn arg_reductions_take_the_first() {
    assert_eq!(arg_reduce::<ArgMax, f32>(&[]), None);
    for &n in &LENGTHS[1..] {
        let x: Vec<i64> = (0..n as i64).map(|i| (i * 37) % 101).collect();
        let largest = *x.iter().max().unwrap();
        let smallest = *x.iter().min().unwrap();
        assert_eq!(
            arg_reduce::<ArgMax, i64>(&x).unwrap(),
            (x.iter().position(|&v| v == largest).unwrap(), largest)
        );
        assert_eq!(
            arg_reduce::<ArgMin, i64>(&x).unwrap(),
            (x.iter().position(|&v| v == smallest).unwrap(), smallest)
        );
    }
    assert_eq!(arg_reduce::<ArgMax, f32>(&[f32::NEG_INFINITY; 5000]).unwrap().0, 0);
}

#[test]
fn rows_fold_into_columns() {
    for (rows, columns, stride) in
        [(0, 5, 5), (1, 1, 1), (17, 3, 3), (1000, 3, 3), (9, 31, 31), (23, 100, 107), (8, 64, 64)]
    {
        let x: Vec<i64> = (0..(rows.max(1) * stride) as i64).map(|i| (i * 31) % 97 - 40).collect();
        let column = |j: usize| (0..rows).map(move |r| r * stride + j);
        let mut sum = vec![5; columns];
        fold_rows::<Sum, i64>(&mut sum, &x, rows, stride);
        let mut max = vec![i64::MIN; columns];
        fold_rows::<Max, i64>(&mut max, &x, rows, stride);
        for j in 0..columns {
            assert_eq!(sum[j], 5 + column(j).map(|i| x[i]).sum::<i64>(), "{rows} {columns}");
            assert_eq!(max[j], column(j).map(|i| x[i]).max().unwrap_or(i64::MIN));
        }
        if rows > 0 {
            let (mut values, mut places) = (x[..columns].to_vec(), vec![0; columns]);
            for r in 1..rows {
                arg_fold_row::<ArgMax, i64>(
                    &mut values,
                    &mut places,
                    &x[r * stride..r * stride + columns],
                    r as i64,
                );
            }
            for j in 0..columns {
                let run: Vec<i64> = column(j).map(|i| x[i]).collect();
                assert_eq!(places[j] as usize, arg_reduce::<ArgMax, i64>(&run).unwrap().0);
            }
        }
    }
}

#[test]
fn truth() {
    for &n in LENGTHS {
        let mut x = vec![false; n];
        assert!(!any_true(&x));
        assert_eq!(all_true(&x), n == 0);
        if n > 0 {
            x[n - 1] = true;
            assert!(any_true(&x));
            x.fill(true);
            assert!(all_true(&x));
            x[n / 2] = false;
            assert!(!all_true(&x));
            assert_eq!(count_true(&x), n as u64 - 1);
        }
    }
}

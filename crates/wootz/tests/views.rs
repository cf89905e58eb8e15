//! Long unevaluated chains that combine different views of one value: right values, in time that grows with the chain.

use wootz::{Result, Tensor};

type Matrix = Vec<Vec<f64>>;

fn start(rows: usize, columns: usize) -> (Matrix, Tensor) {
    let matrix: Matrix = (0..rows)
        .map(|i| (0..columns).map(|j| ((i * 31 + j * 17) % 23) as f64 / 8.0 - 1.0).collect())
        .collect();
    let flat: Vec<f64> = matrix.iter().flatten().copied().collect();
    let tensor = Tensor::from_vec(flat, [rows, columns]).unwrap();
    (matrix, tensor)
}

fn assert_close(tensor: &Tensor, expected: &Matrix) {
    let expected: Vec<f64> = expected.iter().flatten().copied().collect();
    let found = tensor.to_vec::<f64>().unwrap();
    assert_eq!(found.len(), expected.len());
    for (i, (a, b)) in found.iter().zip(&expected).enumerate() {
        assert!((a - b).abs() <= 1e-9 * (1.0 + b.abs()), "element {i}: {a} instead of {b}");
    }
}

#[test]
fn two_hundred_sums_with_the_transpose() -> Result<()> {
    let (mut expected, mut x) = start(16, 16);
    for _ in 0..200 {
        x = x.add(x.t()?)?.mul(0.5)?;
        let old = expected.clone();
        for (i, row) in expected.iter_mut().enumerate() {
            row.iter_mut().enumerate().for_each(|(j, v)| *v = (old[i][j] + old[j][i]) * 0.5);
        }
    }
    assert_close(&x, &expected);
    Ok(())
}

#[test]
fn fifty_blurs_by_slices() -> Result<()> {
    let (mut expected, mut x) = start(108, 104);
    for _ in 0..50 {
        let (rows, columns) = (x.shape()[0], x.shape()[1]);
        let mut sum: Option<Tensor> = None;
        for i in 0..3 {
            for j in 0..3 {
                let part = x.narrow(0, i, rows - 2)?.narrow(1, j, columns - 2)?;
                sum = Some(match sum {
                    Some(sum) => sum.add(part)?,
                    None => part,
                });
            }
        }
        x = sum.expect("nine parts").mul(1.0 / 9.0)?;
        let old = expected.clone();
        let at = |i: usize, j: usize| -> f64 { (0..9).map(|k| old[i + k / 3][j + k % 3]).sum::<f64>() / 9.0 };
        expected = (0..old.len() - 2).map(|i| (0..old[0].len() - 2).map(|j| at(i, j)).collect()).collect();
    }
    assert_close(&x, &expected);
    Ok(())
}

//! Files: round trips, what NumPy writes, and what is refused.

use wootz::{
    DType, Result, Tensor, load_npy, load_npz, load_safetensors, save_npy, save_npz, save_safetensors,
};

fn folder(name: &str) -> std::path::PathBuf {
    let path = std::env::temp_dir().join(format!("wootz-files-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&path).unwrap();
    path
}

fn samples() -> Result<Vec<Tensor>> {
    let mut tensors = Vec::new();
    for dtype in DType::ALL {
        for shape in [vec![], vec![3], vec![2, 3], vec![0, 4], vec![2, 1, 5]] {
            let count: usize = shape.iter().product();
            let tensor = Tensor::arange(0, count.max(1), 1, DType::I64)?.narrow(0, 0, count)?.cast(dtype)?;
            tensors.push(tensor.reshape(shape)?);
        }
    }
    Ok(tensors)
}

#[test]
fn every_dtype_and_rank_comes_back() -> Result<()> {
    let folder = folder("round");
    for tensor in samples()? {
        let path = folder.join("x.npy");
        if tensor.dtype() != DType::BF16 {
            save_npy(&path, &tensor)?;
            let back = load_npy(&path)?;
            assert_eq!((back.dtype(), back.shape()), (tensor.dtype(), tensor.shape()));
            assert_eq!(back.to_bytes()?, tensor.to_bytes()?);
        }
        let path = folder.join("x.safetensors");
        save_safetensors(&path, &[("a", &tensor), ("b", &tensor)])?;
        let back = load_safetensors(&path)?;
        assert_eq!(back.len(), 2);
        assert_eq!((back[1].1.dtype(), back[1].1.shape()), (tensor.dtype(), tensor.shape()));
        assert_eq!(back[1].1.to_bytes()?, tensor.to_bytes()?);
    }
    let x = Tensor::arange(0, 6, 1, DType::F32)?.reshape([2, 3])?;
    save_npz(folder.join("x.npz"), &[("x", &x), ("transposed", &x.t()?)])?;
    let back = load_npz(folder.join("x.npz"))?;
    assert_eq!(back[1].0, "transposed");
    assert_eq!(back[1].1.to_vec::<f32>()?, [0.0, 3.0, 1.0, 4.0, 2.0, 5.0]);
    std::fs::remove_dir_all(folder).unwrap();
    Ok(())
}

/// A `.npy` file with this header text and data.
fn npy(header: &str, data: &[u8]) -> Vec<u8> {
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(data);
    bytes
}

#[test]
fn fortran_order_and_big_endian_are_understood() -> Result<()> {
    let path = folder("order").join("x.npy");
    let data: Vec<u8> = [1u16, 2, 3, 4, 5, 6].iter().flat_map(|v| v.to_be_bytes()).collect();
    std::fs::write(&path, npy("{'descr': '>u2', 'fortran_order': True, 'shape': (2, 3), }\n", &data))
        .unwrap();
    assert_eq!(load_npy(&path)?.to_vec::<u16>()?, [1, 3, 5, 2, 4, 6]);
    Ok(())
}

#[test]
fn malformed_files_are_errors_that_say_what_is_wrong() {
    let folder = folder("bad");
    let path = folder.join("x.npy");
    let good = npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }\n", &[0; 8]);
    for (bytes, word) in [
        (b"hello".to_vec(), "magic"),
        (good[..20].to_vec(), "header"),
        (good[..good.len() - 1].to_vec(), "bytes of data"),
        (npy("{'descr': '<c8', 'fortran_order': False, 'shape': (2,), }\n", &[0; 16]), "<c8"),
        (npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,), }\n", &[0; 8]), "structured"),
        (npy("{'descr': '<f4', 'fortran_order': False, 'shape': (-2,), }\n", &[0; 8]), "extent"),
        (npy("{'descr': '<f4', 'fortran_order': Maybe, 'shape': (2,), }\n", &[0; 8]), "fortran_order"),
        (npy("{'descr': '<f4', 'shape': (2,), }\n", &[0; 8]), "fortran_order"),
        (
            npy(
                &format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({0}, {0}), }}\n", usize::MAX),
                &[],
            ),
            "overflows",
        ),
        (npy("{'descr': '|b1', 'fortran_order': False, 'shape': (2,), }\n", &[1, 7]), "bool"),
    ] {
        std::fs::write(&path, &bytes).unwrap();
        let error = load_npy(&path).unwrap_err().to_string();
        assert!(error.contains(word), "{word}: {error}");
    }
    // Every prefix and every single changed byte of the header: an error or a tensor, never a panic.
    for cut in 0..good.len() {
        std::fs::write(&path, &good[..cut]).unwrap();
        assert!(load_npy(&path).is_err());
        let mut changed = good.clone();
        changed[cut] ^= 0x15;
        std::fs::write(&path, &changed).unwrap();
        let _ = load_npy(&path);
        std::fs::write(folder.join("x.safetensors"), &changed).unwrap();
        assert!(load_safetensors(folder.join("x.safetensors")).is_err());
        std::fs::write(folder.join("x.npz"), &changed).unwrap();
        assert!(load_npz(folder.join("x.npz")).is_err());
    }
    let missing = load_npy(folder.join("none.npy")).unwrap_err().to_string();
    assert!(missing.contains("none.npy"), "{missing}");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_failed_write_leaves_nothing_behind() -> Result<()> {
    let folder = folder("failed");
    let target = folder.join("missing").join("x.npy");
    assert!(save_npy(&target, &Tensor::zeros([2], DType::F32)?).is_err());
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
    Ok(())
}

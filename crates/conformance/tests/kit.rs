//! The kit judged: names, coverage, and that it finds errors that are planted.

use std::collections::HashSet;
use std::sync::OnceLock;
use wootz_conformance::{Case, LayoutClass, Leeway, Level, Values, cases, compare_scaled};
use wootz_ir::elementwise::ElementwiseOp;
use wootz_ir::reference::HostTensor;
use wootz_ir::{DType, Family, Number};

/// The planner's families, each of which needs cases at both levels; users' kernels bring their own tests.
fn families() -> impl Iterator<Item = &'static str> {
    Family::ALL.iter().filter(|&&family| family != Family::Custom).map(|family| family.name())
}

/// A case, what the reference makes of it, and the magnitudes of that.
type Evaluated = (Case, HostTensor, Option<Vec<f64>>);

/// The full list, evaluated once for all tests.
fn evaluated() -> &'static [Evaluated] {
    static ALL: OnceLock<Vec<Evaluated>> = OnceLock::new();
    ALL.get_or_init(|| {
        let evaluate = |case: Case| {
            let expected = case.expected().unwrap_or_else(|e| panic!("{}: {e}", case.name));
            let magnitudes = case.magnitudes().unwrap_or_else(|e| panic!("{}: {e}", case.name));
            (case, expected, magnitudes)
        };
        cases(Level::Full).into_iter().map(evaluate).collect()
    })
}

fn passes((case, expected, magnitudes): &Evaluated, got: &HostTensor) -> bool {
    compare_scaled(expected, got, &case.tolerance, magnitudes.as_deref()).is_ok()
}

#[test]
fn names_are_unique_and_families_complete() {
    for level in [Level::Quick, Level::Full] {
        let list = cases(level);
        let mut names = HashSet::new();
        for case in &list {
            assert!(names.insert(&case.name), "{} is there twice", case.name);
            assert!(families().any(|family| family == case.family), "{}: unknown family", case.name);
        }
        for family in families() {
            let n = list.iter().filter(|c| c.family == family).count();
            println!("{level:?} {family}: {n}");
            assert!(n > 0, "{level:?} has no case of {family}");
        }
        println!("{level:?}: {} cases", list.len());
    }
}

#[test]
fn every_op_has_every_dtype_and_layout() {
    let list = cases(Level::Full);
    let seen: HashSet<(&str, DType, LayoutClass)> = list.iter().map(|c| (c.op, c.dtype, c.layout)).collect();
    for op in ElementwiseOp::ALL {
        for dtype in DType::ALL {
            let mut operands = vec![dtype; op.row().arity];
            if *op == ElementwiseOp::Where {
                operands[0] = DType::Bool;
            }
            if op.resolve(&operands).is_ok() {
                for class in LayoutClass::ALL {
                    assert!(seen.contains(&(op.name(), dtype, class)), "{} {dtype} {class}", op.name());
                }
            }
        }
    }
}

#[test]
fn every_case_evaluates_and_agrees_with_itself() {
    for all @ (case, expected, magnitudes) in evaluated() {
        assert!(passes(all, expected), "{}", case.name);
        assert!(
            magnitudes.as_ref().is_none_or(|m| m.len() == expected.data.len()),
            "{}: magnitudes",
            case.name
        );
    }
    for case in cases(Level::Quick) {
        case.check(&case.expected().unwrap()).unwrap_or_else(|e| panic!("{}: {e}", case.name));
    }
}

/// A device proves itself at first use, while its user waits: the quick level stays small. Counted, not timed.
#[test]
fn the_quick_level_is_little_work() {
    let list = cases(Level::Quick);
    let inputs: usize = list.iter().flat_map(|c| &c.leaves).map(|leaf| leaf.tensor.data.len()).sum();
    let outputs: usize = list.iter().map(|c| c.expected().unwrap().data.len()).sum();
    println!("{} quick cases, {inputs} elements in, {outputs} elements out", list.len());
    assert!(list.len() < 1000 && inputs < 150_000 && outputs < 100_000, "{inputs} in, {outputs} out");
}

/// Moves one element by a visible amount.
fn spoil(n: Number) -> Number {
    match n {
        Number::Bool(b) => Number::Bool(!b),
        Number::Int(i) => Number::Int(i ^ 1),
        Number::Uint(u) => Number::Uint(u ^ 1),
        Number::Float(f) if f.is_nan() => Number::Float(1.0),
        Number::Float(f) if f.is_infinite() => Number::Float(-f),
        Number::Float(f) => Number::Float(f * 1.1 + 0.5f64.copysign(f)),
    }
}

#[test]
fn a_planted_error_fails_any_case() {
    for all @ (case, expected, _) in evaluated() {
        for at in [0, expected.data.len() / 2, expected.data.len().saturating_sub(1)] {
            let mut got = expected.clone();
            let Some(value) = got.data.get_mut(at) else { continue };
            *value = spoil(*value).cast(expected.dtype);
            let same = *value == expected.data[at];
            assert!(same || !passes(all, &got), "{}: element {at} may be anything", case.name);
        }
    }
}

#[test]
fn a_neighbouring_element_does_not_pass() {
    let mut caught = 0;
    for all @ (case, expected, _) in evaluated() {
        if case.values != Values::Ordinary || !neighbours_differ(&expected.to_f64()) {
            continue;
        }
        let mut got = expected.clone();
        got.data.rotate_left(1);
        assert!(!passes(all, &got), "{}: shifted by one and passed", case.name);
        caught += 1;
    }
    assert!(caught > 3000, "{caught}");
}

/// Whether two neighbours differ by more than any tolerance could hide.
fn neighbours_differ(values: &[f64]) -> bool {
    values.windows(2).any(|w| (w[0] - w[1]).abs() > 0.5 && w[0].is_finite() && w[1].is_finite())
}

#[test]
fn exact_ops_are_compared_exactly() {
    let exact = ["add", "mul", "div", "sqrt", "concat", "maximum", "sort"];
    for all @ (case, expected, _) in evaluated() {
        if !exact.contains(&case.op) || case.dtype != DType::F32 {
            continue;
        }
        let Some(at) = expected.data.iter().position(|n| n.to_f64().is_normal()) else { continue };
        let mut got = expected.clone();
        got.data[at] = Number::Float(f32::from_bits((got.data[at].to_f64() as f32).to_bits() + 1) as f64);
        assert!(!passes(all, &got), "{}: one unit off and passed", case.name);
    }
}

#[test]
fn only_a_device_that_flushes_may_give_zero_for_a_subnormal_number() {
    let name = "map/mul/f32/contiguous/subnormal";
    let (case, expected, _) = evaluated().iter().find(|(case, ..)| case.name == name).unwrap();
    let mut flushed = expected.clone();
    let smallest = f32::MIN_POSITIVE as f64;
    for value in flushed.data.iter_mut().filter(|v| v.to_f64().abs() < smallest) {
        *value = Number::Float(0.0);
    }
    let leeway = Leeway { flushes_subnormals: true };
    assert!(case.check(&flushed).is_err());
    case.check_with(&flushed, leeway).unwrap();
    let at = flushed.data.iter().position(|v| v.to_f64().abs() >= smallest).unwrap();
    flushed.data[at] = Number::Float(0.0);
    assert!(case.check_with(&flushed, leeway).is_err());
}

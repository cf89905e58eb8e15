//! Tiny graphs: the time is the engine's own.

use super::{Case, Fallible, Ready, Suite, Work, graph, input};
use serde_json::Value;
use wootz::{Device, Result, Tensor};

pub fn cases() -> Vec<Case> {
    let case = |op, name: &str, run: fn(&[Tensor]) -> Result<Tensor>| {
        let inputs = vec![input([16], 1), input([16], 2)];
        graph((Suite::Overhead, "overhead", op), name, Work::default(), inputs, run)
    };
    vec![
        case("ten_ops", "ten ops on 16", ten_ops),
        case("add", "one op on 16", |t| t[0].add(&t[1])),
        case("hundred_ops", "hundred ops on 16", hundred_ops),
        special("ten ops on 16, compiled", compiled),
        special("ten ops on 16, planned anew", planned_anew),
    ]
}

fn special(name: &str, prepare: fn(&Device) -> Fallible<Ready>) -> Case {
    Case {
        suite: Suite::Overhead,
        family: "overhead",
        name: name.into(),
        op: "",
        work: Work::default(),
        neighbours: 0,
        prepare: Box::new(prepare),
    }
}

fn pair(device: &Device) -> Result<Vec<Tensor>> {
    Ok(vec![input([16], 1).tensor(device)?, input([16], 2).tensor(device)?])
}

/// A call of a compiled function: no graph is built, the plan exists.
fn compiled(device: &Device) -> Fallible<Ready> {
    let inputs = pair(device)?;
    let own = inputs.clone();
    let function = wootz::compile(device, |t| Ok(vec![ten_ops(t)?]));
    let run = move || -> Fallible<()> {
        function.call(&[&own[0], &own[1]])?;
        Ok(())
    };
    Ok(Ready { inputs, extra: Value::Null, run: Box::new(run) })
}

/// A graph that is in no cache: the cost of evaluating a graph for the first time.
fn planned_anew(device: &Device) -> Fallible<Ready> {
    let inputs = pair(device)?;
    let (own, device) = (inputs.clone(), device.clone());
    let run = move || -> Fallible<()> {
        device.trim();
        ten_ops(&own)?.eval()?;
        Ok(())
    };
    Ok(Ready { inputs, extra: Value::Null, run: Box::new(run) })
}

fn ten_ops(t: &[Tensor]) -> Result<Tensor> {
    let (x, y) = (&t[0], &t[1]);
    let a = x.add(y)?.mul(x)?.sub(y)?.div(2.0)?.maximum(x)?;
    a.add(1.0)?.mul(y)?.sub(x)?.abs()?.add(y)
}

fn hundred_ops(t: &[Tensor]) -> Result<Tensor> {
    let mut x = t[0].clone();
    for _ in 0..50 {
        x = x.mul(0.5)?.add(&t[1])?;
    }
    Ok(x)
}

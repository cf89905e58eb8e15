//! The protocol of peers: one command per line of JSON, one answer per line. `README.md` beside describes it.

use serde_json::{Value, json};
use std::io::{BufRead, Write};
use std::time::{Duration, Instant};

/// What a peer is asked to run.
pub struct Request {
    /// The name of the operation.
    pub op: String,
    /// Paths of .npy files.
    pub inputs: Vec<String>,
    /// What else belongs to the operation.
    pub extra: Value,
}

/// What is timed: one execution of the operation.
pub type Function = Box<dyn Fn() -> Result<(), String>>;

/// A library's answer to a request: a function to time, or nothing when it does not have the operation.
pub type Prepared = Result<Option<Function>, String>;

/// How long the function runs before it is timed.
const WARM: Duration = Duration::from_millis(10);

/// Serves until the input ends.
pub fn serve(version: &str, prepare: impl Fn(&Request) -> Prepared) {
    let mut ready = None;
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        let answer = match serde_json::from_str::<Value>(&line) {
            Err(e) => json!({ "error": e.to_string() }),
            Ok(command) if command.get("hello").is_some() => {
                json!({ "version": version })
            }
            Ok(command) => match command.get("prepare") {
                Some(request) => match prepare(&parse(request)) {
                    Ok(function) => {
                        ready = function;
                        json!({ "ready": ready.is_some() })
                    }
                    Err(error) => json!({ "error": error }),
                },
                None => turn(&ready, command["turn"].as_u64().unwrap_or(1)),
            },
        };
        println!("{answer}");
        let _ = std::io::stdout().flush();
    }
}

fn parse(request: &Value) -> Request {
    let inputs = request["inputs"].as_array().cloned().unwrap_or_default();
    Request {
        op: request["op"].as_str().unwrap_or_default().into(),
        inputs: inputs.iter().filter_map(|v| v.as_str().map(String::from)).collect(),
        extra: request["extra"].clone(),
    }
}

fn turn(ready: &Option<Function>, repeats: u64) -> Value {
    let Some(function) = ready else { return json!({ "error": "a turn before a case" }) };
    match timed(function, repeats) {
        Ok(seconds) => json!({ "seconds": seconds }),
        Err(error) => json!({ "error": error }),
    }
}

/// Seconds per execution, after untimed ones: threads wake up and spread over the cores, caches fill.
fn timed(function: &Function, repeats: u64) -> Result<f64, String> {
    let begin = Instant::now();
    function()?;
    while begin.elapsed() < WARM {
        function()?;
    }
    let begin = Instant::now();
    for _ in 0..repeats {
        function()?;
    }
    Ok(begin.elapsed().as_secs_f64() / repeats as f64)
}

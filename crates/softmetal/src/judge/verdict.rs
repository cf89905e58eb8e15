//! Which of clang's errors correspond to a rule of Metal, and how they are presented to the user.

use super::kernels::OURS;
use crate::error::Diagnostic;
use crate::source::position::{Message, Parsed, column_in_source, messages};
use std::path::Path;

/// A message of clang, by words that it or its notes contain, and the rule that it breaks.
struct Rule {
    words: &'static [&'static str],
    text: &'static str,
}

/// The first row whose words are all in the message counts.
const RULES: &[Rule] = &[
    Rule {
        words: &["address of vector element requested"],
        text: "a component of a vector has no address; copy it to a variable",
    },
    Rule {
        words: &["reference cannot bind to vector element"],
        text: "a reference cannot bind to a component of a vector; use a variable and assign it back",
    },
    Rule {
        words: &["cannot be declared in", "address space"],
        text: "a local variable lies in thread memory and takes no address space",
    },
    Rule {
        words: &["parameter may not be qualified with an address space"],
        text: "a parameter takes no address space; what it points to does",
    },
    Rule {
        words: &["field may not be qualified with an address space"],
        text: "a member takes no address space; what it points to does",
    },
    Rule {
        words: &["return type may not be qualified with an address space"],
        text: "a result takes no address space; what it points to does",
    },
    Rule {
        words: &["converts between mismatching address spaces"],
        text: "no cast changes an address space",
    },
    Rule { words: &["changes address space"], text: "an address space cannot change" },
    Rule { words: &["mismatching address spaces"], text: "address spaces do not match" },
    Rule { words: &["address space"], text: "address spaces do not match" },
    Rule { words: &["reinterpret_cast from"], text: "no cast changes an address space" },
    Rule { words: &["const_cast from"], text: "no cast changes an address space" },
    Rule { words: &["static_cast from"], text: "no cast changes an address space" },
    Rule { words: &["cannot initialize a", "of type"], text: "address spaces do not match" },
    Rule { words: &["cannot initialize return object of type"], text: "address spaces do not match" },
    Rule { words: &["comparison of distinct pointer types"], text: "address spaces do not match" },
    Rule { words: &["assigning"], text: "address spaces do not match" },
    Rule {
        words: &["cannot initialize object parameter"],
        text: "the method is not qualified with the object's address space",
    },
    Rule {
        words: &["explicit instantiation of", "does not refer to"],
        text: "the parameters of an instantiation must be those of its template",
    },
    Rule {
        words: &["initializer of '", "is unknown"],
        text: "the value of a function constant is not known to the compiler; it is no constant expression",
    },
];

/// Types that are not made of objects without a method.
const SCALARS: [&str; 11] =
    ["bool", "char", "uchar", "short", "ushort", "int", "uint", "long", "ulong", "half", "float"];

/// The messages that break a rule, at the user's place.
pub fn findings(stderr: &str, text: &str, shim: &Path, version: u32, main: (&str, &str)) -> Vec<Diagnostic> {
    let mut out: Vec<Diagnostic> = Vec::new();
    for message in messages(stderr) {
        let Some(rule) = broken(&message, version) else { continue };
        let in_shim = |file: &str| Path::new(file).starts_with(shim);
        let place = std::iter::once(&message.head).chain(&message.notes).find(|p| !in_shim(p.file));
        let Some(place) = place else { continue };
        let column = if rule.is_empty() {
            0
        } else {
            column_in_source(text, place.file, place.line, place.column, main)
        };
        let words = plain_words(message.head.message);
        let words = match rule {
            "" => words.split(OURS).nth(1).unwrap_or(&words).to_string(),
            rule => format!("{words} ({rule})"),
        };
        let d = Diagnostic { file: place.file.to_string(), line: place.line, column, message: words };
        if !out.contains(&d) {
            out.push(d);
        }
    }
    out.sort_by(|a, b| (&a.file, a.line, a.column).cmp(&(&b.file, b.line, b.column)));
    out
}

/// The rule that a message breaks; an empty text where the message itself says it.
fn broken(m: &Message<'_>, version: u32) -> Option<&'static str> {
    let head = m.head.message;
    if head.contains(OURS) {
        return Some("");
    }
    if head.contains("deleted function") || head.contains("selected deleted") {
        return Some("Metal has no such function");
    }
    if head.strip_prefix("use of undeclared identifier ").is_some_and(lacks_its_namespace) {
        return Some("names of the library need `metal::` or `using namespace metal`");
    }
    if head.starts_with("implicit conversion") {
        let (from, to) = head.rsplit_once(" to '").unwrap_or((head, ""));
        return if to.contains("__bf16") && head.contains("loses") {
            Some("a float or a half does not convert to bfloat implicitly; write bfloat(…)")
        } else if from.contains("__bf16") && to.contains("half") {
            Some("a bfloat does not convert to half; there is no arithmetic of both: convert one of them")
        } else {
            None
        };
    }
    if head.starts_with("assigning to 'bfloat'") && head.contains("'half'") {
        return Some("there is no arithmetic of bfloat and half; convert one of them");
    }
    if head.contains("greater rank than the type of the vector element") && head.contains("bfloat") {
        return Some("a float does not convert to bfloat implicitly; write bfloat(…)");
    }
    if head.starts_with("'this' argument to member function") && !spaces(head).is_empty() {
        return Some("the method is not qualified with the object's address space");
    }
    const OPERATORS: [&str; 4] = [
        "cannot increment value of type '__",
        "cannot decrement value of type '__",
        "invalid argument type '__",
        "indirection requires pointer operand ('__",
    ];
    if OPERATORS.iter().any(|words| head.starts_with(words)) && of_an_object(head) {
        return Some("the operator is not qualified with the object's address space");
    }
    // A scalar is made of an object only by one of its methods.
    let scalar = |to: &str| SCALARS.contains(&to);
    let object =
        head.strip_prefix("assigning to '").and_then(|rest| rest.split_once("' from incompatible type '"));
    if object.is_some_and(|(to, from)| scalar(to) && from.starts_with("__") && !from.starts_with("__private"))
    {
        return Some("the method is not qualified with the object's address space");
    }
    if head.contains("incompatible with C++ standards before") {
        let newer = ["class template argument deduction", "deduction guides", "declared with 'auto'"];
        return (version < 400 && newer.iter().any(|n| head.contains(n)))
            .then_some("Metal before 4.0 is C++14: name the type");
    }
    let unknown =
        |n: &Parsed<'_>| n.message.starts_with("initializer of '") && n.message.ends_with("is unknown");
    if head.contains("must be initialized by a constant expression") && m.notes.iter().any(unknown) {
        return Some(
            "the value of a function constant is not known to the compiler; it is no constant expression",
        );
    }
    let all = || std::iter::once(&m.head).chain(&m.notes).map(|p| p.message);
    let alone = ["no matching constructor", "no matching conversion", "no viable overloaded"];
    if alone.iter().any(|words| head.starts_with(words)) && every_candidate_differs(m) {
        return Some("address spaces do not match");
    }
    // Constructors and implicit copies take any address space in Metal, and the generic one here, which lacks constant memory;
    // temporaries and functions lie in no address space there.
    const OURS_ALONE: [&str; 5] = [
        "cannot be used to construct",
        "must be initialized",
        "__generic",
        "the implicit copy",
        "temporary object",
    ];
    // A temporary binds to no reference to memory of a buffer or of a threadgroup.
    let to_temporary = |text: &str| {
        text.contains("reference in default address space")
            && !["'__constant'", "'__global'", "'__local'"].iter().any(|space| text.contains(space))
    };
    if all().any(|text| OURS_ALONE.iter().any(|w| text.contains(w)) || to_temporary(text)) {
        return None;
    }
    if head.starts_with("explicit instantiation")
        && all().any(|t| t.contains("invalid explicitly-specified argument"))
    {
        return None;
    }
    if head.starts_with("no matching") && every_candidate_differs(m) {
        return Some("address spaces do not match");
    }
    let says = |word: &str| all().any(|text| text.contains(word));
    let differs = spaces(head).windows(2).any(|pair| pair[0] != pair[1]);
    let rule = RULES.iter().find(|r| r.words.iter().all(|w| says(w)));
    let spaced = ["address space", "vector element", "explicit instantiation", "is unknown"];
    match rule {
        Some(rule) if differs || spaced.iter().any(|w| says(w)) => Some(rule.text),
        // Whatever clang says of two pointers whose address spaces differ.
        _ => (differs && pointers(head)).then_some("address spaces do not match"),
    }
}

/// Whether the first type that a message names is one of an object outside of thread memory.
fn of_an_object(text: &str) -> bool {
    let name = text.split('\'').nth(1).unwrap_or_default().trim_start_matches("const ");
    let elsewhere =
        ["__global ", "__constant ", "__local "].iter().find_map(|space| name.strip_prefix(space));
    elsewhere
        .is_some_and(|rest| !SCALARS.contains(&rest.trim_start_matches("const ")) && !rest.ends_with('*'))
}

/// `'max'; did you mean 'metal::max'?`: vectors are no classes, so a call on them finds nothing by its arguments.
fn lacks_its_namespace(text: &str) -> bool {
    let mut names = text.split('\'').skip(1).step_by(2);
    let (name, meant) = (names.next(), names.next());
    name.zip(meant).is_some_and(|(name, meant)| meant.strip_prefix("metal::") == Some(name))
}

/// Whether each candidate of a call that could be meant fails by an address space.
fn every_candidate_differs(m: &Message<'_>) -> bool {
    let mut candidates = m
        .notes
        .iter()
        .map(|n| n.message)
        .filter(|t| t.starts_with("candidate") && !t.contains("requires ") && !t.contains("(the implicit"))
        .peekable();
    let differs = |text: &str| {
        const COMPARED: [&str; 6] = [
            "no known conversion",
            "could not match",
            "does not match adjusted type",
            "deduced conflicting types",
            "cannot deduce a type",
            "but method expects object",
        ];
        let compared = COMPARED.iter().any(|words| text.contains(words));
        text.contains("cannot pass pointer to address space")
            || text.contains("cannot bind reference in address space")
            || compared && spaces(text).windows(2).any(|pair| pair[0] != pair[1])
    };
    candidates.peek().is_some() && candidates.all(differs)
}

/// The address spaces of pointees that a message names, in order.
fn spaces(text: &str) -> Vec<&str> {
    const NAMES: [&str; 4] = ["__global", "__constant", "__local", "__private"];
    text.split('\'')
        .skip(1)
        .step_by(2)
        .filter_map(|quoted| {
            NAMES.into_iter().filter_map(|n| Some((quoted.find(n)?, n))).min().map(|(_, n)| n)
        })
        .collect()
}

/// Whether all types with an address space that a message names are pointers, references or arrays: objects convert to each other.
fn pointers(text: &str) -> bool {
    let mut types =
        text.split('\'').skip(1).step_by(2).filter(|quoted| !spaces(&format!("'{quoted}'")).is_empty());
    types.all(|quoted| quoted.contains(['*', '&', '[']))
}

/// The message with Metal's words for clang's.
fn plain_words(text: &str) -> String {
    text.replace("static assertion failed due to requirement ", "")
        .replace("static assertion failed: ", "")
        .replace("*__private", "*")
        .replace("__global", "device")
        .replace("__constant", "constant")
        .replace("__local", "threadgroup")
        .replace("__private", "thread")
        .replace("__bf16", "bfloat")
        .replace("sm_", "")
}

//! `NSError`.

use super::{NSERROR, dictionary, string};
use crate::abi::{Id, Out, methods};
use crate::objc::object::Strong;

/// What an error holds.
#[derive(Debug)]
pub struct NsError {
    domain: String,
    code: isize,
    description: String,
}

/// A new error.
pub fn make(domain: &str, code: isize, description: impl Into<String>) -> Strong {
    Strong::new(&NSERROR, NsError { domain: domain.into(), code, description: description.into() })
}

/// Hands an error out and gives nil, as failing methods do.
pub fn fail(out: Out, domain: &str, code: isize, description: impl Into<String>) -> Id {
    if !out.0.is_null() {
        out.set(make(domain, code, description).autoreleased());
    }
    Id::NIL
}

fn own(this: Id) -> &'static NsError {
    this.expect::<NsError>("the error")
}

methods! { pub ERROR;
    "domain" (this) -> Id { string::make(&*own(this).domain).autoreleased() }
    "code" (this) -> isize { own(this).code }
    "localizedDescription" (this) -> Id { string::make(&*own(this).description).autoreleased() }
    "localizedFailureReason" (this) -> Id { Id::NIL }
    "localizedRecoverySuggestion" (this) -> Id { Id::NIL }
    "userInfo" (this) -> Id {
        let pair = (string::make("NSLocalizedDescription"), string::make(&*own(this).description));
        dictionary::make(vec![pair]).autoreleased()
    }
    "description" (this) -> Id {
        let error = own(this);
        let text = format!("Error Domain={} Code={} \"{}\"", error.domain, error.code, error.description);
        string::make(text).autoreleased()
    }
}

methods! { pub ERROR_CLASS;
    "errorWithDomain:code:userInfo:" (this, domain: Id, code: isize, info: Id) -> Id {
        let description = dictionary::pairs(info)
            .into_iter()
            .find(|(k, _)| string::text(k.id()).as_deref() == Some("NSLocalizedDescription"))
            .and_then(|(_, v)| string::text(v.id()))
            .unwrap_or_else(|| "The operation couldn’t be completed.".into());
        make(&string::expect(domain, "the domain"), code, description).autoreleased()
    }
}

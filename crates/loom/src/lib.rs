//! `loom` models of concurrent code: the sources of the thread pool (`crates/cpu/src/team`) and of the buffer pool
//! (`crates/backend/src/pool.rs`), compiled against [`sync`] instead of the standard library. The tests run small
//! programs over them in every order, up to a bound on preemptions. This finds lost wake-ups and logical races, but
//! of weak memory effects only those that sequentially consistent accesses do not already exclude, because every
//! access is between fences here.

#[cfg(not(feature = "threads"))]
pub mod sync;
#[cfg(feature = "threads")]
#[path = "threads.rs"]
pub mod sync;

/// The thread team.
#[allow(missing_docs, dead_code, reason = "documented and used in wootz-cpu")]
#[path = "../../cpu/src/team/mod.rs"]
pub mod team;

/// The pool.
#[allow(missing_docs, dead_code, reason = "documented and used in wootz-backend")]
#[path = "../../backend/src/pool.rs"]
pub mod pool;

/// The cache of pipelines, on real threads only: loom has no `OnceLock`.
#[cfg(feature = "threads")]
#[path = "../../gpu/src/cache.rs"]
pub mod cache;

use wootz_backend::inject;

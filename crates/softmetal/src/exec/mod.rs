//! Runs dispatches: stacks and context switches, the threads of a group, the workers, faults and time limits.

pub mod abi;
pub mod collective;
pub mod denormals;
pub mod fault;
pub mod fiber;
pub mod group;
pub mod job;
pub mod log;
pub mod pool;
pub mod worker;

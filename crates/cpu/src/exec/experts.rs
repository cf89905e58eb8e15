//! The matrices of a stack that a step's rows have chosen, sorted so that each matrix is read once for all its rows.

use super::Task;
use super::gather::resolve;
use super::workspace::Workspace;

/// The choices of all rows, sorted by matrix.
pub struct Choices<'a> {
    /// The first choice of each matrix among the sorted ones, and the end.
    starts: &'a [u32],
    /// Where the result of a choice goes: row times slots plus slot.
    pairs: &'a [u32],
    /// The row that chose.
    rows: &'a [u32],
}

/// A matrix, and who chose it.
pub struct Group<'a> {
    pub expert: usize,
    pub pairs: &'a [u32],
    pub rows: &'a [u32],
}

impl<'a> Choices<'a> {
    /// Reads and sorts input 2. Every worker does so for itself: it takes less than waiting for one of them.
    pub fn new(task: &Task<'_>, workspace: &'a Workspace, experts: usize, slots: usize) -> Choices<'a> {
        let tape = &task.inputs[2];
        let chosen = workspace.slice::<i64>(tape.len);
        // SAFETY: the input has `len` points, and the buffer room for them.
        unsafe {
            let mut frame = tape.begin(task.run, workspace, tape.len);
            tape.load(task.run, &mut frame, 0..tape.len, chosen.as_mut_ptr().cast());
        }
        let starts = workspace.slice::<u32>(experts + 1);
        starts.fill(0);
        for choice in chosen.iter_mut() {
            let expert = resolve(*choice, experts);
            *choice = expert as i64;
            starts[expert] += 1;
        }
        // Ends first; placing choices from the last one on then turns them into starts, and keeps rows in order.
        let mut sum = 0;
        for count in starts.iter_mut() {
            sum += *count;
            *count = sum;
        }
        let (pairs, rows) = (workspace.slice::<u32>(tape.len), workspace.slice::<u32>(tape.len));
        for (pair, &expert) in chosen.iter().enumerate().rev() {
            let at = &mut starts[expert as usize];
            *at -= 1;
            pairs[*at as usize] = pair as u32;
            rows[*at as usize] = (pair / slots) as u32;
        }
        Choices { starts, pairs, rows }
    }

    /// Each matrix that was chosen.
    pub fn groups(&self) -> impl Iterator<Item = Group<'a>> + use<'a> {
        let (pairs, rows) = (self.pairs, self.rows);
        let bounds = self.starts.windows(2).map(|w| w[0] as usize..w[1] as usize).enumerate();
        bounds.filter(|(_, own)| !own.is_empty()).map(move |(expert, own)| Group {
            expert,
            pairs: &pairs[own.clone()],
            rows: &rows[own],
        })
    }
}

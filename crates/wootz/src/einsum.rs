//! Einstein summation: any number of operands, contracted from left to right as matrix products.

use crate::tensor::Tensor;
use wootz_ir::{Error, Result, Shape};

/// A tensor with a letter for each of its axes.
struct Term {
    letters: Vec<char>,
    tensor: Tensor,
}

fn bad(spec: &str, detail: impl std::fmt::Display) -> Error {
    Error::argument("einsum", format!("{spec:?}: {detail}"))
}

impl Tensor {
    /// Einstein summation, such as `"bij,bjk->bik"`. Repeated letters in an operand take the diagonal; letters absent
    /// from the output are summed. Without `->` the output has the letters that occur once, in alphabetical order.
    /// `...` denotes axes without letters, which broadcast; so do axes of extent 1.
    pub fn einsum(spec: &str, operands: &[&Tensor]) -> Result<Tensor> {
        let compact: String = spec.chars().filter(|c| !c.is_whitespace()).collect();
        let (inputs, output) = match compact.split_once("->") {
            Some((inputs, output)) => (inputs.to_string(), Some(output.to_string())),
            None => (compact.clone(), None),
        };
        let parts: Vec<&str> = inputs.split(',').collect();
        if parts.len() != operands.len() {
            return Err(bad(spec, format!("got {} operands", operands.len())));
        }
        let mut lists = Vec::new();
        let mut unnamed = 0;
        for (part, tensor) in parts.iter().zip(operands) {
            let rest = tensor.rank().saturating_sub(part.replace("...", "").len());
            unnamed = unnamed.max(if part.contains("...") { rest } else { 0 });
            lists.push(letters_of(spec, part, rest)?);
        }
        let output: Vec<char> = match output {
            Some(output) => letters_of(spec, &output, unnamed)?,
            None => implicit_output(&lists),
        };
        check_output(spec, &lists, &output)?;
        let mut terms = Vec::new();
        for (letters, tensor) in lists.into_iter().zip(operands) {
            if letters.len() != tensor.rank() {
                let detail = format!("got {} letters for shape {}", letters.len(), tensor.shape());
                return Err(bad(spec, detail));
            }
            terms.push(Term { letters, tensor: (*tensor).clone() }.without_repeats(spec)?);
        }
        broadcast(spec, &mut terms)?;
        contract(terms, &output)
    }
}

/// Denotes an axis covered by an ellipsis, by its position from the end. Distinct from all letters.
fn unnamed(from_end: usize) -> char {
    char::from_u32(0xE000 + from_end as u32).unwrap_or('\u{E000}')
}

fn is_unnamed(letter: char) -> bool {
    letter >= '\u{E000}'
}

/// The letters of an operand or the output, with an ellipsis covering `rest` axes.
fn letters_of(spec: &str, part: &str, rest: usize) -> Result<Vec<char>> {
    let (front, back) = match part.split_once("...") {
        Some((front, back)) => (front, Some(back)),
        None => (part, None),
    };
    let named = front.chars().chain(back.unwrap_or("").chars());
    if let Some(c) = named.clone().find(|c| !c.is_ascii_alphabetic()) {
        return Err(bad(spec, format!("{c:?} is not a letter")));
    }
    let covered = (0..if back.is_some() { rest } else { 0 }).rev().map(unnamed);
    Ok(front.chars().chain(covered).chain(back.unwrap_or("").chars()).collect())
}

fn implicit_output(lists: &[Vec<char>]) -> Vec<char> {
    let mut letters: Vec<char> = lists.iter().flatten().copied().collect();
    letters.sort_unstable();
    let mut covered: Vec<char> = letters.iter().copied().filter(|&c| is_unnamed(c)).collect();
    covered.dedup();
    let once = |c: &char| !is_unnamed(*c) && letters.iter().filter(|d| *d == c).count() == 1;
    covered.into_iter().rev().chain(letters.iter().copied().filter(once)).collect()
}

fn check_output(spec: &str, lists: &[Vec<char>], output: &[char]) -> Result<()> {
    for (i, c) in output.iter().enumerate() {
        if output[..i].contains(c) {
            return Err(bad(spec, format!("{c:?} occurs twice in the output")));
        }
        if !lists.iter().any(|list| list.contains(c)) {
            return Err(bad(spec, format!("{c:?} of the output occurs in no operand")));
        }
    }
    Ok(())
}

/// Assigns each letter one extent: axes of extent 1 broadcast.
fn broadcast(spec: &str, terms: &mut [Term]) -> Result<()> {
    let mut known: Vec<(char, usize)> = Vec::new();
    for term in terms.iter() {
        for (&letter, &extent) in term.letters.iter().zip(term.tensor.shape().iter()) {
            match known.iter_mut().find(|(l, _)| *l == letter) {
                Some((_, other)) if *other == 1 => *other = extent,
                Some((_, other)) if extent != 1 && *other != extent => {
                    let name = if is_unnamed(letter) {
                        "an axis of the ellipsis".into()
                    } else {
                        format!("{letter:?}")
                    };
                    return Err(bad(spec, format!("{name} has extents {other} and {extent}")));
                }
                Some(_) => {}
                None => known.push((letter, extent)),
            }
        }
    }
    for term in terms {
        let extent = |letter: &char| known.iter().find(|(l, _)| l == letter).map_or(1, |(_, extent)| *extent);
        let shape: Shape = term.letters.iter().map(extent).collect();
        if shape != *term.tensor.shape() {
            term.tensor = term.tensor.broadcast_to(shape)?;
        }
    }
    Ok(())
}

/// Sums over indices that no other term needs, and multiplies pairs, until one term is left.
fn contract(mut terms: Vec<Term>, output: &[char]) -> Result<Tensor> {
    let mut current = terms.remove(0);
    while !terms.is_empty() {
        let needed = |letter: char, rest: &[Term]| {
            output.contains(&letter) || rest.iter().any(|t| t.letters.contains(&letter))
        };
        let next = terms.remove(0);
        let current_letters = current.letters.clone();
        current = current.sum_where(|c| !needed(c, &terms) && !next.letters.contains(&c))?;
        let next = next.sum_where(|c| !needed(c, &terms) && !current_letters.contains(&c))?;
        current = multiply(&current, &next, |c| needed(c, &terms))?;
    }
    let result = current.sum_where(|c| !output.contains(&c))?;
    let order: Vec<isize> =
        output.iter().map(|c| result.letters.iter().position(|l| l == c).map_or(0, |i| i as isize)).collect();
    result.tensor.permute(order)
}

/// A product as a batched matmul: shared letters of the output are the batch, other shared letters are summed.
fn multiply(a: &Term, b: &Term, needed: impl Fn(char) -> bool) -> Result<Term> {
    let shared = |c: &char| b.letters.contains(c);
    let batch: Vec<char> = a.letters.iter().copied().filter(|c| shared(c) && needed(*c)).collect();
    let inner: Vec<char> = a.letters.iter().copied().filter(|c| shared(c) && !needed(*c)).collect();
    let rows: Vec<char> = a.letters.iter().copied().filter(|c| !shared(c)).collect();
    let columns: Vec<char> = b.letters.iter().copied().filter(|c| !a.letters.contains(c)).collect();
    let left = a.grouped(&[&batch, &rows, &inner])?;
    let right = b.grouped(&[&batch, &inner, &columns])?;
    let product = left.matmul(&right)?;
    let letters: Vec<char> = batch.iter().chain(&rows).chain(&columns).copied().collect();
    let extent = |c: &char| a.extent(*c).or_else(|| b.extent(*c)).unwrap_or(1);
    let shape: Shape = letters.iter().map(extent).collect();
    Ok(Term { letters, tensor: product.reshape(shape)? })
}

impl Term {
    fn extent(&self, letter: char) -> Option<usize> {
        self.letters.iter().position(|l| *l == letter).map(|axis| self.tensor.shape()[axis])
    }

    /// The tensor with its axes combined into three: one per group of letters.
    fn grouped(&self, groups: &[&[char]; 3]) -> Result<Tensor> {
        let order = groups.iter().flat_map(|g| g.iter());
        let axes: Vec<isize> =
            order.map(|c| self.letters.iter().position(|l| l == c).map_or(0, |i| i as isize)).collect();
        let shape: Shape =
            groups.iter().map(|g| g.iter().map(|c| self.extent(*c).unwrap_or(1)).product()).collect();
        self.tensor.permute(axes)?.reshape(shape)
    }

    fn sum_where(self, drop: impl Fn(char) -> bool) -> Result<Term> {
        let axes: Vec<isize> =
            (0..self.letters.len()).filter(|&i| drop(self.letters[i])).map(|i| i as isize).collect();
        if axes.is_empty() {
            return Ok(self);
        }
        let letters = self.letters.iter().copied().filter(|c| !drop(*c)).collect();
        let dtype = self.tensor.dtype();
        Ok(Term { letters, tensor: self.tensor.sum_axes(axes, false)?.cast(dtype)? })
    }

    /// Merges axes with the same letter into one: their diagonal.
    fn without_repeats(mut self, spec: &str) -> Result<Term> {
        while let Some(i) = (0..self.letters.len()).find(|&i| self.letters[..i].contains(&self.letters[i])) {
            let first = self.letters.iter().position(|l| *l == self.letters[i]).unwrap_or(0);
            if self.tensor.shape()[first] != self.tensor.shape()[i] {
                let detail = format!("{:?} denotes two extents in {}", self.letters[i], self.tensor.shape());
                return Err(bad(spec, detail));
            }
            let letter = self.letters[i];
            let last = self.tensor.rank() as isize - 1;
            // The two axes go to the end, where the diagonal is taken.
            let moved = self.tensor.move_axis(i as isize, last)?.move_axis(first as isize, last)?;
            self.tensor = moved.diagonal(0)?;
            self.letters.remove(i);
            self.letters.remove(first);
            self.letters.push(letter);
        }
        Ok(self)
    }
}

//! A bounds-checked reader over bytes.

use crate::error::{Error, Result};

/// Position in a byte slice; every read checks the end and errors name what was being read.
pub(crate) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Cursor { bytes, at: 0 }
    }

    pub fn position(&self) -> usize {
        self.at
    }

    pub fn remaining(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// The bytes read since `start`, an earlier position.
    pub fn since(&self, start: usize) -> &'a [u8] {
        &self.bytes[start..self.at]
    }

    pub fn take(&mut self, len: u64, what: &dyn Fn() -> String) -> Result<&'a [u8]> {
        if len > self.remaining() as u64 {
            let (at, len_all) = (self.at as u64, self.bytes.len() as u64);
            return Err(Error::Truncated { what: what(), at, needed: len, len: len_all });
        }
        let slice = &self.bytes[self.at..][..len as usize];
        self.at += len as usize;
        Ok(slice)
    }

    fn array<const N: usize>(&mut self, what: &dyn Fn() -> String) -> Result<[u8; N]> {
        let mut bytes = [0; N];
        bytes.copy_from_slice(self.take(N as u64, what)?);
        Ok(bytes)
    }

    pub fn u32(&mut self, what: &dyn Fn() -> String) -> Result<u32> {
        Ok(u32::from_le_bytes(self.array(what)?))
    }

    pub fn u64(&mut self, what: &dyn Fn() -> String) -> Result<u64> {
        Ok(u64::from_le_bytes(self.array(what)?))
    }

    /// A length-prefixed byte string.
    pub fn string(&mut self, what: &dyn Fn() -> String) -> Result<&'a [u8]> {
        let len = self.u64(what)?;
        self.take(len, what)
    }

    /// A length-prefixed string that must be UTF-8.
    pub fn utf8(&mut self, what: &dyn Fn() -> String) -> Result<&'a str> {
        let at = self.at as u64;
        std::str::from_utf8(self.string(what)?).map_err(|e| Error::Invalid {
            what: what(),
            at,
            problem: format!("not UTF-8: {e}"),
        })
    }

    /// A count of items that take at least `least` bytes each, so that it cannot exceed what the file holds.
    pub fn count(&mut self, least: u64, what: &dyn Fn() -> String) -> Result<usize> {
        let at = self.at as u64;
        let count = self.u64(what)?;
        let room = self.remaining() as u64 / least;
        if count > room {
            let problem = format!("{count} entries do not fit in the remaining {} bytes", self.remaining());
            return Err(Error::Invalid { what: what(), at, problem });
        }
        Ok(count as usize)
    }
}

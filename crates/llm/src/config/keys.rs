//! Metadata keys of one architecture.

use crate::error::{Error, Result};
use wootz_gguf::{Metadata, Value};

/// Larger extents are rejected: no model has them, and their products stay far from overflow.
pub(crate) const MAX_EXTENT: usize = 1 << 24;

/// Keys of one architecture.
pub struct Keys<'a> {
    pub meta: Metadata<'a>,
    pub prefix: &'static str,
}

impl<'a> Keys<'a> {
    pub fn key(&self, name: &str) -> String {
        format!("{}.{name}", self.prefix)
    }

    /// An extent: at least 1, and at most `MAX_EXTENT`.
    pub fn extent(&self, name: &str) -> Result<usize> {
        self.extent_or(name, None)
    }

    pub fn extent_or(&self, name: &str, default: Option<usize>) -> Result<usize> {
        let key = self.key(name);
        // Per-layer lists occur; layers that differ are refused, equal ones are one number.
        let read = |v: &Value<'a>| match v.as_array() {
            None => v.as_u64(),
            Some(list) => {
                let mut values = list.iter().map(|v| v.as_u64());
                let first = values.next().flatten()?;
                values.all(|v| v == Some(first)).then_some(first)
            }
        };
        let found = self.meta.optional(&key, "a positive integer, the same for all layers", read)?;
        let value = match (found, default) {
            (Some(value), _) => usize::try_from(value).unwrap_or(usize::MAX),
            (None, Some(default)) => default,
            (None, None) => return Err(wootz_gguf::Error::MissingKey(key).into()),
        };
        if value == 0 || value > MAX_EXTENT {
            return Err(Error::Model(format!("{key} is {value}; must be from 1 to {MAX_EXTENT}")));
        }
        Ok(value)
    }

    pub fn number_or(&self, name: &str, default: f32) -> Result<f32> {
        let key = self.key(name);
        let value = self.meta.optional(&key, "a number", |v| v.as_f64())?.map_or(default, |v| v as f32);
        if !value.is_finite() || value < 0.0 {
            return Err(Error::Model(format!("{key} is {value}")));
        }
        Ok(value)
    }
}

impl Keys<'_> {
    /// Whether the key exists.
    pub fn has(&self, name: &str) -> bool {
        self.meta.get(&self.key(name)).is_some()
    }

    /// A boolean.
    pub fn flag_or(&self, name: &str, default: bool) -> Result<bool> {
        Ok(self.meta.optional(&self.key(name), "true or false", |v| v.as_bool())?.unwrap_or(default))
    }

    /// A number per layer, or one for all of them (a list of one); 0 is allowed.
    pub fn list(&self, name: &str) -> Result<Vec<usize>> {
        let key = self.key(name);
        let read = |v: &Value<'_>| match v.as_array() {
            None => Some(vec![v.as_u64()?]),
            Some(list) => list.iter().map(|v| v.as_u64().or(v.as_bool().map(u64::from))).collect(),
        };
        let list = self.meta.optional(&key, "an integer, or one per layer", read)?;
        let list = list.ok_or_else(|| wootz_gguf::Error::MissingKey(key.clone()))?;
        match list.iter().find(|&&value| value > MAX_EXTENT as u64) {
            Some(value) => Err(Error::Model(format!("{key} has {value}, which exceeds {MAX_EXTENT}"))),
            None => Ok(list.into_iter().map(|value| value as usize).collect()),
        }
    }

    /// The same for an exact number of layers.
    pub fn list_of(&self, name: &str, layers: usize) -> Result<Vec<usize>> {
        let list = self.list(name)?;
        match list[..] {
            [one] => Ok(vec![one; layers]),
            // Layers after the network's own are not run.
            _ if list.len() >= layers => Ok(list[..layers].to_vec()),
            _ => {
                let (key, found) = (self.key(name), list.len());
                Err(Error::Model(format!("{key} has {found} values for {layers} layers")))
            }
        }
    }

    /// An optional factor; 0 means none.
    pub fn factor(&self, name: &str) -> Result<Option<f32>> {
        Ok(Some(self.number_or(name, 0.0)?).filter(|&v| v != 0.0))
    }
}

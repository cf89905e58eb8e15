//! The writer.

use std::io::{self, Write};

use wootz_blocks::BlockFormat;

use crate::error::{Error, Result};
use crate::tensor::size;
use crate::value::{Value, ValueType};
use crate::{DEFAULT_ALIGNMENT, MAGIC, MAX_DIMS};

/// A metadata value to write.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs, reason = "each variant is the value type of the same name")]
pub enum MetaValue {
    U8(u8),
    I8(i8),
    U16(u16),
    I16(i16),
    U32(u32),
    I32(i32),
    F32(f32),
    Bool(bool),
    String(Vec<u8>),
    U64(u64),
    I64(i64),
    F64(f64),
    /// Elements must have the given type.
    Array(ValueType, Vec<MetaValue>),
}

impl From<&str> for MetaValue {
    fn from(s: &str) -> Self {
        MetaValue::String(s.as_bytes().to_vec())
    }
}

impl From<Value<'_>> for MetaValue {
    /// Converts a value that was read, to copy metadata from one file to another.
    fn from(value: Value<'_>) -> Self {
        match value {
            Value::Unsigned(v, ValueType::U8) => MetaValue::U8(v as u8),
            Value::Unsigned(v, ValueType::U16) => MetaValue::U16(v as u16),
            Value::Unsigned(v, ValueType::U32) => MetaValue::U32(v as u32),
            Value::Unsigned(v, _) => MetaValue::U64(v),
            Value::Signed(v, ValueType::I8) => MetaValue::I8(v as i8),
            Value::Signed(v, ValueType::I16) => MetaValue::I16(v as i16),
            Value::Signed(v, ValueType::I32) => MetaValue::I32(v as i32),
            Value::Signed(v, _) => MetaValue::I64(v),
            Value::Float(v, ValueType::F32) => MetaValue::F32(v as f32),
            Value::Float(v, _) => MetaValue::F64(v),
            Value::Bool(v) => MetaValue::Bool(v),
            Value::String(v) => MetaValue::String(v.to_vec()),
            Value::Array(a) => MetaValue::Array(a.element, a.iter().map(MetaValue::from).collect()),
        }
    }
}

impl MetaValue {
    /// The type it is written as.
    pub fn value_type(&self) -> ValueType {
        match self {
            MetaValue::U8(_) => ValueType::U8,
            MetaValue::I8(_) => ValueType::I8,
            MetaValue::U16(_) => ValueType::U16,
            MetaValue::I16(_) => ValueType::I16,
            MetaValue::U32(_) => ValueType::U32,
            MetaValue::I32(_) => ValueType::I32,
            MetaValue::F32(_) => ValueType::F32,
            MetaValue::Bool(_) => ValueType::Bool,
            MetaValue::String(_) => ValueType::String,
            MetaValue::U64(_) => ValueType::U64,
            MetaValue::I64(_) => ValueType::I64,
            MetaValue::F64(_) => ValueType::F64,
            MetaValue::Array(..) => ValueType::Array,
        }
    }

    /// A string array.
    pub fn strings<S: AsRef<[u8]>>(items: impl IntoIterator<Item = S>) -> MetaValue {
        let items = items.into_iter().map(|s| MetaValue::String(s.as_ref().to_vec()));
        MetaValue::Array(ValueType::String, items.collect())
    }

    fn encode(&self, key: &str, out: &mut Vec<u8>) -> Result<()> {
        match self {
            MetaValue::U8(v) => out.push(*v),
            MetaValue::I8(v) => out.push(*v as u8),
            MetaValue::U16(v) => out.extend(v.to_le_bytes()),
            MetaValue::I16(v) => out.extend(v.to_le_bytes()),
            MetaValue::U32(v) => out.extend(v.to_le_bytes()),
            MetaValue::I32(v) => out.extend(v.to_le_bytes()),
            MetaValue::F32(v) => out.extend(v.to_le_bytes()),
            MetaValue::Bool(v) => out.push(u8::from(*v)),
            MetaValue::String(v) => string(v, out),
            MetaValue::U64(v) => out.extend(v.to_le_bytes()),
            MetaValue::I64(v) => out.extend(v.to_le_bytes()),
            MetaValue::F64(v) => out.extend(v.to_le_bytes()),
            MetaValue::Array(element, items) => {
                out.extend(element.id().to_le_bytes());
                out.extend((items.len() as u64).to_le_bytes());
                for item in items {
                    if item.value_type() != *element {
                        let found = format!("an array of {element:?} containing a {:?}", item.value_type());
                        let expected = "an array with elements of one type";
                        return Err(Error::KeyType { key: key.to_owned(), found, expected });
                    }
                    item.encode(key, out)?;
                }
            }
        }
        Ok(())
    }
}

fn string(s: &[u8], out: &mut Vec<u8>) {
    out.extend((s.len() as u64).to_le_bytes());
    out.extend(s);
}

/// A tensor to write: its data is requested when its turn comes.
#[derive(Clone, Debug, PartialEq)]
pub struct TensorSpec {
    /// Name.
    pub name: String,
    /// Extents, fastest-varying first.
    pub dims: Vec<u64>,
    /// Type.
    pub format: BlockFormat,
}

/// Collects metadata and a tensor index, then writes a version 3 file in one pass.
#[derive(Clone, Debug, Default)]
pub struct Writer {
    metadata: Vec<(String, MetaValue)>,
    tensors: Vec<TensorSpec>,
}

impl Writer {
    /// An empty file.
    pub fn new() -> Writer {
        Writer::default()
    }

    /// Sets a key; setting it again replaces the value.
    pub fn set(&mut self, key: impl Into<String>, value: impl Into<MetaValue>) -> &mut Self {
        let (key, value) = (key.into(), value.into());
        match self.metadata.iter_mut().find(|(k, _)| *k == key) {
            Some(entry) => entry.1 = value,
            None => self.metadata.push((key, value)),
        }
        self
    }

    /// A file of the same metadata without tensors.
    pub fn metadata(&self) -> Writer {
        Writer { metadata: self.metadata.clone(), tensors: Vec::new() }
    }

    /// Adds a tensor to the index.
    pub fn tensor(&mut self, name: impl Into<String>, dims: &[u64], format: BlockFormat) -> &mut Self {
        self.tensors.push(TensorSpec { name: name.into(), dims: dims.to_vec(), format });
        self
    }

    /// The tensors so far.
    pub fn tensors(&self) -> &[TensorSpec] {
        &self.tensors
    }

    /// Writes the file; `data` returns the bytes of each tensor in order, which must have exactly its size.
    pub fn write(
        &self,
        out: &mut impl Write,
        mut data: impl FnMut(&TensorSpec) -> Result<Vec<u8>>,
    ) -> Result<()> {
        let io = |source| Error::Io { action: "write", path: "GGUF output".into(), source };
        let (header, sizes) = self.header()?;
        out.write_all(&header).map_err(io)?;
        pad(out, header.len() as u64).map_err(io)?;
        for (spec, bytes) in self.tensors.iter().zip(sizes) {
            let given = data(spec)?;
            if given.len() as u64 != bytes {
                let problem = format!("its data has {} bytes, but its dimensions need {bytes}", given.len());
                return Err(Error::Tensor { name: spec.name.clone(), problem });
            }
            out.write_all(&given).map_err(io)?;
            pad(out, bytes).map_err(io)?;
        }
        out.flush().map_err(io)
    }

    fn header(&self) -> Result<(Vec<u8>, Vec<u64>)> {
        let mut out = MAGIC.to_vec();
        out.extend(3u32.to_le_bytes());
        out.extend((self.tensors.len() as u64).to_le_bytes());
        out.extend((self.metadata.len() as u64).to_le_bytes());
        for (key, value) in &self.metadata {
            if key == "general.alignment" && *value != MetaValue::U32(DEFAULT_ALIGNMENT as u32) {
                let found = format!("{value:?}");
                return Err(Error::KeyType {
                    key: key.clone(),
                    found,
                    expected: "32, the only alignment this writer supports",
                });
            }
            string(key.as_bytes(), &mut out);
            out.extend(value.value_type().id().to_le_bytes());
            value.encode(key, &mut out)?;
        }
        let (mut offset, mut sizes) = (0u64, Vec::with_capacity(self.tensors.len()));
        for spec in &self.tensors {
            let fail = |problem| Error::Tensor { name: spec.name.clone(), problem };
            if spec.dims.len() > MAX_DIMS {
                return Err(fail(format!("{} dimensions; at most {MAX_DIMS} are allowed", spec.dims.len())));
            }
            let bytes = size(&spec.dims, spec.format.into()).map_err(fail)?;
            string(spec.name.as_bytes(), &mut out);
            out.extend((spec.dims.len() as u32).to_le_bytes());
            spec.dims.iter().for_each(|d| out.extend(d.to_le_bytes()));
            out.extend(spec.format.gguf_id().to_le_bytes());
            out.extend(offset.to_le_bytes());
            offset += bytes.next_multiple_of(DEFAULT_ALIGNMENT);
            sizes.push(bytes);
        }
        Ok((out, sizes))
    }
}

fn pad(out: &mut impl Write, written: u64) -> io::Result<()> {
    let padding = written.next_multiple_of(DEFAULT_ALIGNMENT) - written;
    out.write_all(&[0; DEFAULT_ALIGNMENT as usize][..padding as usize])
}

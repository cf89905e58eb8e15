//! The reader.

use std::collections::HashMap;
use std::fs::File;
use std::ops::{Deref, Range};
use std::path::Path;
use std::sync::Arc;

use wootz_blocks::BlockFormat;
use wootz_system::inject;

use crate::cursor::Cursor;
use crate::error::{Error, Result};
use crate::tensor::{Tensor, size};
use crate::value::{Array, Value, ValueType};
use crate::write::Writer;
use crate::{DEFAULT_ALIGNMENT, MAGIC};

/// The bytes of a file: memory-mapped, or given. Cloning shares them.
#[derive(Clone, Debug)]
pub struct Bytes(Source);

#[derive(Clone, Debug)]
enum Source {
    Mapped(Arc<memmap2::Mmap>),
    Owned(Arc<[u8]>),
}

impl Bytes {
    /// Memory-maps a file, which must not change while it is in use.
    pub fn map(path: impl AsRef<Path>) -> Result<Bytes> {
        let path = path.as_ref();
        let io = |action| move |source| Error::Io { action, path: path.display().to_string(), source };
        let file = inject::file().and_then(|()| File::open(path)).map_err(io("open"))?;
        inject::file().map_err(io("map"))?;
        // SAFETY: the map is read-only and private to this process; that nobody shortens or rewrites the
        // file under it is the documented condition of this crate.
        let map = unsafe { memmap2::Mmap::map(&file) }.map_err(io("map"))?;
        Ok(Bytes(Source::Mapped(Arc::new(map))))
    }

    /// Releases the memory of these bytes if they are mapped: they are read from the file again on the next access.
    pub fn forget(&self, range: Range<usize>) {
        #[cfg(unix)]
        if let Source::Mapped(map) = &self.0 {
            // SAFETY: the map is of a file and read-only, so that pages that are dropped come back as they were.
            let dropped = unsafe {
                map.unchecked_advise_range(memmap2::UncheckedAdvice::DontNeed, range.start, range.len())
            };
            // It is advice: without, the bytes stay in memory.
            let _ = dropped;
        }
        #[cfg(not(unix))]
        let _ = range;
    }
}

impl<T: Into<Arc<[u8]>>> From<T> for Bytes {
    fn from(bytes: T) -> Bytes {
        Bytes(Source::Owned(bytes.into()))
    }
}

impl Deref for Bytes {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        match &self.0 {
            Source::Mapped(map) => map,
            Source::Owned(bytes) => bytes,
        }
    }
}

/// A tensor stored in another file, or in memory.
#[derive(Clone, Debug)]
pub struct ExternalTensor {
    /// Name.
    pub name: String,
    /// Extents, fastest-varying first.
    pub dims: Vec<u64>,
    /// Type.
    pub format: BlockFormat,
    /// The source of its data.
    pub bytes: Bytes,
    /// The range of its data in the source.
    pub range: Range<usize>,
}

/// A validated GGUF file. Cloning shares the map.
#[derive(Clone, Debug)]
pub struct Gguf {
    source: Bytes,
    version: u32,
    entries: Vec<Entry>,
    keys: HashMap<String, usize>,
    tensors: Vec<Tensor>,
    names: HashMap<String, usize>,
    data: Range<usize>,
    /// Data of tensors that are not in the source.
    external: Vec<(Bytes, Range<usize>)>,
}

/// A metadata entry: the location of its value, so that the file's bytes are read in place.
#[derive(Clone, Debug)]
struct Entry {
    key: String,
    kind: ValueType,
    value: Range<usize>,
}

impl Gguf {
    /// Maps and validates a file.
    pub fn open(path: impl AsRef<Path>) -> Result<Gguf> {
        Gguf::parse(Bytes::map(path)?)
    }

    /// Validates a file in memory.
    pub fn from_bytes(bytes: impl Into<Arc<[u8]>>) -> Result<Gguf> {
        Gguf::parse(bytes.into().into())
    }

    /// A virtual GGUF file with the writer's metadata and tensors that stay where they are.
    pub fn assemble(metadata: &Writer, tensors: Vec<ExternalTensor>) -> Result<Gguf> {
        let mut header = Vec::new();
        metadata.write(&mut header, |spec| Err(Error::MissingTensor(spec.name.clone())))?;
        let mut gguf = Gguf::from_bytes(header)?;
        for tensor in tensors {
            let ExternalTensor { name, dims, format, bytes, range } = tensor;
            let fail = |problem| Err(Error::Tensor { name: name.clone(), problem });
            let size = match size(&dims, format.into()) {
                Ok(size) => size,
                Err(problem) => return fail(problem),
            };
            if bytes.get(range.clone()).map(|data| data.len() as u64) != Some(size) {
                let len = bytes.len();
                return fail(format!("its {size} bytes do not match the range {range:?} of {len}"));
            }
            let index = gguf.tensors.len();
            if gguf.names.insert(name.clone(), index).is_some() {
                return fail("occurs twice".into());
            }
            gguf.tensors.push(Tensor { name, dims, kind: format.into(), offset: 0, bytes: size });
            gguf.external.push((bytes, range));
        }
        Ok(gguf)
    }

    fn parse(source: Bytes) -> Result<Gguf> {
        let mut cursor = Cursor::new(&source);
        let version = header(&mut cursor)?;
        let tensor_count = cursor.count(24, &|| "tensor count".into())?;
        let entry_count = cursor.count(13, &|| "metadata count".into())?;
        let (mut entries, mut keys) = (Vec::with_capacity(entry_count), HashMap::with_capacity(entry_count));
        for index in 0..entry_count {
            let at = cursor.position() as u64;
            let entry = Entry::parse(&mut cursor, index)?;
            if keys.insert(entry.key.clone(), index).is_some() {
                let what = format!("metadata entry {index}");
                return Err(Error::Invalid {
                    what,
                    at,
                    problem: format!("key '{}' occurs twice", entry.key),
                });
            }
            entries.push(entry);
        }
        let (mut tensors, mut names) =
            (Vec::with_capacity(tensor_count), HashMap::with_capacity(tensor_count));
        for index in 0..tensor_count {
            let tensor = Tensor::parse(&mut cursor, index)?;
            if names.insert(tensor.name.clone(), index).is_some() {
                return Err(Error::Tensor { name: tensor.name, problem: "occurs twice in the index".into() });
            }
            tensors.push(tensor);
        }
        let index_end = cursor.position() as u64;
        let end = source.len();
        let mut gguf =
            Gguf { source, version, entries, keys, tensors, names, data: end..end, external: vec![] };
        gguf.place_data(index_end)?;
        Ok(gguf)
    }

    /// Finds the data section and checks that it contains every tensor.
    fn place_data(&mut self, index_end: u64) -> Result<()> {
        let alignment = self.alignment()?;
        let start = index_end.next_multiple_of(alignment);
        let len = self.source.len() as u64;
        for tensor in &self.tensors {
            let problem = if !tensor.offset.is_multiple_of(alignment) {
                format!("offset {} is not a multiple of the alignment {alignment}", tensor.offset)
            } else if start
                .checked_add(tensor.offset)
                .and_then(|s| s.checked_add(tensor.bytes))
                .is_none_or(|e| e > len)
            {
                format!(
                    "its {} bytes at offset {} of the data (which starts at byte {start}) pass the end of the \
                     file at byte {len}; it is truncated or corrupt",
                    tensor.bytes, tensor.offset
                )
            } else {
                continue;
            };
            return Err(Error::Tensor { name: tensor.name.clone(), problem });
        }
        self.data = start.min(len) as usize..len as usize;
        Ok(())
    }

    /// Alignment of the tensor data.
    pub fn alignment(&self) -> Result<u64> {
        let Some(value) = self.metadata().get("general.alignment") else { return Ok(DEFAULT_ALIGNMENT) };
        value.as_u64().filter(|a| a.is_power_of_two() && *a <= 1 << 30).ok_or_else(|| Error::KeyType {
            key: "general.alignment".into(),
            found: format!("{value:?}"),
            expected: "a power of two up to 2^30",
        })
    }

    /// Version of the container.
    pub fn version(&self) -> u32 {
        self.version
    }

    /// Size of the file in bytes, or of all parts.
    pub fn file_bytes(&self) -> usize {
        self.source.len() + self.external.iter().map(|(_, range)| range.len()).sum::<usize>()
    }

    /// The metadata.
    pub fn metadata(&self) -> Metadata<'_> {
        Metadata { gguf: self }
    }

    /// The tensor index, in the order of the file.
    pub fn tensors(&self) -> &[Tensor] {
        &self.tensors
    }

    /// A tensor by name.
    pub fn tensor(&self, name: &str) -> Result<&Tensor> {
        self.find_tensor(name).ok_or_else(|| Error::MissingTensor(name.to_owned()))
    }

    /// A tensor by name, if it exists.
    pub fn find_tensor(&self, name: &str) -> Option<&Tensor> {
        self.names.get(name).map(|&i| &self.tensors[i])
    }

    /// The data of a tensor of this file.
    pub fn data(&self, tensor: &Tensor) -> &[u8] {
        let (bytes, range) = self.place(tensor);
        &bytes[range]
    }

    /// The source of a tensor's data, and its range there.
    pub fn place(&self, tensor: &Tensor) -> (&Bytes, Range<usize>) {
        let external = self.names.get(&tensor.name).and_then(|&index| self.external.get(index));
        if let Some((bytes, range)) = external {
            return (bytes, range.clone());
        }
        let start = self.data.start + tensor.offset as usize;
        (&self.source, start..start + tensor.bytes as usize)
    }
}

fn header(cursor: &mut Cursor<'_>) -> Result<u32> {
    let magic = cursor.take(cursor.remaining().min(4) as u64, &|| "magic".into())?;
    if magic != MAGIC {
        return Err(Error::Magic { found: magic.to_vec() });
    }
    let version = cursor.u32(&|| "version".into())?;
    match version {
        2 | 3 => Ok(version),
        // A small number written the other way round.
        v if v & 0xffff == 0 && v != 0 => Err(Error::BigEndian(v)),
        v => Err(Error::Version(v)),
    }
}

impl Entry {
    fn parse(cursor: &mut Cursor<'_>, index: usize) -> Result<Entry> {
        let what = || format!("metadata entry {index}");
        let key = cursor.utf8(&what)?.to_owned();
        let at = cursor.position() as u64;
        let id = cursor.u32(&what)?;
        let kind = ValueType::from_id(id).ok_or_else(|| Error::Invalid {
            what: format!("type of metadata key '{key}'"),
            at,
            problem: format!("unknown value type {id}"),
        })?;
        let start = cursor.position();
        Value::parse(kind, cursor, 0, &key)?;
        Ok(Entry { key, kind, value: start..cursor.position() })
    }
}

/// The metadata of a file, with typed access.
#[derive(Clone, Copy, Debug)]
pub struct Metadata<'a> {
    gguf: &'a Gguf,
}

impl<'a> Metadata<'a> {
    /// All keys and values, in the order of the file.
    pub fn iter(self) -> impl Iterator<Item = (&'a str, Value<'a>)> {
        self.gguf.entries.iter().filter_map(move |e| Some((e.key.as_str(), self.value(e)?)))
    }

    /// The value of a key, if it exists.
    pub fn get(self, key: &str) -> Option<Value<'a>> {
        self.gguf.keys.get(key).and_then(|&i| self.value(&self.gguf.entries[i]))
    }

    fn value(self, entry: &'a Entry) -> Option<Value<'a>> {
        let mut cursor = Cursor::new(&self.gguf.source[entry.value.clone()]);
        Value::parse(entry.kind, &mut cursor, 0, &entry.key).ok()
    }

    /// A required key, converted by `read`; the error names the key, its value and what was expected.
    pub fn require<T>(
        self,
        key: &str,
        expected: &'static str,
        read: impl Fn(&Value<'a>) -> Option<T>,
    ) -> Result<T> {
        self.optional(key, expected, read)?.ok_or_else(|| Error::MissingKey(key.to_owned()))
    }

    /// An optional key, which must be valid if it exists.
    pub fn optional<T>(
        self,
        key: &str,
        expected: &'static str,
        read: impl Fn(&Value<'a>) -> Option<T>,
    ) -> Result<Option<T>> {
        let Some(value) = self.get(key) else { return Ok(None) };
        let wrong = || Error::KeyType { key: key.to_owned(), found: value.describe(), expected };
        read(&value).map(Some).ok_or_else(wrong)
    }

    /// A non-negative integer that fits in a `usize`.
    pub fn usize(self, key: &str) -> Result<usize> {
        self.require(key, "a non-negative integer", |v| v.as_u64().and_then(|v| v.try_into().ok()))
    }

    /// A number.
    pub fn f32(self, key: &str) -> Result<f32> {
        self.require(key, "a number", |v| v.as_f64().map(|v| v as f32))
    }

    /// A string.
    pub fn str(self, key: &str) -> Result<&'a str> {
        self.require(key, "a UTF-8 string", Value::as_str)
    }

    /// A boolean, or `default` if the key is missing.
    pub fn bool_or(self, key: &str, default: bool) -> Result<bool> {
        Ok(self.optional(key, "a bool", Value::as_bool)?.unwrap_or(default))
    }

    /// An array.
    pub fn array(self, key: &str) -> Result<Array<'a>> {
        self.require(key, "an array", Value::as_array)
    }
}

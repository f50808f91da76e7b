//! Apache Parquet: a table with one row per number.
//!
//! Format: <https://parquet.apache.org/docs/file-format/>. Texts are UTF-8, and times are microseconds in UTC. A missing value
//! is null and never 0. All files have the same columns with the same types. Pages are not compressed: dictionaries already
//! make repeated texts small, and codecs would triple the time that this crate's dependencies take to build.

mod columns;
mod partition;
#[cfg(test)]
mod tests;

pub use columns::{COLUMNS, Column, Kind};
pub use partition::{Partition, file_name};

use crate::flat::{FlatNumber, FlatResult, FlatRun};
use columns::Read;
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::{KeyValue, ParquetMetaDataReader};
use parquet::file::properties::WriterProperties;
use parquet::file::reader::ChunkReader;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use std::collections::BTreeSet;
use std::io::Write;
use std::rc::Rc;
use std::sync::Arc;
use thiserror::Error;

/// Name and version of the table, in the metadata of each file.
pub const NUMBERS_SCHEMA: &str = "plumb.numbers/1";
/// Key of the table's name and version.
const SCHEMA_KEY: &str = "plumb.schema";
/// Key of the runs in a file: ids, one per line.
const RUNS_KEY: &str = "plumb.runs";
/// Rows of a row group, which is also what a writer buffers. DuckDB reads row groups of this size in parallel.
const GROUP_ROWS: usize = 122_880;

/// Error from writing or reading a Parquet file.
#[derive(Debug, Error)]
#[error("Parquet: {0}")]
pub struct NumbersFileError(#[from] ParquetError);

/// Writes runs to one file.
pub struct NumbersWriter<W: Write + Send> {
    file: SerializedFileWriter<W>,
    buffer: Vec<Row>,
    runs: Vec<String>,
}

/// A number with its run, which all its numbers share.
struct Row {
    run: Rc<FlatRun>,
    number: FlatNumber,
}

impl<W: Write + Send> NumbersWriter<W> {
    /// Begins a file.
    ///
    /// # Errors
    /// Returns an error if it cannot be written.
    pub fn new(sink: W) -> Result<NumbersWriter<W>, NumbersFileError> {
        let creator = format!("plumb {}", env!("CARGO_PKG_VERSION"));
        let properties = Arc::new(WriterProperties::builder().set_created_by(creator).build());
        let file = SerializedFileWriter::new(sink, Arc::new(columns::schema()?), properties)?;
        Ok(NumbersWriter { file, buffer: Vec::new(), runs: Vec::new() })
    }

    /// Adds the numbers of a run.
    ///
    /// # Errors
    /// Returns an error if they cannot be written.
    pub fn add(&mut self, result: FlatResult) -> Result<(), NumbersFileError> {
        self.runs.push(result.run.id.clone());
        let run = Rc::new(result.run);
        self.buffer.extend(result.numbers.into_iter().map(|number| Row { run: Rc::clone(&run), number }));
        if self.buffer.len() >= GROUP_ROWS { self.flush() } else { Ok(()) }
    }

    /// Ends the file and returns its sink.
    ///
    /// # Errors
    /// Returns an error if it cannot be written.
    pub fn finish(mut self) -> Result<W, NumbersFileError> {
        self.flush()?;
        let pair = |key: &str, value: String| KeyValue { key: key.to_owned(), value: Some(value) };
        self.file.append_key_value_metadata(pair(SCHEMA_KEY, NUMBERS_SCHEMA.to_owned()));
        self.file.append_key_value_metadata(pair(RUNS_KEY, self.runs.join("\n")));
        Ok(self.file.into_inner()?)
    }

    fn flush(&mut self) -> Result<(), NumbersFileError> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        let mut group = self.file.next_row_group()?;
        for column in COLUMNS {
            let Some(mut chunk) = group.next_column()? else { break };
            write_column(&mut chunk, column, &self.buffer)?;
            chunk.close()?;
        }
        group.close()?;
        self.buffer.clear();
        Ok(())
    }
}

fn write_column(chunk: &mut SerializedColumnWriter<'_>, column: &Column, rows: &[Row]) -> Result<(), ParquetError> {
    let facts = || rows.iter().map(|row| (&*row.run, &row.number));
    match column.read {
        Read::Text(read) => put::<ByteArrayType>(
            chunk,
            facts().map(|(run, number)| read(run, number).map(|text| ByteArray::from(&*text))),
        ),
        Read::Double(read) => put::<DoubleType>(chunk, facts().map(|(run, number)| read(run, number))),
        Read::Long(read) | Read::Time(read) => put::<Int64Type>(chunk, facts().map(|(run, number)| read(run, number))),
        Read::Int(read) => put::<Int32Type>(chunk, facts().map(|(run, number)| read(run, number))),
        Read::Flag(read) => put::<BoolType>(chunk, facts().map(|(run, number)| Some(read(run, number)))),
        Read::Texts(read) => put_lists(chunk, facts().map(|(run, _)| read(run))),
    }
}

/// Writes one column: a definition level for each row, which is 1 if the row has a value, and the existing values.
fn put<T: DataType>(
    chunk: &mut SerializedColumnWriter<'_>,
    cells: impl Iterator<Item = Option<T::T>>,
) -> Result<(), ParquetError> {
    let (mut definition_levels, mut values) = (Vec::new(), Vec::new());
    for cell in cells {
        definition_levels.push(i16::from(cell.is_some()));
        values.extend(cell);
    }
    chunk.typed::<T>().write_batch(&values, Some(&definition_levels), None)?;
    Ok(())
}

/// Writes a column of lists. A definition level is 1 for an empty list and 2 for an element; a repetition level is 0 for the
/// first element of a row, which begins the row.
fn put_lists<'a>(
    chunk: &mut SerializedColumnWriter<'_>,
    rows: impl Iterator<Item = &'a [String]>,
) -> Result<(), ParquetError> {
    let (mut definition_levels, mut repetition_levels, mut values) = (Vec::new(), Vec::new(), Vec::new());
    for row in rows {
        if row.is_empty() {
            definition_levels.push(1);
            repetition_levels.push(0);
        }
        for (place, text) in row.iter().enumerate() {
            definition_levels.push(2);
            repetition_levels.push(i16::from(place > 0));
            values.push(ByteArray::from(text.as_str()));
        }
    }
    chunk.typed::<ByteArrayType>().write_batch(&values, Some(&definition_levels), Some(&repetition_levels))?;
    Ok(())
}

/// Returns the ids of the runs in a file of [`NumbersWriter`]; `None` for a Parquet file of another program. Reads only the
/// file's footer.
///
/// # Errors
/// Returns an error if this is not a Parquet file, or if it is damaged.
pub fn runs_in(file: &impl ChunkReader) -> Result<Option<BTreeSet<String>>, NumbersFileError> {
    let metadata = ParquetMetaDataReader::new().parse_and_finish(file)?;
    let pairs = metadata.file_metadata().key_value_metadata();
    let value = |key: &str| {
        let pair = pairs?.iter().find(|pair| pair.key == key)?;
        pair.value.as_deref()
    };
    let is_own = value(SCHEMA_KEY).is_some_and(|schema| schema.starts_with("plumb.numbers/"));
    Ok(value(RUNS_KEY).filter(|_| is_own).map(|runs| runs.lines().map(str::to_owned).collect()))
}

//! Numbers as Parquet, for programs that read columns: `plumb export --parquet`, in builds with the feature `parquet`.
//!
//! The format is Apache Parquet's (<https://parquet.apache.org/docs/file-format/>): one row group, texts as UTF-8, numbers as doubles, each
//! column optional, so that what is missing is null and never 0.

use parquet::basic::{LogicalType, Repetition, Type as PhysicalType};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{Type, TypePtr};
use plumb_result::tidy::{TidyCell, TidyTable};
use std::io::Write;
use std::sync::Arc;

/// Writes a table.
///
/// # Errors
/// What the file's system says.
pub fn write(table: &TidyTable, file: impl Write + Send) -> Result<(), ParquetError> {
    let fields = (0..table.columns.len()).map(|column| field(table, column)).collect::<Result<Vec<TypePtr>, _>>()?;
    let schema = Arc::new(Type::group_type_builder("numbers").with_fields(fields).build()?);
    let mut writer = SerializedFileWriter::new(file, schema, Arc::new(WriterProperties::builder().build()))?;
    let mut rows = writer.next_row_group()?;
    for column in 0..table.columns.len() {
        let Some(mut chunk) = rows.next_column()? else { break };
        let cells = || table.rows.iter().map(|row| &row[column]);
        if has_numbers(table, column) {
            let numbers: Vec<Option<f64>> = cells().map(TidyCell::as_number).collect();
            let (there, values) = parts(&numbers);
            chunk.typed::<DoubleType>().write_batch(&values, Some(&there), None)?;
        } else {
            let texts: Vec<Option<ByteArray>> = cells().map(|cell| cell.as_text().map(ByteArray::from)).collect();
            let (there, values) = parts(&texts);
            chunk.typed::<ByteArrayType>().write_batch(&values, Some(&there), None)?;
        }
        chunk.close()?;
    }
    rows.close()?;
    writer.close()?;
    Ok(())
}

/// Columns of numbers hold nothing else; the names are those of [`plumb_store::Store::tidy`].
fn has_numbers(table: &TidyTable, column: usize) -> bool {
    matches!(table.columns[column].as_str(), "value" | "device_share")
}

fn field(table: &TidyTable, column: usize) -> Result<TypePtr, ParquetError> {
    let name = &table.columns[column];
    let builder = match has_numbers(table, column) {
        true => Type::primitive_type_builder(name, PhysicalType::DOUBLE),
        false => {
            Type::primitive_type_builder(name, PhysicalType::BYTE_ARRAY).with_logical_type(Some(LogicalType::String))
        }
    };
    Ok(Arc::new(builder.with_repetition(Repetition::OPTIONAL).build()?))
}

/// Whether each row has a value (Parquet's definition level of an optional column), and the values that are there.
fn parts<T: Clone>(cells: &[Option<T>]) -> (Vec<i16>, Vec<T>) {
    (cells.iter().map(|cell| i16::from(cell.is_some())).collect(), cells.iter().flatten().cloned().collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use parquet::file::reader::{FileReader, SerializedFileReader};

    // Protects: what is read back is what was written, and what is missing is null.
    #[test]
    fn a_table_comes_back() {
        let table = TidyTable {
            columns: ["run", "value", "tier"].map(str::to_owned).to_vec(),
            rows: vec![
                vec![TidyCell::text("a"), TidyCell::Number(0.0), TidyCell::text("")],
                vec![TidyCell::text("b"), TidyCell::Missing, TidyCell::text("device")],
            ],
        };
        let file = tempfile::NamedTempFile::new().unwrap();
        write(&table, file.reopen().unwrap()).unwrap();
        let reader = SerializedFileReader::new(file.reopen().unwrap()).unwrap();
        let rows: Vec<String> = reader.get_row_iter(None).unwrap().map(|row| row.unwrap().to_string()).collect();
        assert_eq!(rows, ["{run: \"a\", value: 0.0, tier: null}", "{run: \"b\", value: null, tier: \"device\"}"]);
    }
}

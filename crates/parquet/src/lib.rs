//! Writes numbers as Apache Parquet for column-oriented programs: `plumb export --parquet`, in
//! builds with the feature `parquet`.
//!
//! Format: <https://parquet.apache.org/docs/file-format/>, with one row group, texts as UTF-8 and numbers as doubles. Each
//! column is optional, so that a missing value is null and never 0.

use parquet::basic::{LogicalType, Repetition, Type as PhysicalType};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::{Type, TypePtr};
use plumb_result::tidy::{TidyCell, TidyTable};
use std::io::Write;
use std::sync::Arc;

/// Writes a table to an empty file.
///
/// # Errors
/// Returns an error if the file cannot be written.
pub fn write(table: &TidyTable, file: impl Write + Send) -> Result<(), ParquetError> {
    let fields = table.columns.iter().map(|name| field(name)).collect::<Result<_, _>>()?;
    let schema = Arc::new(Type::group_type_builder("numbers").with_fields(fields).build()?);
    let mut writer = SerializedFileWriter::new(file, schema, Arc::new(WriterProperties::builder().build()))?;
    let mut rows = writer.next_row_group()?;
    for (column, name) in table.columns.iter().enumerate() {
        let Some(mut chunk) = rows.next_column()? else { break };
        let cells = table.rows.iter().map(|row| &row[column]);
        if TidyTable::holds_numbers(name) {
            put::<DoubleType>(&mut chunk, cells.map(TidyCell::as_number))?;
        } else {
            put::<ByteArrayType>(&mut chunk, cells.map(|cell| cell.as_text().map(ByteArray::from)))?;
        }
        chunk.close()?;
    }
    rows.close()?;
    writer.close()?;
    Ok(())
}

fn field(name: &str) -> Result<TypePtr, ParquetError> {
    let builder = if TidyTable::holds_numbers(name) {
        Type::primitive_type_builder(name, PhysicalType::DOUBLE)
    } else {
        Type::primitive_type_builder(name, PhysicalType::BYTE_ARRAY).with_logical_type(Some(LogicalType::String))
    };
    Ok(Arc::new(builder.with_repetition(Repetition::OPTIONAL).build()?))
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

#[cfg(test)]
mod tests {
    use super::*;
    use parquet::file::reader::{FileReader, SerializedFileReader};

    fn read_back(table: &TidyTable) -> (Vec<String>, Vec<String>) {
        let mut file = Vec::new();
        write(table, &mut file).unwrap();
        let reader = SerializedFileReader::new(bytes::Bytes::from(file)).unwrap();
        let schema = reader.metadata().file_metadata().schema_descr();
        let types = schema.columns().iter().map(|column| format!("{} {}", column.name(), column.physical_type()));
        let rows = reader.get_row_iter(None).unwrap().map(|row| row.unwrap().to_string()).collect();
        (types.collect(), rows)
    }

    fn table(rows: Vec<Vec<TidyCell>>) -> TidyTable {
        TidyTable { columns: ["run", "value", "tier"].map(str::to_owned).to_vec(), rows }
    }

    // Protects: the table is read back as it was written, and missing values are null.
    #[test]
    fn a_table_comes_back() {
        let (types, rows) = read_back(&table(vec![
            vec![TidyCell::text("a"), TidyCell::Number(1.5), TidyCell::text("")],
            vec![TidyCell::text("é"), TidyCell::Missing, TidyCell::text("device")],
        ]));
        assert_eq!(types, ["run BYTE_ARRAY", "value DOUBLE", "tier BYTE_ARRAY"]);
        assert_eq!(rows, ["{run: \"a\", value: 1.5, tier: null}", "{run: \"é\", value: null, tier: \"device\"}"]);
    }

    // Protects: all exports have the same columns with the same types, even if one lacks values.
    #[test]
    fn types_do_not_depend_on_values() {
        let (types, rows) = read_back(&table(vec![vec![TidyCell::Missing; 3]]));
        assert_eq!(types, ["run BYTE_ARRAY", "value DOUBLE", "tier BYTE_ARRAY"]);
        assert_eq!(rows, ["{run: null, value: null, tier: null}"]);
        assert_eq!(read_back(&table(Vec::new())), (types, Vec::new()));
    }

    // Protects: tables with more rows than a page holds work, and a repeated text is stored once.
    #[test]
    fn many_rows() {
        let row = |number: u32| vec![TidyCell::text("a-run"), TidyCell::Number(f64::from(number)), TidyCell::Missing];
        let table = table((0..50_000).map(row).collect());
        let mut file = Vec::new();
        write(&table, &mut file).unwrap();
        assert!(file.len() < 50_000 * 12, "{} bytes", file.len());
        let (_, rows) = read_back(&table);
        assert_eq!((rows.len(), rows[49_999].as_str()), (50_000, "{run: \"a-run\", value: 49999.0, tier: null}"));
    }
}

use super::*;
use crate::testing::{hostile, nightly, number};
use parquet::file::reader::{FileReader, SerializedFileReader};
use std::path::Path;

fn written(results: &[FlatResult]) -> Vec<u8> {
    let mut writer = NumbersWriter::new(Vec::new()).unwrap();
    results.iter().for_each(|result| writer.add(result.clone()).unwrap());
    writer.finish().unwrap()
}

fn rows(file: Vec<u8>) -> Vec<String> {
    let reader = SerializedFileReader::new(bytes::Bytes::from(file)).unwrap();
    reader.get_row_iter(None).unwrap().map(|row| row.unwrap().to_string()).collect()
}

// Protects: the table is read back as it was written, and missing values are null.
#[test]
fn golden_rows() {
    let mut imported = nightly();
    imported.run.site = crate::FlatSite::default();
    imported.run.tags.clear();
    imported.run.study = None;
    imported.run.started_at = "never".to_owned();
    imported.numbers = vec![FlatNumber { n: None, tier: None, device_share: None, ..number("p", "write.bw", 0.0) }];
    let written = rows(written(&[nightly(), imported])).join("\n") + "\n";
    assert_eq!(written, include_str!("../../tests/golden/parquet-rows.txt"));
}

// Protects: all exports have the same columns with the same types, even if one lacks values or rows.
#[test]
fn types_do_not_depend_on_values() {
    let types = |file: Vec<u8>| {
        let reader = SerializedFileReader::new(bytes::Bytes::from(file)).unwrap();
        let schema = reader.metadata().file_metadata().schema_descr_ptr();
        schema.columns().iter().map(|column| format!("{column:?}")).collect::<Vec<_>>()
    };
    let of_all = types(written(&[nightly()]));
    assert_eq!(types(written(&[hostile()])), of_all);
    assert_eq!(types(written(&[])), of_all);
    assert_eq!(of_all.len(), COLUMNS.len());
}

// Protects: names that break other formats come back from this one.
#[test]
fn hostile_names_come_back() {
    let result = hostile();
    let reader = SerializedFileReader::new(bytes::Bytes::from(written(std::slice::from_ref(&result)))).unwrap();
    use parquet::record::RowAccessor;
    let phase = COLUMNS.iter().position(|column| column.name == "phase").unwrap();
    let phases: Vec<String> =
        reader.get_row_iter(None).unwrap().map(|row| row.unwrap().get_string(phase).unwrap().clone()).collect();
    let expected: Vec<&String> = result.numbers.iter().map(|number| &number.phase).collect();
    assert_eq!(phases.iter().collect::<Vec<_>>(), expected);
}

// Protects: more rows than a row group holds, and a repeated text is stored once.
#[test]
fn many_rows() {
    let mut result = nightly();
    let first = result.numbers[0].clone();
    result.numbers = (0..50_000).map(|row| FlatNumber { value: f64::from(row), ..first.clone() }).collect();
    let file = written(&vec![result; 3]);
    assert!(file.len() < 150_000 * 12, "{} bytes", file.len());
    let reader = SerializedFileReader::new(bytes::Bytes::from(file)).unwrap();
    assert_eq!(reader.metadata().file_metadata().num_rows(), 150_000);
}

// Protects: an export finds the runs that a file already has, so that it adds none twice, and takes no other file for its own.
#[test]
fn a_file_knows_its_runs() {
    let mut second = nightly();
    second.run.id = "019abf2e-7c00-7000-8000-000000000002".to_owned();
    let file = written(&[nightly(), second.clone()]);
    assert_eq!(runs_in(&bytes::Bytes::from(file)).unwrap(), Some([nightly().run.id, second.run.id].into()));
    assert_eq!(runs_in(&bytes::Bytes::from(written(&[]))).unwrap().map(|runs| runs.len()), Some(0));
    let group = Arc::new(columns::schema().unwrap());
    let foreign = SerializedFileWriter::new(Vec::new(), group, Arc::default()).unwrap().into_inner().unwrap();
    assert_eq!(runs_in(&bytes::Bytes::from(foreign)).unwrap(), None);
}

// Protects: a damaged file is an error, and never a panic, a hang or a huge allocation.
#[test]
fn damaged_files_are_refused() {
    let file = written(&[nightly()]);
    let read = |bytes: Vec<u8>| runs_in(&bytes::Bytes::from(bytes));
    for bytes in [b"".to_vec(), b"PAR1".to_vec(), vec![0xff; 64], b"PAR1\xff\xff\xff\x7fPAR1".to_vec()] {
        assert!(read(bytes).is_err());
    }
    for length in 0..file.len() {
        assert!(read(file[..length].to_vec()).is_err(), "{length} bytes");
    }
    for place in file.len().saturating_sub(2000)..file.len() {
        let mut damaged = file.clone();
        damaged[place] ^= 0xa5;
        let _ = read(damaged);
    }
}

// Protects: two hosts that write to one bucket agree on names, and no host name leaves the directory.
#[test]
fn partitions_are_safe_names() {
    let partition = Partition::for_run(&nightly().run, None);
    assert_eq!(partition.directory(), Path::new("site=db-1/month=2026-11"));
    let given = Partition::for_run(&nightly().run, Some("Köln/1"));
    assert_eq!(given.directory(), Path::new("site=K%C3%B6ln%2F1/month=2026-11"));
    for run in
        [hostile().run, crate::FlatRun { site: crate::FlatSite::default(), started_at: String::new(), ..nightly().run }]
    {
        let directory = Partition::for_run(&run, None).directory();
        let parts: Vec<&str> = directory.iter().map(|part| part.to_str().unwrap()).collect();
        assert_eq!(parts.len(), 2, "{parts:?}");
        assert!(parts.iter().all(|part| part.len() <= 255 && part.is_ascii()), "{parts:?}");
    }
    assert_eq!(file_name(b""), "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262.parquet");
    assert_eq!(written(&[nightly()]), written(&[nightly()]), "equal content has an equal name");
}

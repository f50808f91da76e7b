//! Models of small recordings, and texts that are not models.

use super::*;
use crate::iolog::Waits;
use crate::record::FileName;
use crate::show::{characterise, distances};
use std::io::Cursor;
use std::path::Path;

fn drawn(text: &str) -> Result<crate::RecordingReader, crate::TraceError> {
    crate::read(Box::new(Cursor::new(text.as_bytes().to_vec())), Path::new("m"), Waits::Manual)
}

/// Builds a recording of a log that is written and flushed, a database that is read at random, and temporary files.
fn recording() -> String {
    let mut text = String::new();
    for turn in 0..400_u64 {
        let at = |us: u64| format!("7 1000.{:06}", turn * 400 + us);
        text += &format!("{} pwrite64(3</w/log>, \"\"..., 512, {}) = 512 <0.000001>\n", at(0), turn * 512);
        text += &format!("{} fdatasync(3</w/log>) = 0 <0.000001>\n", at(10));
        for read in 0..3 {
            let offset = (turn * 7919 + read * 104_729) % 1024 * 8192;
            text += &format!("{} pread64(4</w/db>, \"\"..., 8192, {offset}) = 8192 <0.000001>\n", at(20 + read));
        }
        text += &format!(
            "{} openat(AT_FDCWD</w>, \"{turn}\", O_RDWR|O_CREAT|O_EXCL, 0644) = 5</w/{turn}> <0.000001>\n",
            at(100)
        );
        let size = 100 + turn * 37 % 900;
        text += &format!("{} write(5</w/{turn}>, \"\"..., {size}) = {size} <0.000001>\n", at(120));
        text += &format!("{} close(5</w/{turn}>) = 0 <0.000001>\n", at(130));
        text += &format!("{} unlink(\"/w/{turn}\") = 0 <0.000001>\n", at(200));
    }
    text
}

fn fitted(level: u8) -> (Fitted, crate::show::Sheet) {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("r.strace");
    std::fs::write(&path, recording()).unwrap();
    let fitted = fit(&path, Waits::Manual, None, level).unwrap();
    let sheet = characterise(&mut drawn(&fitted.model.to_string()).unwrap()).unwrap();
    (fitted, sheet)
}

#[test]
fn a_model_resembles_its_recording() {
    for level in 1..=3 {
        let (fitted, sheet) = fitted(level);
        let ours = |name: &str| fitted.sheet.value("data ops", name).unwrap();
        assert!(
            (ours("sequential in their file") - sheet.value("data ops", "sequential in their file").unwrap()).abs()
                < 0.05
        );
        for (name, distance) in distances(&fitted.sheet, &sheet) {
            let most = if name == "seeks" { 0.2 } else { 0.1 };
            assert!(!["gaps", "sizes", "seeks"].contains(&name) || distance < most, "{level}: {name} {distance}");
        }
    }
}

#[test]
fn a_model_keeps_the_order_of_ops_and_closes_all_files() {
    let (fitted, _) = fitted(2);
    let mut reader = drawn(&fitted.model.to_string()).unwrap();
    let records: Vec<Record> = reader.by_ref().map(Result::unwrap).collect();
    assert_eq!(records.len(), 3600);
    for pair in records.windows(2).filter(|pair| pair[0].act == RecordedAct::Open) {
        assert_eq!((pair[1].act, pair[1].file), (RecordedAct::Write, pair[0].file));
    }
    let names = reader.names().files();
    assert!(names.contains(&FileName::Path("file0".to_owned())) && names.len() > 300, "{}", names.len());
}

/// Builds a recording of two threads. One creates files by three writes, reads each to its end and
/// renames it. The other creates, lists and removes directories, looks for missing names, and pauses for
/// 20 ms after each tenth round.
fn trace_of_two_programs() -> String {
    let mut text = String::new();
    for turn in 0..200_u64 {
        let at = |us: u64| format!("1000.{:06}", turn * 1000 + turn / 10 * 20_000 + us);
        let (file, directory) = (format!("/w/f{turn}"), format!("/w/d{turn}"));
        let mut line = |thread: u32, us: u64, call: String| text += &format!("{thread} {} {call} <0.000001>\n", at(us));
        line(7, 0, format!("openat(AT_FDCWD</w>, \"f{turn}\", O_RDWR|O_CREAT|O_EXCL, 0644) = 5<{file}>"));
        for piece in 0..3 {
            line(7, 10 + piece, format!("pwrite64(5<{file}>, \"\"..., 1000, {}) = 1000", piece * 1000));
        }
        line(7, 20, format!("pread64(5<{file}>, \"\"..., 2048, 0) = 2048"));
        line(7, 21, format!("pread64(5<{file}>, \"\"..., 2048, 2048) = 952"));
        line(7, 30, format!("close(5<{file}>) = 0"));
        line(7, 40, format!("rename(\"{file}\", \"{file}.done\") = 0"));
        line(8, 50, format!("mkdir(\"{directory}\", 0755) = 0"));
        line(8, 60, format!("openat(AT_FDCWD</w>, \"d{turn}\", O_RDONLY|O_DIRECTORY) = 6<{directory}>"));
        line(8, 70, format!("getdents64(6<{directory}>, 0x7f, 32768) = 48"));
        line(8, 80, format!("close(6<{directory}>) = 0"));
        line(8, 90, format!("rmdir(\"{directory}\") = 0"));
        line(8, 95, "stat(\"/w/none\", 0x7ff) = -1 ENOENT (No such file or directory)".to_owned());
    }
    text
}

fn count(records: &[Record], act: RecordedAct) -> usize {
    records.iter().filter(|record| record.act == act).count()
}

#[test]
fn threads_runs_file_ends_names_and_pauses_are_reproduced() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("r.strace");
    std::fs::write(&path, trace_of_two_programs()).unwrap();
    let fitted = fit(&path, Waits::Manual, None, 3).unwrap();
    assert_eq!((fitted.left_out, fitted.model.threads.len()), (0, 2));
    let mut reader = drawn(&fitted.model.to_string()).unwrap();
    let records: Vec<Record> = reader.by_ref().map(Result::unwrap).collect();
    use RecordedAct::{Close, List, Mkdir, Open, Read, Rename, Rmdir, Stat, Write};
    let counts = [Open, Close, Write, Read, Rename, Mkdir, List, Rmdir, Stat].map(|act| count(&records, act));
    assert_eq!(counts, [400, 400, 600, 400, 200, 200, 200, 200, 200]);
    assert!(records.iter().filter(|record| record.act == Stat).all(|record| record.result == NOT_THERE));
    let one: Vec<&Record> = records.iter().filter(|record| record.task == 0).collect();
    assert_eq!(one.len(), 1600, "the busier one comes first");
    for round in one.chunks(8) {
        let acts: Vec<RecordedAct> = round.iter().map(|record| record.act).collect();
        assert_eq!(acts, [Open, Write, Write, Write, Read, Read, Close, Rename]);
        assert_eq!([round[1].offset, round[2].offset, round[3].offset], [0, 1000, 2000]);
        assert_eq!((round[4].offset, round[4].result, round[5].result), (0, 2048, 952), "the file ends");
        assert!(round.iter().all(|record| record.file == round[0].file));
    }
    let pauses = |task| {
        let of: Vec<u64> = records.iter().filter(|record| record.task == task).map(|record| record.at_ns).collect();
        of.windows(2).filter(|two| two[1] - two[0] > 15_000_000).count()
    };
    assert_eq!([pauses(0), pauses(1)], [19, 19]);
    let length = |records: &[Record]| records.last().unwrap().at_ns;
    assert!(length(&records).abs_diff(579_095_000) < 6_000_000, "{}", length(&records));
}

#[test]
fn a_written_model_draws_the_same_ops() {
    let (fitted, _) = fitted(3);
    let text = fitted.model.to_string();
    let mut read = Model::default();
    text.lines().for_each(|line| read.line(line).unwrap());
    assert_eq!(read, fitted.model);
    let all = |text: &str| drawn(text).unwrap().map(Result::unwrap).collect::<Vec<_>>();
    assert_eq!(all(&text), all(&text));
}

#[test]
fn invalid_models_are_reported_with_their_line() {
    for (text, expected) in [
        ("reach 0\nthread 0\nphase 1\nread 3 next 1 0", "line 5: `read 3 next 1 0`: there is no such file"),
        ("reach 9 9\nread 0 next 1 0", "there is no phase"),
        ("reach 9 9\nthread 0\nphase 1\nread 0 next 1 0 then 5 1", "followed by a state that does not exist"),
        ("reach 9 9\nthread 0\nphase 1\nread 0 next 1 0 size x", "`x` is not a valid value"),
        ("reach 9 9\nthread 0\nphase 1\nread 0 next 1 0 size 1*99999999999", "the list is too long"),
        ("thread 0\nphase 1\nread same next 1 0", "expected `reach`"),
        ("reach 9\nphase 1", "there is no thread"),
        ("reach 9\nthread 0", "one without a phase"),
        ("reach 9\nmmap same next 1 0", "expected seed, reach"),
    ] {
        let message = drawn(&format!("{HEAD}\n{text}\n")).err().unwrap().to_string();
        assert!(message.contains(expected), "{message}");
    }
}

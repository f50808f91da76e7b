//! `--inflate-log`: prints the lines of a compressed log.

use super::{Step, or_complain};
use flate2::bufread::ZlibDecoder;
use plumb_cli::exit::End;
use plumb_cli::output::{self, Early};
use plumb_tools_fio::fio::print::{BadRecord, log_line, read_record};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};

/// Bytes to decompress before printing lines.
const PIECE_BYTES: u64 = 1 << 20;

/// Prints the lines of a log in pieces.
pub(super) fn print<T>(path: &str) -> Step<T> {
    let lines = |text: &str| -> bool { !matches!(output::write(text), Err(Early::Unread)) };
    or_complain(inflate(path, lines).map_err(|error| [format!("--inflate-log={path}: {error}")]))?;
    Err(End::Done.into())
}

/// Error from printing a compressed log.
#[derive(Debug, thiserror::Error)]
enum InflateError {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error(transparent)]
    Record(#[from] BadRecord),
}

/// Decompresses a stored log: one or more concatenated streams, each with whole samples. Stops when `lines` returns
/// `false`, because the reader of the output is gone.
fn inflate(path: &str, mut lines: impl FnMut(&str) -> bool) -> Result<(), InflateError> {
    let mut packed = BufReader::new(File::open(path)?);
    while !packed.fill_buf()?.is_empty() {
        let mut stream = ZlibDecoder::new(&mut packed);
        let mut samples = Vec::new();
        loop {
            let before = samples.len();
            stream.by_ref().take(PIECE_BYTES).read_to_end(&mut samples)?;
            let is_over = samples.len() == before;
            let (mut text, mut at) = (String::new(), 0);
            while at < samples.len() {
                match read_record(&samples[at..]) {
                    Ok((sample, length)) => {
                        text.push_str(&log_line(&sample));
                        at += length;
                    }
                    // The next piece contains the rest of this sample.
                    Err(BadRecord::Cut) if !is_over => break,
                    Err(error) => return Err(error.into()),
                }
            }
            samples.drain(..at);
            if !lines(&text) {
                return Ok(());
            }
            if is_over {
                break;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::ZlibEncoder;
    use plumb_tools_fio::fio::print::{LogDirection, LogPriority, LogSample, LogValue, log_record};
    use std::io::Write;

    // Protects: concatenated streams, as fio stores them, and samples that span pieces.
    #[test]
    fn streams_follow_one_another() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x_bw.log.fz");
        let mut file = File::create(&path).unwrap();
        let sample = |time| LogSample {
            time,
            value: LogValue::One(5),
            direction: LogDirection::Write,
            block_bytes: 4096,
            offset: Some(time * 4096),
            priority: LogPriority::default(),
            issue_ns: None,
        };
        for first in [0, 50_000] {
            let mut out = ZlibEncoder::new(Vec::new(), Compression::fast());
            for time in first..first + 50_000 {
                out.write_all(&log_record(&sample(time))).unwrap();
            }
            file.write_all(&out.finish().unwrap()).unwrap();
        }
        let mut text = String::new();
        inflate(path.to_str().unwrap(), |lines| {
            text.push_str(lines);
            true
        })
        .unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!((lines.len(), lines[99_999]), (100_000, "99999, 5, 1, 4096, 409595904, 0"));
        std::fs::write(&path, b"no log").unwrap();
        assert!(inflate(path.to_str().unwrap(), |_| true).is_err());
    }
}

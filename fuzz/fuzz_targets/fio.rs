//! fio's command lines and job files.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plumb_tools_fio::fio::{Files, Machine, MissingFile, read};
use plumb_fuzz::words_and_file;

/// A file system in which every path has the same text.
struct OneFile<'a>(&'a str);

impl Files for OneFile<'_> {
    fn read(&mut self, _: &str) -> Result<String, MissingFile> {
        Ok(self.0.to_owned())
    }
}

fuzz_target!(|data: &str| {
    let (words, file) = words_and_file(data);
    let _ = read(&words, &Machine::default(), &mut OneFile(file));
    let _ = read(&["job.fio".to_owned()], &Machine::default(), &mut OneFile(data));
});

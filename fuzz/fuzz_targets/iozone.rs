//! IOzone's command lines, its telemetry files, and its printed tables.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plumb_tools::FileError;
use plumb_tools_classic::iozone::{Machine, published, read};
use plumb_fuzz::words_and_file;

struct OneFile<'a>(&'a str);

impl Machine for OneFile<'_> {
    fn file(&mut self, _: &str) -> Result<String, FileError> {
        Ok(self.0.to_owned())
    }
    fn uname(&mut self) -> String {
        "Linux".to_owned()
    }
    fn processors(&mut self) -> u32 {
        2
    }
}

fuzz_target!(|data: &str| {
    let (words, file) = words_and_file(data);
    let _ = read(&words, &mut OneFile(file));
    let _ = published(file.as_bytes());
});

//! iostat's command lines.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plumb_tools_classic::iostat::{DeviceNames, read};
use plumb_fuzz::words_and_file;
use plumb_result::blocks::DeviceNumber;

struct NoDevices;

impl DeviceNames for NoDevices {
    fn resolve(&mut self, word: &str) -> String {
        word.to_owned()
    }
    fn number(&mut self, _: &str) -> Option<DeviceNumber> {
        None
    }
    fn of_registered(&mut self, _: &str) -> Option<String> {
        None
    }
    fn registered(&mut self, _: DeviceNumber) -> Option<String> {
        None
    }
    fn has_type(&mut self, _: &str) -> bool {
        false
    }
    fn of_persistent(&mut self, _: &str, _: &str) -> Option<String> {
        None
    }
    fn is_directory(&mut self, _: &str) -> bool {
        false
    }
    fn persistent(&mut self, _: &str, _: &str) -> Option<String> {
        None
    }
}

fuzz_target!(|data: &str| {
    let _ = read(&words_and_file(data).0, false, &mut NoDevices);
});

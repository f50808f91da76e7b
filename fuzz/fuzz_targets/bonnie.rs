//! Bonnie++'s command lines.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plumb_tools_classic::bonnie::lower::lower;
use plumb_tools_classic::bonnie::random::NumberSource;
use plumb_tools_classic::bonnie::{Machine, BonnieSettings, published, published_lines};
use plumb_fuzz::words_and_file;

fuzz_target!(|data: &str| {
    let (words, file) = words_and_file(data);
    if let Ok(settings) = BonnieSettings::read("bonnie++", &words, &Machine::default()) {
        let is_sound = settings.check().is_ok();
        if is_sound {
            lower(&settings, 1, &mut NumberSource::seeded(1));
        }
    }
    let _ = (published(file), published_lines(file));
});

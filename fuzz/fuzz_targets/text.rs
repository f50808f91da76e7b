//! Text for output: no hidden character remains, and the replacement of names terminates.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plumb_result::Anonymiser;
use plumb_text::visible::{is_hidden, visible_letters};
use plumb_text::{markdown, visible, visible_line};

fuzz_target!(|data: &str| {
    assert!(!visible(data).replace("\r\n", "\n").chars().any(is_hidden));
    assert!(!visible_line(data).chars().any(is_hidden));
    assert!(!visible_letters(data).contains('\n'));
    assert!(!markdown::escaped(data).contains('<'));
    let mut anonymiser = Anonymiser::new();
    let (host, text) = data.split_once('\n').unwrap_or(("db7", data));
    anonymiser.learn_host(host);
    anonymiser.text(text);
});

//! The part of XML that result files use: elements with text, parsed by `quick-xml`. Entities that a file defines are
//! not expanded, nothing external is read, and depth and number of elements are limited.

use crate::error::unread;
use plumb_result::published::Unread;
use quick_xml::Reader;
use quick_xml::errors::{Error, IllFormedError, SyntaxError};
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::{BytesRef, BytesStart, Event};
use std::borrow::Cow;

const DEPTH_MAX: usize = 64;
const ELEMENTS_MAX: usize = 2_000_000;
const HELP: &str = "pass the file as the tool wrote it";

#[derive(Debug, Default)]
pub(crate) struct Element {
    pub(crate) name: String,
    pub(crate) text: String,
    pub(crate) children: Vec<Element>,
}

impl Element {
    /// Returns the children with this name.
    pub(crate) fn all<'e>(&'e self, name: &'e str) -> impl Iterator<Item = &'e Element> {
        self.children.iter().filter(move |child| child.name == name)
    }

    /// Returns the first child with this name.
    pub(crate) fn one(&self, name: &str) -> Option<&Element> {
        self.children.iter().find(|child| child.name == name)
    }

    /// Returns the text of the first child with this name, unless it is empty.
    pub(crate) fn text_of(&self, name: &str) -> Option<&str> {
        self.one(name).map(|child| child.text.trim()).filter(|text| !text.is_empty())
    }
}

/// Returns an element whose child is the root element.
pub(crate) fn parse(text: &str) -> Result<Element, Unread> {
    let mut reader = Reader::from_str(text);
    // Tools write unescaped ampersands.
    reader.config_mut().allow_dangling_amp = true;
    let mut open = vec![Element::default()];
    let mut elements = 0;
    loop {
        let start = reader.buffer_position();
        let event = match reader.read_event() {
            Ok(event) => event,
            Err(error) => return Err(not_xml(place(text, reader.error_position()), &error)),
        };
        let last = open.last_mut().expect("the root stays open");
        match event {
            Event::Start(tag) => {
                elements += 1;
                open.push(named(&tag));
            }
            Event::Empty(tag) => {
                elements += 1;
                last.children.push(named(&tag));
            }
            // The reader refuses an end tag that does not match the innermost open element.
            Event::End(_) => {
                let closed = open.pop().expect("the root stays open");
                open.last_mut().expect("the root stays open").children.push(closed);
            }
            Event::Text(part) => last.text.push_str(&utf8(&part)),
            Event::CData(part) => last.text.push_str(&utf8(&part)),
            Event::GeneralRef(reference) => push_reference(&mut last.text, &reference),
            Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_) => {}
            Event::Eof => break,
        }
        if open.len() > DEPTH_MAX || elements > ELEMENTS_MAX {
            return Err(unread(place(text, start), "too many elements, or too many levels of nesting", HELP));
        }
    }
    if open.len() > 1 {
        return Err(cut(place(text, text.len() as u64)));
    }
    Ok(open.remove(0))
}

fn named(tag: &BytesStart<'_>) -> Element {
    Element { name: utf8(tag.name().as_ref()).into_owned(), ..Element::default() }
}

/// Converts bytes of the input, which is UTF-8, to text.
fn utf8(bytes: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}

/// Adds the character of a numeric reference or of one of XML's five entities. Keeps any other reference as text.
fn push_reference(text: &mut String, reference: &BytesRef<'_>) {
    let name = utf8(reference);
    match (reference.resolve_char_ref(), resolve_predefined_entity(&name)) {
        (Ok(Some(character)), _) => text.push(character),
        (_, Some(known)) => text.push_str(known),
        _ => text.extend(["&", &*name, ";"]),
    }
}

fn place(text: &str, position: u64) -> String {
    let position = usize::try_from(position).unwrap_or(usize::MAX).min(text.len());
    format!("line {}", 1 + text.as_bytes()[..position].iter().filter(|&&byte| byte == b'\n').count())
}

fn not_xml(place: String, error: &Error) -> Unread {
    match error {
        Error::IllFormed(
            IllFormedError::UnmatchedEndTag(name) | IllFormedError::MismatchedEndTag { found: name, .. },
        ) => unread(place, format!("</{name}> closes nothing"), HELP),
        Error::Syntax(SyntaxError::InvalidBangMarkup) => unread(place, "`<!` begins nothing that XML knows", HELP),
        Error::Syntax(_) => cut(place),
        other => unread(place, format!("not XML: {other}"), HELP),
    }
}

fn cut(place: String) -> Unread {
    unread(place, "the XML ends within an element", "the file is cut short; copy it again")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    // Protects: entities become characters, and a file cannot define its own.
    #[test]
    fn elements_have_their_text() {
        let text = "<?xml version=\"1.0\" encoding=\"UTF-16\"?><!DOCTYPE r [<!ENTITY b \"c\">\n<!ENTITY x SYSTEM \"file:///etc/passwd\">]>\
                    <r><a>1 &lt; 2 &amp;b; &b;&x; &#x41;&#66; R&D &#0;</a><b/><a>2<!-- <a> --></a><c><![CDATA[<d>&amp;]]></c></r>";
        let root = parse(text).unwrap();
        let r = root.one("r").unwrap();
        assert_eq!(r.text_of("a"), Some("1 < 2 &b; &b;&x; AB R&D &#0;"));
        assert_eq!((r.all("a").count(), r.children.len()), (2, 4));
        assert_eq!(r.text_of("c"), Some("<d>&amp;"));
    }

    // Protects: a damaged file is refused, and the message names the line.
    #[test]
    fn damaged_files_are_refused_with_their_line() {
        for (text, place, message) in [
            ("<a>\n<b></a></b>", "line 2", "closes nothing"),
            ("<a/>\n\n</a>", "line 3", "closes nothing"),
            ("<a>\n<b>", "line 2", "ends within"),
            ("<a>\n<b", "line 2", "ends within"),
            ("<a>\n<!-- <b></b>", "line 2", "ends within"),
            ("<a><![CDATA[\n]]", "line 1", "ends within"),
            ("<a>\n<!x></a>", "line 2", "begins nothing"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.message.contains(message), "{text}: {error:?}");
            assert_eq!(error.place, place, "{text}");
        }
        assert!(parse(&"<a>\n".repeat(100)).unwrap_err().message.contains("too many levels"));
        // Ten nested entities, each with ten references to the previous one, are never expanded.
        let laughs: String =
            (1..10).map(|n| format!("<!ENTITY l{n} \"{}\">", format!("&l{};", n - 1).repeat(10))).collect();
        let bomb = format!("<!DOCTYPE r [<!ENTITY l0 \"ha\">{laughs}]><r>&l9;</r>");
        assert_eq!(parse(&bomb).unwrap().text_of("r"), Some("&l9;"));
    }

    proptest! {
        // Protects: no input makes the reader panic.
        #[test]
        fn any_text_is_answered(parts in proptest::collection::vec("<|>|/|a|&|;|!|\\[|\\]|-|\\?|\"|'| |\n|é|#x41", 0..60)) {
            let _ = parse(&parts.concat());
        }

        // Protects: a file that is cut anywhere in its root element is never taken for a complete one.
        #[test]
        fn a_cut_file_is_refused(at in 3usize..40) {
            let whole = "<r><a>1 &lt; 2</a><b/><a>2é</a></r>";
            let at = (3..=at.min(whole.len() - 1)).rev().find(|at| whole.is_char_boundary(*at)).unwrap();
            prop_assert!(parse(&whole[..at]).is_err(), "{}", &whole[..at]);
        }
    }
}

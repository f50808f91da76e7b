//! As much of XML as result files have: elements with text. No entities of one's own, no external ones, a limit on depth.

use crate::error::unread;
use plumb_result::published::Unread;

const DEPTH_MAX: usize = 64;
const ELEMENTS_MAX: usize = 2_000_000;

/// An element.
#[derive(Debug, Default)]
pub(crate) struct Element {
    pub(crate) name: String,
    pub(crate) text: String,
    pub(crate) children: Vec<Element>,
}

impl Element {
    /// The children of this name.
    pub(crate) fn all<'e>(&'e self, name: &'e str) -> impl Iterator<Item = &'e Element> {
        self.children.iter().filter(move |child| child.name == name)
    }

    /// The first child of this name.
    pub(crate) fn one(&self, name: &str) -> Option<&Element> {
        self.children.iter().find(|child| child.name == name)
    }

    /// The text of the first child of this name, where it has any.
    pub(crate) fn text_of(&self, name: &str) -> Option<&str> {
        self.one(name).map(|child| child.text.trim()).filter(|text| !text.is_empty())
    }
}

/// Reads the root element.
pub(crate) fn parse(text: &str) -> Result<Element, Unread> {
    let mut open = vec![Element::default()];
    let mut elements = 0;
    let mut rest = text;
    let at = |rest: &str| format!("line {}", 1 + text[..text.len() - rest.len()].matches('\n').count());
    const HELP: &str = "give the file as the tool wrote it";
    while let Some(start) = rest.find('<') {
        let last = open.last_mut().expect("the root stays open");
        last.text.push_str(&plain(&rest[..start]));
        rest = &rest[start..];
        let skip = [("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?", "?>"), ("<!", ">")];
        if let Some((begin, end)) = skip.iter().find(|(begin, _)| rest.starts_with(begin)) {
            let Some(length) = rest.find(end) else { return Err(cut(at(rest))) };
            if *begin == "<![CDATA[" {
                last.text.push_str(rest.get(begin.len()..length).unwrap_or_default());
            }
            rest = &rest[length + end.len()..];
            continue;
        }
        let Some(length) = rest.find('>') else { return Err(cut(at(rest))) };
        let tag = &rest[1..length];
        let place = at(rest);
        rest = &rest[length + 1..];
        if let Some(name) = tag.strip_prefix('/') {
            let closed = open.pop().expect("the root stays open");
            let Some(parent) = open.last_mut().filter(|_| closed.name == name.trim()) else {
                return Err(unread(place, format!("</{}> closes nothing", name.trim()), HELP));
            };
            parent.children.push(closed);
            continue;
        }
        elements += 1;
        let name = tag.trim_end_matches('/').split_whitespace().next().unwrap_or_default().to_owned();
        let element = Element { name, ..Element::default() };
        if tag.ends_with('/') {
            open.last_mut().expect("the root stays open").children.push(element);
        } else {
            open.push(element);
        }
        if open.len() > DEPTH_MAX || elements > ELEMENTS_MAX {
            return Err(unread(place, "too many elements, or too deep in each other", HELP));
        }
    }
    if open.len() > 1 {
        return Err(cut(format!("line {}", 1 + text.matches('\n').count())));
    }
    Ok(open.remove(0))
}

fn cut(place: String) -> Unread {
    unread(place, "the XML ends within an element", "the file is cut short; copy it again")
}

/// Text with the five entities that XML always has, and numbered letters.
fn plain(text: &str) -> String {
    const NAMED: [(&str, char); 5] = [("amp", '&'), ("lt", '<'), ("gt", '>'), ("quot", '"'), ("apos", '\'')];
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let end = rest.find(';').filter(|end| *end < 12);
        let name = end.map(|end| &rest[1..end]);
        let numbered = |name: &str| {
            let digits = name.strip_prefix('#')?;
            let number = match digits.strip_prefix(['x', 'X']) {
                Some(hex) => u32::from_str_radix(hex, 16).ok()?,
                None => digits.parse().ok()?,
            };
            char::from_u32(number)
        };
        let letter = name.and_then(|name| {
            NAMED.iter().find(|(known, _)| *known == name).map(|(_, c)| *c).or_else(|| numbered(name))
        });
        match (letter, end) {
            (Some(letter), Some(end)) => {
                out.push(letter);
                rest = &rest[end + 1..];
            }
            _ => {
                out.push('&');
                rest = &rest[1..];
            }
        }
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    // Protects: entities are letters, and a file cannot define ones of its own.
    #[test]
    fn elements_have_their_text() {
        let text = "<?xml version=\"1.0\"?><!DOCTYPE a [<!ENTITY b \"c\">\n]><r><a>1 &lt; 2 &amp;b; &#x41;</a><b/><a>2</a></r>";
        let text = text.replace("[<!ENTITY b \"c\">\n]", "");
        let root = parse(&text).unwrap();
        let r = root.one("r").unwrap();
        assert_eq!(r.text_of("a"), Some("1 < 2 &b; A"));
        assert_eq!((r.all("a").count(), r.children.len()), (2, 3));
        assert!(parse("<a><b></a></b>").unwrap_err().message.contains("closes nothing"));
        assert!(parse("<a><b>").unwrap_err().message.contains("ends within"));
        assert!(parse(&"<a>".repeat(100)).unwrap_err().message.contains("too deep"));
    }
}

//! Tests that TOML and JSON are read alike, including the errors.

use crate::{Misfit, ReadError, Segment, Unnamed, Value, json, read, toml, write};
use proptest::prelude::*;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeMap;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Form {
    name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rate: Option<f64>,
    #[serde(default)]
    by_number: BTreeMap<u32, u64>,
    #[serde(default)]
    steps: Vec<Step>,
    #[serde(default)]
    size: Size,
    #[serde(default)]
    words: Vec<Word>,
}

/// A type whose form is a text, with an error of its own.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct Word(String);

impl<'de> Deserialize<'de> for Word {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Word, D::Error> {
        match String::deserialize(deserializer)? {
            text if text.contains(' ') => Err(D::Error::custom(format_args!("`{text}` is more than a word"))),
            text => Ok(Word(text)),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self", rename_all = "kebab-case")]
enum Step {
    Mount(Mount),
    Fill { share: f64 },
    Sync,
}

crate::tagged!(Step, "kind");

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Mount {
    at: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self", rename_all = "kebab-case", deny_unknown_fields)]
enum Size {
    Fixed(u64),
    Between { least: u64, most: u64 },
    Whole {},
    Nothing,
}

crate::short_form!(Size, "fixed");

/// An enum with one choice that needs no name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self", rename_all = "kebab-case")]
enum Way {
    Plain(Plain),
    Other(Mount),
}

impl<'de> Deserialize<'de> for Way {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Way, D::Error> {
        Way::deserialize(Unnamed::table(deserializer, "plain"))
    }
}

impl Serialize for Way {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Way::Plain(plain) => plain.serialize(serializer),
            _ => Way::serialize(self, serializer),
        }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
struct Plain {
    length: u32,
    width: u32,
}

/// An enum with a choice that may be empty.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Memory {
    Shared(Option<String>),
    Named(String),
}

impl Default for Size {
    fn default() -> Size {
        Size::Fixed(1)
    }
}

fn form(text: &str) -> Form {
    toml::from_str(text).unwrap()
}

fn misfit(text: &str) -> (ReadError, String) {
    let table = toml::parse(text).unwrap();
    let node = crate::Node::new(table.span(), Value::Table(table.into_inner()));
    let error = read::<Form>(&node).unwrap_err();
    let place = error.span().map_or_else(String::new, |span| text[span].to_owned());
    (error, place)
}

#[test]
fn a_table_is_chosen_by_one_of_its_keys() {
    let text = "name = 'a'\nsteps = [{ kind = 'mount', at = '/m' }, { share = 0.5, kind = 'fill' }, { kind = 'sync' }]";
    let steps = vec![Step::Mount(Mount { at: "/m".to_owned() }), Step::Fill { share: 0.5 }, Step::Sync];
    assert_eq!(form(text).steps, steps);
    let written = json::to_string(&steps).unwrap();
    assert_eq!(written, r#"[{"kind":"mount","at":"/m"},{"kind":"fill","share":0.5},{"kind":"sync"}]"#);
    assert_eq!(json::from_str::<Vec<Step>>(&written).unwrap(), steps);
}

#[test]
fn a_choice_has_short_forms() {
    let size = |text: &str| form(&format!("name = 'a'\nsize = {text}")).size;
    assert_eq!(size("4"), Size::Fixed(4));
    assert_eq!(size("{ fixed = 4 }"), Size::Fixed(4));
    assert_eq!(size("'whole'"), Size::Whole {});
    assert_eq!(size("{ whole = {} }"), Size::Whole {});
    assert_eq!(size("'nothing'"), Size::Nothing);
    assert_eq!(size("{ between = { least = 1, most = 2 } }"), Size::Between { least: 1, most: 2 });
}

#[test]
fn an_empty_choice_is_written_as_its_word() {
    let shared = |name: Option<&str>| Memory::Shared(name.map(str::to_owned));
    for (memory, text) in [(shared(None), r#""shared""#), (shared(Some("a")), r#"{"shared":"a"}"#)] {
        assert_eq!(json::to_string(&memory).unwrap(), text);
        assert_eq!(json::from_str::<Memory>(text).unwrap(), memory);
    }
    assert_eq!(json::from_str::<Memory>(r#"{"shared": null}"#).unwrap(), shared(None));
    let error = json::from_str::<Memory>(r#""named""#).unwrap_err();
    assert!(error.to_string().contains("`named` alone is not enough"), "{error}");
}

#[test]
fn a_table_without_a_choices_name_is_the_unnamed_choice() {
    let plain = |length, width| Way::Plain(Plain { length, width });
    let other = Way::Other(Mount { at: "/m".to_owned() });
    for (text, way) in [
        (r#"{"length":4,"width":0}"#, plain(4, 0)),
        (r#"{"length":1,"width":2}"#, plain(1, 2)),
        (r#"{"other":{"at":"/m"}}"#, other.clone()),
    ] {
        assert_eq!(json::to_string(&way).unwrap(), text);
        assert_eq!(json::from_str::<Way>(text).unwrap(), way);
    }
    for (text, way) in
        [("{}", plain(0, 0)), (r#"{"length":4}"#, plain(4, 0)), (r#"{"plain":{"width":3}}"#, plain(0, 3))]
    {
        assert_eq!(json::from_str::<Way>(text).unwrap(), way);
    }
    for (text, message) in [
        (r#"{"lenght":4}"#, "unknown key `lenght`"),
        (r#"{"length":"a"}"#, "length: expected a whole number from 0 to 4294967295"),
        (r#"{"other":{"att":1}}"#, "other: unknown key `att`"),
        (r#"{"other":{"at":"/m"},"length":4}"#, "`length` is a second one"),
        ("4", "expected one of `plain`, `other`"),
    ] {
        let error = json::from_str::<Way>(text).unwrap_err().to_string();
        assert!(error.contains(message), "{text}: {error}");
    }
}

/// An enum with one choice whose keys have defaults, and one whose keys do not.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
enum Pace {
    Even {
        #[serde(default)]
        rate: u32,
    },
    Bursts {
        length: u32,
    },
    Plain(Plain),
    Count(u32),
}

#[test]
fn a_word_is_a_choice_with_the_defaults_of_its_keys() {
    let read = |text: &str| json::from_str::<Pace>(text).map_err(|error| error.to_string());
    assert_eq!(read(r#""even""#).unwrap(), Pace::Even { rate: 0 });
    assert_eq!(read(r#""plain""#).unwrap(), Pace::Plain(Plain::default()));
    assert_eq!(read(r#""bursts""#).unwrap_err(), "bursts: `length` is missing");
    assert_eq!(read(r#""count""#).unwrap_err(), "`count` alone is not enough: write `{ count = … }`");
}

/// A type whose parts serde buffers before reading them.
#[derive(Debug, PartialEq, Deserialize)]
struct Buffered {
    #[serde(flatten)]
    plain: Wide,
    #[serde(default)]
    one_or_more: Option<OneOrMore>,
}

#[derive(Debug, PartialEq, Deserialize)]
struct Wide {
    width: u32,
    share: f64,
    name: String,
    list: Vec<bool>,
    pair: (u8, u8),
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(untagged, expecting = "expected one number or several")]
enum OneOrMore {
    One(u32),
    More(Vec<u32>),
}

// Protects users from the names of Rust types in errors.
#[test]
fn serdes_own_errors_mention_no_rust_types() {
    const WHOLE: &str = r#"{"width": 1, "share": 2, "name": "a", "list": [true], "pair": [1, 2], "one_or_more": [3]}"#;
    let read = |text: &str| json::from_str::<Buffered>(text).map_err(|error| error.to_string());
    assert_eq!(read(WHOLE).unwrap().one_or_more, Some(OneOrMore::More(vec![3])));
    for (from, to, message) in [
        ("\"width\": 1", "\"width\": \"a\"", "expected a whole number from 0 to 4294967295, found the text \"a\""),
        ("\"width\": 1", "\"width\": -1", "expected a whole number from 0 to 4294967295, found the number -1"),
        ("\"share\": 2", "\"share\": {}", "expected a number, found a table `{ key = … }`"),
        ("\"a\"", "true", "expected text in quotes, found true"),
        ("[true]", "5", "expected a list `[ … ]`, found the number 5"),
        ("[true]", "[null]", "expected `true` or `false`, found nothing"),
        ("[1, 2]", "[1]", "a list of 1, expected 2"),
        ("[3]", "\"much\"", "one_or_more: expected one number or several"),
        ("\"width\": 1", "\"height\": 1", "`width` is missing"),
    ] {
        let text = WHOLE.replacen(from, to, 1);
        assert_eq!(read(&text).unwrap_err(), message, "{text}");
    }
}

#[test]
fn errors_have_the_position_of_their_cause() {
    for (text, place, message) in [
        ("name = 'a'\nnaem = 1", "naem", "unknown key `naem`"),
        ("rate = 1", "", "`name` is missing"),
        ("name = 5", "5", "name: expected text in quotes, found the number 5"),
        ("name = 'a'\nsteps = [{ kind = 'mount', att = 1 }]", "att", "steps[0]: unknown key `att`"),
        ("name = 'a'\nsteps = [{ kind = 'mont' }]", "'mont'", "steps[0].kind: `mont` is not one of `mount`"),
        ("name = 'a'\nsteps = [{ at = 'x' }]", "{ at = 'x' }", "steps[0]: `kind` is missing"),
        ("name = 'a'\nsize = { between = { least = 1 } }", "{ least = 1 }", "size.between: `most` is missing"),
        ("name = 'a'\nsize = { whole = {}, fixed = 1 }", "{ whole = {}, fixed = 1 }", "`fixed` is a second one"),
        ("name = 'a'\nsize = { nothing = { x = 1 } }", "x", "unknown key `x`; there are none"),
        ("name = 'a'\nsize = -1", "-1", "expected a size, or one of `fixed`, `between`"),
        ("name = 'a'\nsize = {}", "{}", "this table is empty"),
        (
            "name = 'a'\nby-number = { one = 1 }",
            "one",
            "by-number: expected a whole number from 0 to 4294967295, found the text \"one\"",
        ),
        ("name = 'a'\nwords = ['b', 'c d']", "'c d'", "words[1]: `c d` is more than a word"),
        ("name = 1979-05-27", "1979-05-27", "found a date"),
    ] {
        let (error, found) = misfit(text);
        assert!(error.to_string().contains(message), "{text}: {error}");
        assert_eq!(found.trim(), place, "{text}: {error}");
    }
}

#[test]
fn json_errors_have_the_path_of_their_value() {
    let error = json::from_str::<Form>(r#"{"name": "a", "steps": [{"kind": "fill", "share": "much"}]}"#).unwrap_err();
    let json::JsonError::Shape(error) = error else { panic!("{error}") };
    let path: Vec<Segment> = error.path().cloned().collect();
    let key = |key: &str| Segment::Key(key.to_owned());
    assert_eq!(path, [key("steps"), Segment::Index(0), key("share")]);
    assert!(matches!(error.misfit(), Misfit::Unexpected { .. }), "{error}");
    assert!(json::from_str::<Form>(r#"{"name": "#).unwrap_err().is_cut_off());
}

#[test]
fn numbers_keep_their_exact_text() {
    for (toml_text, json_text) in
        [("0.1", "0.1"), ("1e21", "1e+21"), ("-0.0", "-0.0"), ("5e-324", "5e-324"), ("3", "3")]
    {
        let node = toml::parse_value(toml_text).unwrap();
        assert_eq!(json::compact(&node), json_text);
        assert_eq!(json::parse(json_text.as_bytes()).unwrap(), node);
    }
    assert_eq!(json::from_str::<u64>("18446744073709551615").unwrap(), u64::MAX);
    assert_eq!(json::compact(&write(&f64::NAN).unwrap()), "null");
    assert!(
        toml::parse_value("1e999").is_err() && toml::parse_value("999999999999999999999999999999999999999999").is_err()
    );
}

/// Protects against panics: every hostile text gives an error or a value.
#[test]
fn hostile_texts_do_not_panic() {
    let deep = |open: &str, close: &str| open.repeat(100_000) + &close.repeat(100_000);
    for text in
        [deep("[", "]"), deep("{\"a\":", "}"), "\u{0}".to_owned(), "{\"a\":1,\"a\":2}".to_owned(), String::new()]
    {
        let _ = json::from_str::<Form>(&text);
        let _ = toml::parse(&text);
        let _ = toml::parse_value(&text);
    }
    assert!(json::from_slice::<Form>(b"{\"name\": \"\xff\"}").is_err());
    let twice = json::from_str::<Form>(r#"{"name": "a", "name": "b"}"#).unwrap_err();
    assert!(twice.to_string().contains("`name` is set twice"), "{twice}");
}

fn forms() -> impl Strategy<Value = Form> {
    let step = prop_oneof![
        ".*".prop_map(|at| Step::Mount(Mount { at })),
        (-1e300..1e300).prop_map(|share| Step::Fill { share }),
        Just(Step::Sync),
    ];
    let whole = 0..i64::MAX as u64;
    let size = prop_oneof![
        whole.clone().prop_map(Size::Fixed),
        (whole.clone(), whole.clone()).prop_map(|(least, most)| Size::Between { least, most }),
        Just(Size::Whole {}),
        Just(Size::Nothing),
    ];
    let map = proptest::collection::btree_map(any::<u32>(), whole, 0..4);
    (".*", proptest::option::of(any::<f64>().prop_filter("JSON has no others", |rate| rate.is_finite())), map)
        .prop_flat_map(move |(name, rate, by_number)| {
            let form = Form { name, rate, by_number, steps: Vec::new(), size: Size::default(), words: Vec::new() };
            (Just(form), proptest::collection::vec(step.clone(), 0..4), size.clone())
        })
        .prop_map(|(form, steps, size)| Form { steps, size, ..form })
}

proptest! {
    #[test]
    fn written_documents_parse_back_in_both_languages(form in forms()) {
        let compact = json::to_string(&form).unwrap();
        prop_assert_eq!(&json::from_str::<Form>(&compact).unwrap(), &form);
        prop_assert_eq!(&json::from_str::<Form>(&json::to_string_pretty(&form).unwrap()).unwrap(), &form);
        prop_assert_eq!(&json::from_value::<Form>(json::to_value(&form).unwrap()).unwrap(), &form);
        let inline = toml::inline(write(&form).unwrap().get_ref());
        let node = toml::parse_value(&inline).unwrap();
        prop_assert_eq!(&read::<Form>(&node).unwrap(), &form, "{}", inline);
    }

    #[test]
    fn no_text_panics(text in ".*") {
        let _ = json::from_str::<Form>(&text);
        let _ = toml::from_str::<Form>(&text);
        let _ = toml::parse_value(&text);
    }
}

#[derive(Serialize)]
struct Written {
    #[serde(skip_serializing_if = "Option::is_none")]
    absent: Option<u8>,
    empty: Option<u8>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    none: Vec<u8>,
    #[serde(flatten)]
    flattened: BTreeMap<String, u8>,
    #[serde(serialize_with = "as_hex")]
    hex: u8,
    #[serde(rename = "other")]
    named: (u8, bool),
    #[serde(skip)]
    never: u8,
}

// `serialize_with` passes a reference.
#[allow(clippy::trivially_copy_pass_by_ref)]
fn as_hex<S: Serializer>(number: &u8, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&format_args!("{number:#x}"))
}

#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
enum Named {
    FirstWord,
    Holds(u8),
    Nothing(Option<u8>),
    Fields { a: u8 },
}

// Protects stored results and their readers: skipped fields, flattened fields, and the form of each kind of choice.
#[test]
fn types_are_written_by_their_attributes() {
    let written = Written {
        absent: None,
        empty: None,
        none: Vec::new(),
        flattened: BTreeMap::from([("b".to_owned(), 2), ("a".to_owned(), 1)]),
        hex: 255,
        named: (3, true),
        never: 9,
    };
    assert_eq!(json::to_string(&written).unwrap(), r#"{"empty":null,"a":1,"b":2,"hex":"0xff","other":[3,true]}"#);
    assert_eq!(written.never, 9);
    let written = Written { absent: Some(0), none: vec![7], flattened: BTreeMap::new(), ..written };
    assert_eq!(
        json::to_string(&written).unwrap(),
        r#"{"absent":0,"empty":null,"none":[7],"hex":"0xff","other":[3,true]}"#
    );
    let named = [Named::FirstWord, Named::Holds(1), Named::Nothing(None), Named::Fields { a: 2 }];
    assert_eq!(json::to_string(&named).unwrap(), r#"["first-word",{"holds":1},"nothing",{"fields":{"a":2}}]"#);
    let path = std::path::PathBuf::from(<std::ffi::OsString as std::os::unix::ffi::OsStringExt>::from_vec(vec![0xff]));
    assert!(json::to_string(&path).unwrap_err().to_string().contains("UTF-8"));
}

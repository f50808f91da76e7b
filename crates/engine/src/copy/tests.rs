//! Conversions in pieces, and dropped pages. The command line tests compare whole copies with real dd.

use super::converter::{Converter, Sink};
use plumb_workload::Bytes;
use plumb_workload::copy::{Characters, Conversion, Letters, LineRules};
use proptest::prelude::*;

#[derive(Default)]
struct Collected(Vec<u8>);

impl Sink for Collected {
    type Full = std::convert::Infallible;

    fn take(&mut self, bytes: &[u8]) -> Result<(), Self::Full> {
        assert!(!bytes.is_empty(), "the sink never gets an empty piece");
        self.0.extend_from_slice(bytes);
        Ok(())
    }
}

/// Converts a text in pieces of length `piece`.
fn converted(conversion: &Conversion, text: &[u8], piece: usize) -> (Vec<u8>, u64) {
    let mut converter = Converter::new(conversion);
    let mut collected = Collected::default();
    for piece in text.chunks(piece.max(1)) {
        let Ok(()) = converter.push(&mut piece.to_vec(), &mut collected);
    }
    let Ok(()) = converter.finish(&mut collected);
    (collected.0, converter.cut_lines)
}

/// Implements the rules of POSIX naively, as a reference.
fn slowly_to_records(text: &[u8], record: usize) -> Vec<u8> {
    let mut out = Vec::new();
    let lines: Vec<&[u8]> = text.split(|&byte| byte == b'\n').collect();
    for (number, line) in lines.iter().enumerate() {
        // A text that ends with a newline has no empty last line.
        if number + 1 == lines.len() && line.is_empty() {
            break;
        }
        let mut line = line.to_vec();
        line.resize(record, b' ');
        out.extend(line);
    }
    out
}

fn conversions() -> impl Strategy<Value = Conversion> {
    let characters = prop_oneof![
        Just(None),
        Just(Some(Characters::Ascii)),
        Just(Some(Characters::Ebcdic)),
        Just(Some(Characters::Ibm))
    ];
    let letters = prop_oneof![Just(None), Just(Some(Letters::Lower)), Just(Some(Letters::Upper))];
    let lines = prop_oneof![
        Just(None),
        (1u64..20).prop_map(|record| Some(LineRules::ToRecords(Bytes(record)))),
        (1u64..20).prop_map(|record| Some(LineRules::FromRecords(Bytes(record))))
    ];
    (characters, letters, any::<bool>(), lines).prop_map(|(characters, letters, swap_pairs, lines)| Conversion {
        characters,
        letters,
        swap_pairs,
        lines,
    })
}

proptest! {
    /// Protects conversions: the boundaries of reads do not change the result.
    #[test]
    fn pieces_make_no_difference(conversion in conversions(), text in "[a-zA-Z \n]{0,200}", piece in 1usize..50) {
        let whole = converted(&conversion, text.as_bytes(), usize::MAX);
        prop_assert_eq!(converted(&conversion, text.as_bytes(), piece), whole);
    }

    #[test]
    fn lines_become_records_of_one_length(text in "[a-z \n]{0,200}", record in 1u64..30) {
        let conversion = Conversion { lines: Some(LineRules::ToRecords(Bytes(record))), ..Conversion::default() };
        let (records, cut) = converted(&conversion, text.as_bytes(), 7);
        prop_assert_eq!(&records, &slowly_to_records(text.as_bytes(), record as usize));
        prop_assert_eq!(cut, text.split('\n').filter(|line| line.len() as u64 > record).count() as u64);
    }

    /// Protects swaps of an odd length in pieces: swapping twice restores all bytes.
    #[test]
    fn swapping_twice_restores_the_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..100), piece in 1usize..9) {
        let conversion = Conversion { swap_pairs: true, ..Conversion::default() };
        let once = converted(&conversion, &bytes, piece).0;
        prop_assert_eq!(converted(&conversion, &once, piece).0, bytes);
    }
}

/// Protects the tables: a conversion to EBCDIC and back restores all bytes.
#[test]
fn character_tables_are_inverse_to_each_other() {
    let all: Vec<u8> = (0..=u8::MAX).collect();
    let of = |characters| Conversion { characters: Some(characters), ..Conversion::default() };
    let ebcdic = converted(&of(Characters::Ebcdic), &all, 10).0;
    assert_eq!(converted(&of(Characters::Ascii), &ebcdic, 10).0, all);
    assert_eq!(converted(&of(Characters::Ebcdic), b"a 1\n", 10).0, [0x81, 0x40, 0xf1, 0x25]);
}

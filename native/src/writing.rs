//! The texts of files: a vocabulary and merges spelled in GPT-2's byte alphabet, and rank files
//! (twins: `formats/huggingface/write.py`, `formats/gpt2/write.py`, `formats/tiktoken/ranks.py`).
#![forbid(unsafe_code)]

use crate::canonical::SYMBOL;
use crate::table::Table;

/// How a byte is spelled.
#[derive(Clone, Copy, PartialEq)]
pub enum Way {
    /// As itself.
    Plain,
    /// Inside a string of JSON.
    Json,
    /// The same, with only ASCII.
    JsonAscii,
}

/// The spelling of each byte.
struct Letters {
    spelled: [[u8; 6]; 256],
    sizes: [u8; 256],
}

impl Letters {
    fn new(way: Way) -> Self {
        let mut letters = Letters {
            spelled: [[0; 6]; 256],
            sizes: [0; 256],
        };
        let mut others = 0;
        for byte in 0..=255u8 {
            let printable = matches!(byte, 0x21..=0x7E | 0xA1..=0xAC | 0xAE..);
            let code = if printable {
                u32::from(byte)
            } else {
                0x100 + others
            };
            others += u32::from(!printable);
            let mut spelled = Vec::with_capacity(6);
            if way != Way::Plain && matches!(byte, b'"' | b'\\') {
                spelled.push(b'\\');
            }
            if way == Way::JsonAscii && code > 0x7F {
                spelled.extend_from_slice(format!("\\u{code:04x}").as_bytes());
            } else if let Some(letter) = char::from_u32(code) {
                spelled.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
            }
            let place = usize::from(byte);
            letters.sizes[place] = spelled.len() as u8;
            letters.spelled[place][..spelled.len()].copy_from_slice(&spelled);
        }
        letters
    }

    #[inline(always)]
    fn spell(&self, content: &[u8], text: &mut Vec<u8>) {
        for &byte in content {
            let place = usize::from(byte);
            let size = usize::from(self.sizes[place]);
            text.extend_from_slice(&self.spelled[place][..size]);
        }
    }
}

/// Entries of a vocabulary that are spelled otherwise: what stands for each, and its number.
pub struct Others<'a> {
    pub bytes: &'a [u8],
    pub sizes: &'a [u32],
    pub numbers: &'a [u32],
}

/// The entries of a JSON object: each token and its number, least numbers first.
///
/// The tokens at the places `skipped` are left out; `others` are sorted in, after a token of the
/// same number.
pub fn vocabulary(
    table: &Table,
    skipped: &[u32],
    others: &Others,
    way: Way,
    between: &[u8],
) -> Option<Vec<u8>> {
    let mut order: Vec<u32> = (0..table.numbers.len() as u32).collect();
    if !skipped.is_empty() {
        let mut kept = vec![true; order.len()];
        for &at in skipped {
            *kept.get_mut(at as usize)? = false;
        }
        order.retain(|&at| kept[at as usize]);
    }
    let number = |at: u32| table.numbers[at as usize];
    if !order.windows(2).all(|two| number(two[0]) < number(two[1])) {
        order.sort_by_key(|&at| number(at));
    }
    let letters = Letters::new(way);
    let mut text = Vec::with_capacity(table.tokens.bytes().len() * 2 + order.len() * 20);
    let mut rest = others.bytes;
    let mut waiting = others.sizes.iter().zip(others.numbers).peekable();
    if others.sizes.len() != others.numbers.len() {
        return None;
    }
    let mut places = order.into_iter().peekable();
    loop {
        let place = places.peek().copied();
        let other = waiting.peek().map(|&(_, &own)| own);
        let own = match (place, other) {
            (None, None) => return Some(text),
            (Some(at), Some(own)) if own < number(at) => own,
            (None, Some(own)) => own,
            (Some(at), _) => {
                places.next();
                open(&mut text, between);
                text.push(b'"');
                letters.spell(table.tokens.get(at as usize), &mut text);
                text.extend_from_slice(b"\": ");
                decimal(number(at), &mut text);
                continue;
            }
        };
        let (&size, _) = waiting.next()?;
        if size as usize > rest.len() {
            return None;
        }
        let (spelled, after) = rest.split_at(size as usize);
        rest = after;
        open(&mut text, between);
        text.extend_from_slice(spelled);
        text.extend_from_slice(b": ");
        decimal(own, &mut text);
    }
}

fn open(text: &mut Vec<u8>, between: &[u8]) {
    if !text.is_empty() {
        text.extend_from_slice(between);
    }
}

/// How pairs are listed: as strings of JSON with something in between, or one to a line.
pub enum Listing<'a> {
    Strings(&'a [u8]),
    Lines,
}

/// Pairs by places in a table, with a space between both parts. None: a part is no token, or
/// readers take a pair for a comment.
pub fn pairs(table: &Table, left: &[u32], right: &[u32], listing: &Listing) -> Option<Vec<u8>> {
    let letters = Letters::new(match listing {
        Listing::Strings(_) => Way::Json,
        Listing::Lines => Way::Plain,
    });
    let mut text = Vec::with_capacity(left.len() * 24);
    for (&left, &right) in left.iter().zip(right) {
        if left & SYMBOL != 0 || right & SYMBOL != 0 {
            return None;
        }
        let content = table.tokens.get(left as usize);
        if content.starts_with(b"#version") {
            return None;
        }
        if let Listing::Strings(between) = listing {
            open(&mut text, between);
            text.push(b'"');
        }
        letters.spell(content, &mut text);
        text.push(b' ');
        letters.spell(table.tokens.get(right as usize), &mut text);
        text.push(match listing {
            Listing::Strings(_) => b'"',
            Listing::Lines => b'\n',
        });
    }
    Some(text)
}

/// The lines of a rank file, in the order of the table.
pub fn ranks(table: &Table) -> Vec<u8> {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = Vec::with_capacity(table.tokens.bytes().len() * 2 + table.numbers.len() * 10);
    for (at, &number) in table.numbers.iter().enumerate() {
        for three in table.tokens.get(at).chunks(3) {
            let mut bits = [0; 4];
            bits[1..=three.len()].copy_from_slice(three);
            let bits = u32::from_be_bytes(bits);
            let mut four = [18, 12, 6, 0].map(|by: u32| ALPHABET[(bits >> by & 63) as usize]);
            four[three.len() + 1..].fill(b'=');
            text.extend_from_slice(&four);
        }
        text.push(b' ');
        decimal(number, &mut text);
        text.push(b'\n');
    }
    text
}

fn decimal(mut number: u32, text: &mut Vec<u8>) {
    let mut digits = [0; 10];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    text.extend_from_slice(&digits[at..]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{json, ranks as rank_file, tokens::Tokens};

    fn table(entries: &[(&[u8], u32)]) -> Table {
        let mut tokens = Tokens::with_room(0, 0);
        for (token, _) in entries {
            tokens.push(token).unwrap();
        }
        Table::new(tokens, entries.iter().map(|&(_, number)| number).collect()).unwrap()
    }

    const NONE_ELSE: Others = Others {
        bytes: &[],
        sizes: &[],
        numbers: &[],
    };

    #[test]
    fn every_byte_is_read_as_it_was_written() {
        let bytes: Vec<u8> = (0..=255).collect();
        let entries: Vec<(&[u8], u32)> = bytes
            .chunks(1)
            .map(|byte| (byte, 300 - u32::from(byte[0])))
            .collect();
        let all = table(&entries);
        for way in [Way::Json, Way::JsonAscii] {
            let vocab = vocabulary(&all, &[], &NONE_ELSE, way, b", ").unwrap();
            assert!(way == Way::Json || vocab.is_ascii());
            let mut document = b"{\"model\":{\"vocab\":{".to_vec();
            document.extend_from_slice(&vocab);
            document.extend_from_slice(b"},\"merges\":[]}}");
            let taken = json::read(&document, crate::canonical::Alphabet::Bytes).unwrap();
            assert!(taken.literal.is_empty());
            assert_eq!(taken.table.tokens.get(0), b"\xff");
            assert!(crate::comparing::apart(&taken.table, &all)
                .places
                .is_empty());
        }
        assert!(rank_file::read(&ranks(&all)).is_some());
    }

    #[test]
    fn others_are_sorted_in() {
        let some = table(&[(b"b", 4), (b"a\"", 1), (b"c", 9)]);
        let others = Others {
            bytes: b"\"<s>\"\"<t>\"",
            sizes: &[5, 5],
            numbers: &[0, 4],
        };
        let found = vocabulary(&some, &[2], &others, Way::Json, b",\n").unwrap();
        assert_eq!(
            String::from_utf8(found).unwrap(),
            "\"<s>\": 0,\n\"a\\\"\": 1,\n\"b\": 4,\n\"<t>\": 4"
        );
        assert!(vocabulary(&some, &[3], &others, Way::Json, b"").is_none());
    }

    #[test]
    fn pairs_and_ranks_are_written() {
        let some = table(&[(b"a", 0), (b" \"", 10), (b"#version", 4294967295)]);
        let strings = Listing::Strings(b", ");
        let found = pairs(&some, &[0, 1], &[1, 0], &strings).unwrap();
        assert_eq!(found, "\"a Ġ\\\"\", \"Ġ\\\" a\"".as_bytes());
        let found = pairs(&some, &[0], &[1], &Listing::Lines).unwrap();
        assert_eq!(found, "a Ġ\"\n".as_bytes());
        assert!(pairs(&some, &[2], &[1], &Listing::Lines).is_none());
        assert!(pairs(&some, &[0], &[SYMBOL | 65], &strings).is_none());
        assert_eq!(ranks(&some), b"YQ== 0\nICI= 10\nI3ZlcnNpb24= 4294967295\n");
    }
}

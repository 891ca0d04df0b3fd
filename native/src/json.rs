//! The vocabulary and the merges of a `tokenizer.json` (twins: `formats/huggingface/vocab.py` and
//! `strict_json.py`), and those of GPT-2's pair of files (twin: `formats/gpt2/read.py`).
//!
//! Of the rest of a document only the shape is followed, to find the two: Python reads the
//! document without them, strictly. If that is JSON, the shape was followed rightly.
#![forbid(unsafe_code)]

use crate::canonical::Alphabet;
use crate::merges::Merges;
use crate::table::Table;
use crate::tokens::{Tokens, MOST};

/// What stands for no byte in the byte alphabet.
const NO_BYTE: u16 = u16::MAX;

/// GPT-2's byte alphabet: the byte of each character below U+0144.
const BYTES: [u16; 0x144] = {
    let mut bytes = [NO_BYTE; 0x144];
    let (mut byte, mut others) = (0usize, 0usize);
    while byte < 256 {
        let printable = (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte != 0xAD);
        if printable {
            bytes[byte] = byte as u16;
        } else {
            bytes[0x100 + others] = byte as u16;
            others += 1;
        }
        byte += 1;
    }
    bytes
};

/// What was taken out of a document.
pub struct Taken {
    pub table: Table,
    pub merges: Merges,
    /// Places of the tokens whose spelling is not in the byte alphabet.
    pub literal: Vec<u32>,
    /// Where the vocabulary and the merges begin and end in the document.
    pub cuts: [u64; 4],
}

/// None: something in the vocabulary or the merges is irregular.
pub fn read(document: &[u8], alphabet: Alphabet) -> Option<Taken> {
    if document.len() > MOST || std::str::from_utf8(document).is_err() {
        return None;
    }
    let mut scan = Scan::new(document);
    let mut vocabulary = None;
    let mut listed = None;
    scan.object(&mut |scan| {
        if scan.spelling != b"model" {
            return scan.skip();
        }
        scan.object(&mut |scan| {
            let is_vocabulary = scan.spelling == b"vocab";
            let is_merges = scan.spelling == b"merges";
            scan.peek()?;
            let start = scan.at as u64;
            match &vocabulary {
                None if is_vocabulary => {
                    let (table, literal) = read_vocabulary(scan, alphabet)?;
                    vocabulary = Some((table, literal, start, scan.at as u64));
                    Some(())
                }
                Some((table, _, _, _)) if is_merges && listed.is_none() => {
                    let merges = read_merges(scan, table, alphabet)?;
                    listed = Some((merges, start, scan.at as u64));
                    Some(())
                }
                _ => scan.skip(),
            }
        })
    })?;
    let (table, literal, vocabulary_start, vocabulary_end) = vocabulary?;
    let (merges, merges_start, merges_end) = listed?;
    let cuts = [vocabulary_start, vocabulary_end, merges_start, merges_end];
    taken(table, merges, literal, cuts)
}

/// What was read; None where a merge names a token that is literal.
fn taken(table: Table, merges: Merges, literal: Vec<u32>, cuts: [u64; 4]) -> Option<Taken> {
    if !literal.is_empty() && uses(&merges, &literal, table.tokens.len()) {
        return None;
    }
    Some(Taken {
        table,
        merges,
        literal,
        cuts,
    })
}

/// The two files of a pair: a JSON object with the vocabulary, and a merge to a line. Nothing is
/// cut out of a document. None: something is irregular.
pub fn read_pair(vocabulary: &[u8], lines: &[u8]) -> Option<Taken> {
    if vocabulary.len() > MOST || lines.len() > MOST {
        return None;
    }
    std::str::from_utf8(vocabulary).ok()?;
    std::str::from_utf8(lines).ok()?;
    let mut scan = Scan::new(vocabulary);
    let (table, literal) = read_vocabulary(&mut scan, Alphabet::Bytes)?;
    if lines.is_empty() || scan.peek().is_some() {
        return None;
    }
    let mut waiting = Waiting::new(&table, Alphabet::Bytes);
    let mut rest = lines;
    while !rest.is_empty() {
        let line = match rest.iter().position(|&byte| byte == b'\n') {
            Some(size) => {
                let line = &rest[..size];
                rest = &rest[size + 1..];
                line.strip_suffix(b"\r").unwrap_or(line)
            }
            None => std::mem::take(&mut rest),
        };
        if !line.starts_with(b"#version") {
            waiting.string(line)?;
        }
    }
    let merges = waiting.done()?;
    taken(table, merges, literal, [0; 4])
}

/// Whether a merge names one of these places.
fn uses(merges: &Merges, places: &[u32], count: usize) -> bool {
    let used = merges.used(count);
    places.iter().any(|&at| used[at as usize])
}

fn read_vocabulary(scan: &mut Scan, alphabet: Alphabet) -> Option<(Table, Vec<u32>)> {
    let rest = scan.text.len() - scan.at;
    let mut tokens = Tokens::with_room(rest / 64, rest / 16);
    let mut ids = Vec::with_capacity(rest / 64);
    let mut literal = vec![];
    scan.object(&mut |scan| {
        if alphabet == Alphabet::Characters {
            tokens.open().extend_from_slice(&scan.spelling);
        } else if !add_bytes(&scan.spelling, tokens.open()) {
            tokens.reopen();
            tokens.open().extend_from_slice(&scan.spelling);
            literal.push(ids.len() as u32);
        }
        tokens.close()?;
        ids.push(scan.id()?);
        Some(())
    })?;
    Some((Table::new(tokens, ids)?, literal))
}

fn read_merges(scan: &mut Scan, table: &Table, alphabet: Alphabet) -> Option<Merges> {
    let mut waiting = Waiting::new(table, alphabet);
    scan.eat(b'[')?;
    if scan.peek()? == b']' {
        scan.at += 1;
        return waiting.done();
    }
    let strings = scan.peek()? == b'"';
    loop {
        if strings {
            scan.string()?;
            // Readers pass over comments.
            if scan.spelling.starts_with(b"#version") {
                return None;
            }
            waiting.string(&scan.spelling)?;
        } else {
            let start = waiting.bytes.len();
            scan.eat(b'[')?;
            scan.string()?;
            waiting.part(&scan.spelling)?;
            let cut = waiting.bytes.len();
            scan.eat(b',')?;
            scan.string()?;
            waiting.part(&scan.spelling)?;
            scan.eat(b']')?;
            waiting.add(start, cut)?;
        }
        match scan.peek()? {
            b',' => scan.at += 1,
            b']' => {
                scan.at += 1;
                return waiting.done();
            }
            _ => return None,
        }
    }
}

/// Merges that were read and not looked up yet: many are waited for at a time.
struct Waiting<'a> {
    table: &'a Table,
    alphabet: Alphabet,
    bytes: Vec<u8>,
    waiting: Vec<Unfound>,
    /// The place of the product that was found last: the next one is mostly there or behind it.
    near: u32,
    merges: Merges,
}

/// A merge that was read.
struct Unfound {
    /// Where the left part and the product end.
    cut: usize,
    end: usize,
    /// The hashes of the parts.
    hashes: [u64; 2],
    product: Product,
}

/// What is known of a product before it is looked up.
enum Product {
    Hash(u64),
    Place(u32),
}

impl<'a> Waiting<'a> {
    const MOST: usize = 32;

    fn new(table: &'a Table, alphabet: Alphabet) -> Self {
        Waiting {
            table,
            alphabet,
            bytes: vec![],
            waiting: Vec::with_capacity(Self::MOST),
            near: 0,
            merges: Merges::with_room(table.tokens.len()),
        }
    }

    #[inline(always)]
    fn part(&mut self, spelling: &[u8]) -> Option<()> {
        if self.alphabet == Alphabet::Characters {
            self.bytes.extend_from_slice(spelling);
            return (!spelling.is_empty()).then_some(());
        }
        (!spelling.is_empty() && add_bytes(spelling, &mut self.bytes)).then_some(())
    }

    /// A pair whose parts have one space between them.
    #[inline(always)]
    fn string(&mut self, spelling: &[u8]) -> Option<()> {
        let space = spelling.iter().position(|&byte| byte == b' ')?;
        let (left, right) = (&spelling[..space], &spelling[space + 1..]);
        // A space is in no part: it is not in the byte alphabet, and two would not tell them.
        if self.alphabet == Alphabet::Characters && right.contains(&b' ') {
            return None;
        }
        let start = self.bytes.len();
        self.part(left)?;
        let cut = self.bytes.len();
        self.part(right)?;
        self.add(start, cut)
    }

    /// All pairs.
    fn done(mut self) -> Option<Merges> {
        self.flush()?;
        Some(self.merges)
    }

    fn add(&mut self, start: usize, cut: usize) -> Option<()> {
        let (tokens, whole) = (&self.table.tokens, &self.bytes[start..]);
        let parts = [&self.bytes[start..cut], &self.bytes[cut..]];
        let hashes = parts.map(|part| tokens.hash(part));
        std::hint::black_box(hashes.map(|hash| tokens.touch(hash)));
        let near = [self.near, self.near + 1];
        let is_whole = |at: u32| (at as usize) < tokens.len() && tokens.get(at as usize) == whole;
        let product = match near.into_iter().find(|&at| is_whole(at)) {
            Some(at) => {
                self.near = at;
                Product::Place(at)
            }
            None => {
                let hash = tokens.hash(whole);
                std::hint::black_box(tokens.touch(hash));
                Product::Hash(hash)
            }
        };
        let end = self.bytes.len();
        self.waiting.push(Unfound {
            cut,
            end,
            hashes,
            product,
        });
        if self.waiting.len() == Self::MOST {
            self.flush()?;
        }
        Some(())
    }

    fn flush(&mut self) -> Option<()> {
        let (tokens, merges, mut start) = (&self.table.tokens, &mut self.merges, 0);
        for each in self.waiting.drain(..) {
            let (left, right) = (
                &self.bytes[start..each.cut],
                &self.bytes[each.cut..each.end],
            );
            merges.left.push(tokens.find_hashed(left, each.hashes[0])?);
            merges
                .right
                .push(tokens.find_hashed(right, each.hashes[1])?);
            merges.product.push(match each.product {
                Product::Place(at) => at,
                Product::Hash(hash) => {
                    let whole = &self.bytes[start..each.end];
                    self.near = tokens.find_hashed(whole, hash)?;
                    self.near
                }
            });
            start = each.end;
        }
        self.bytes.clear();
        Some(())
    }
}

/// Appends the bytes that a spelling stands for. False: it is not in the byte alphabet.
#[inline(always)]
fn add_bytes(spelling: &[u8], out: &mut Vec<u8>) -> bool {
    let mut at = 0;
    while at < spelling.len() {
        let lead = spelling[at];
        let code = if lead < 0x80 {
            at += 1;
            usize::from(lead)
        } else if lead & 0xE0 == 0xC0 && at + 1 < spelling.len() {
            at += 2;
            usize::from(lead & 31) << 6 | usize::from(spelling[at - 1] & 63)
        } else {
            return false;
        };
        match BYTES.get(code) {
            Some(&byte) if byte != NO_BYTE => out.push(byte as u8),
            _ => return false,
        }
    }
    true
}

/// A place in a document, and the last string that was read.
struct Scan<'a> {
    text: &'a [u8],
    at: usize,
    spelling: Vec<u8>,
}

impl<'a> Scan<'a> {
    fn new(text: &'a [u8]) -> Self {
        Scan {
            text,
            at: 0,
            spelling: vec![],
        }
    }

    /// The next character that is not white space.
    #[inline(always)]
    fn peek(&mut self) -> Option<u8> {
        loop {
            let byte = *self.text.get(self.at)?;
            if !matches!(byte, b' ' | b'\n' | b'\r' | b'\t') {
                return Some(byte);
            }
            self.at += 1;
        }
    }

    #[inline(always)]
    fn eat(&mut self, byte: u8) -> Option<()> {
        if self.peek()? != byte {
            return None;
        }
        self.at += 1;
        Some(())
    }

    /// Reads a string into `spelling`, unescaped.
    #[inline(always)]
    fn string(&mut self) -> Option<()> {
        self.eat(b'"')?;
        self.spelling.clear();
        loop {
            let rest = &self.text[self.at..];
            let plain = |&byte: &u8| byte < 0x20 || byte == b'"' || byte == b'\\';
            let size = rest.iter().position(plain)?;
            self.spelling.extend_from_slice(&rest[..size]);
            self.at += size + 1;
            match rest[size] {
                b'"' => return Some(()),
                b'\\' => self.escape()?,
                _ => return None,
            }
        }
    }

    fn escape(&mut self) -> Option<()> {
        let kind = *self.text.get(self.at)?;
        self.at += 1;
        let byte = match kind {
            b'"' | b'\\' | b'/' => kind,
            b'b' => 8,
            b'f' => 12,
            b'n' => 10,
            b'r' => 13,
            b't' => 9,
            b'u' => {
                let mut room = [0; 4];
                let spelled = self.code_point()?.encode_utf8(&mut room);
                self.spelling.extend_from_slice(spelled.as_bytes());
                return Some(());
            }
            _ => return None,
        };
        self.spelling.push(byte);
        Some(())
    }

    /// What `\u` stands for, with a second one for the second half of a pair of surrogates.
    fn code_point(&mut self) -> Option<char> {
        let code = self.hex()?;
        if !(0xD800..0xDC00).contains(&code) {
            return char::from_u32(code);
        }
        if self.text.get(self.at..self.at + 2)? != b"\\u" {
            return None;
        }
        self.at += 2;
        let low = self.hex()?;
        if !(0xDC00..0xE000).contains(&low) {
            return None;
        }
        char::from_u32(0x1_0000 + ((code - 0xD800) << 10) + (low - 0xDC00))
    }

    fn hex(&mut self) -> Option<u32> {
        let mut value = 0;
        for &byte in self.text.get(self.at..self.at + 4)? {
            value = value << 4 | char::from(byte).to_digit(16)?;
        }
        self.at += 4;
        Some(value)
    }

    /// A whole number of 32 bits.
    #[inline(always)]
    fn id(&mut self) -> Option<u32> {
        let first = self.peek()?;
        let start = self.at;
        let mut value = 0u64;
        while self.at - start < 11 && self.text.get(self.at)?.is_ascii_digit() {
            value = value * 10 + u64::from(self.text[self.at] - b'0');
            self.at += 1;
        }
        let digits = self.at - start;
        if digits == 0 || (first == b'0' && digits > 1) || value > u64::from(u32::MAX) {
            return None;
        }
        matches!(self.peek()?, b',' | b'}').then_some(value as u32)
    }

    /// Passes over a value, whatever stands in it.
    fn skip(&mut self) -> Option<()> {
        let mut depth = 0usize;
        loop {
            match self.peek()? {
                b'"' => self.skip_string()?,
                b'{' | b'[' => {
                    depth += 1;
                    self.at += 1;
                }
                b'}' | b']' => {
                    depth = depth.checked_sub(1)?;
                    self.at += 1;
                }
                _ => self.at += 1,
            }
            if depth == 0 && matches!(self.peek()?, b',' | b'}' | b']') {
                return Some(());
            }
        }
    }

    fn skip_string(&mut self) -> Option<()> {
        self.at += 1;
        loop {
            match *self.text.get(self.at)? {
                b'"' => break,
                b'\\' => self.at += 2,
                _ => self.at += 1,
            }
        }
        self.at += 1;
        Some(())
    }

    /// Reads an object; `each` reads a value, when its key is in `spelling`.
    fn object(&mut self, each: &mut dyn FnMut(&mut Self) -> Option<()>) -> Option<()> {
        self.eat(b'{')?;
        if self.peek()? == b'}' {
            self.at += 1;
            return Some(());
        }
        loop {
            self.string()?;
            self.eat(b':')?;
            each(self)?;
            match self.peek()? {
                b',' => self.at += 1,
                b'}' => {
                    self.at += 1;
                    return Some(());
                }
                _ => return None,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BYTES: Alphabet = Alphabet::Bytes;

    fn document(vocab: &str, merges: &str) -> String {
        format!(
            r#" {{"a":[1,"]}}\\"],"model":{{"type":"BPE","vocab":{vocab},"merges":{merges},"b":{{}}}}}}"#
        )
    }

    #[test]
    fn both_kinds_of_merges_are_read() {
        let vocab = r#"{"a":0,"\u0120":1 , "\u0120a":4294967295,"<é世>":7}"#;
        for merges in [
            r#"["\u0120 a"]"#,
            r#"[["Ġ","a"]]"#,
            r#"[ [ "\u0120" , "a" ] ]"#,
        ] {
            let text = document(vocab, merges);
            let taken = read(text.as_bytes(), BYTES).unwrap();
            assert_eq!(taken.table.tokens.get(2), b" a");
            assert_eq!(taken.table.numbers, [0, 1, u32::MAX, 7]);
            assert_eq!(taken.literal, [3]);
            assert_eq!((taken.merges.left[0], taken.merges.right[0]), (1, 0));
            assert_eq!(taken.merges.product, [2]);
            let [start, end, merges_start, merges_end] = taken.cuts.map(|cut| cut as usize);
            assert_eq!(&text[start..end], vocab);
            assert_eq!(&text[merges_start..merges_end], merges);
        }
    }

    #[test]
    fn products_are_found_near_and_far() {
        let vocab = r#"{"a":0,"b":1,"ab":2,"aba":3,"abab":4,"ba":5,"bab":6}"#;
        let merges = r#"["a b","ab a","a ba","ab ab","aba b","b a","ba b","b ab","a b"]"#;
        let taken = read(document(vocab, merges).as_bytes(), BYTES).unwrap();
        assert_eq!(taken.merges.product, [2, 3, 3, 4, 4, 5, 6, 6, 2]);
        assert!(read(document(vocab, r#"["ba b","bab a"]"#).as_bytes(), BYTES).is_none());
    }

    #[test]
    fn what_is_irregular_is_left_to_python() {
        let vocab = r#"{"a":0,"b":1,"ab":2}"#;
        assert!(read(document(vocab, "[]").as_bytes(), BYTES).is_some());
        for other in [
            "[]",
            "{}",
            r#"{"a":0,"a":1}"#,
            r#"{"a":0,"b":0}"#,
            r#"{"a":00}"#,
            r#"{"a":1.0}"#,
            r#"{"a":4294967296}"#,
            r#"{"a":-0}"#,
            r#"{"":0}"#,
            r#"{"\ud800":0}"#,
            r#"{"\x":0}"#,
            "{\"a\nb\":0}",
            r#"{"a":0,}"#,
            r#"{"a":true}"#,
            r#"{"a" 0}"#,
        ] {
            assert!(
                read(document(other, "[]").as_bytes(), BYTES).is_none(),
                "{other}"
            );
        }
        for other in [
            r#"["a  b"]"#,
            r#"["ab"]"#,
            r#"["a c"]"#,
            r#"["b a"]"#,
            r##"["#version: 1"]"##,
            r#"[["a"]]"#,
            r#"[["a","b","b"]]"#,
            r#"["a b",["a","b"]]"#,
            r#"[["a","b"],"a b"]"#,
            r#"[" ab"]"#,
            r#"["ab "]"#,
            r#"[["","ab"]]"#,
            "{}",
            r#"["a b",]"#,
            r#"["a é世"]"#,
        ] {
            assert!(
                read(document(vocab, other).as_bytes(), BYTES).is_none(),
                "{other}"
            );
        }
        let text = document(vocab, "[]");
        (0..text.len()).for_each(|end| assert!(read(&text.as_bytes()[..end], BYTES).is_none()));
    }

    #[test]
    fn characters_are_read_as_they_are() {
        let vocab = r#"{"a":0,"\u0120":1,"\u0120a":2,"é世":7,"a é世":9}"#;
        let text = document(vocab, r#"["Ġ a"]"#);
        let taken = read(text.as_bytes(), Alphabet::Characters).unwrap();
        assert_eq!(taken.table.tokens.get(1), "Ġ".as_bytes());
        assert_eq!(taken.merges.product, [2]);
        assert!(taken.literal.is_empty());
        for merges in [
            r#"["a  é世"]"#,
            r#"["a é世"]"#,
            r#"["Ġ a "]"#,
            r##"["#version a"]"##,
        ] {
            let text = document(vocab, merges);
            assert!(read(text.as_bytes(), Alphabet::Characters).is_none());
        }
    }

    #[test]
    fn pairs_of_files_are_read() {
        let vocab = "{\"a\":0,\"\u{120}\":1,\"\u{120}a\":2,\"<\u{e9}\u{4e16}>\":3}\n".as_bytes();
        let lines = "#version: 0.2\n\u{120} a\r\na \u{120}";
        assert!(read_pair(vocab, lines.as_bytes()).is_none());
        let taken = read_pair(vocab, &lines.as_bytes()[..lines.len() - 4]).unwrap();
        assert_eq!(
            (&taken.merges.product[..], &taken.literal[..]),
            (&[2][..], &[3][..])
        );
        let others = [
            "",
            "a",
            "\n",
            "\u{120} a\n\n",
            "\u{120}  a",
            "\u{120} a\r",
            "a a",
        ];
        for other in others {
            assert!(read_pair(vocab, other.as_bytes()).is_none(), "{other:?}");
        }
        assert!(read_pair(b"{\"a\":0}{", b"#version\n").is_none());
        assert!(read_pair(b"{\"a\":0}", b"#version\n").is_some());
    }
}

//! The pieces of a SentencePiece `.model` (twin: `formats/sentencepiece/read.py`).
//!
//! Source: `src/sentencepiece_model.proto` of sentencepiece, and protobuf's wire format
//! (https://protobuf.dev/programming-guides/encoding). Only pieces that are written as protobuf
//! itself writes them are read: they come first, each has its fields once and in their order, and
//! no number is longer than it must be. What follows them is not looked at here.
#![forbid(unsafe_code)]

use crate::table::Table;
use crate::tokens::{Tokens, MOST};

/// The first byte of a piece, of a surface, of a score, and of a type: a field's number and how
/// its value is written.
const PIECE: u8 = 0x0A;
const SURFACE: u8 = 0x0A;
const SCORE: u8 = 0x15;
const TYPE: u8 = 0x18;

const NORMAL: u8 = 1;
const UNKNOWN: u8 = 2;
const CONTROL: u8 = 3;
const USER_DEFINED: u8 = 4;
const UNUSED: u8 = 5;
const BYTE: u8 = 6;

/// A piece that is not NORMAL: its position, its type, and where its surface is in the file.
pub type Other = [u32; 4];

/// What a file's pieces are.
pub struct Read {
    /// Those that a text may give, with their positions.
    pub spelled: Table,
    /// Those that others may merge into, with their ranks: the highest score has the least.
    pub ranked: Table,
    pub rest: Pieces,
    /// Where they end in the file.
    pub end: usize,
}

/// What pieces say beside that.
pub struct Pieces {
    /// By position.
    pub scores: Vec<f32>,
    pub others: Vec<Other>,
    /// The positions of those that say that they are NORMAL; most leave that out.
    pub typed: Vec<u32>,
    /// Whether one that others merge into has a character that is no piece.
    pub lacking: bool,
}

/// A run of fields that is read from its start.
struct Fields<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Fields<'a> {
    /// Whether the next byte is this one, which is then read.
    fn next_is(&mut self, byte: u8) -> bool {
        let is = self.bytes.get(self.at) == Some(&byte);
        self.at += usize::from(is);
        is
    }

    fn take(&mut self, size: usize) -> Option<&'a [u8]> {
        let end = self.at.checked_add(size)?;
        let taken = self.bytes.get(self.at..end)?;
        self.at = end;
        Some(taken)
    }

    /// A size of at most four bytes, no longer than it must be.
    fn size(&mut self) -> Option<usize> {
        let mut size = 0;
        for place in 0..4 {
            let byte = *self.bytes.get(self.at)?;
            self.at += 1;
            size |= usize::from(byte & 0x7F) << (7 * place);
            if byte < 0x80 {
                return (byte != 0 || place == 0).then_some(size);
            }
        }
        None
    }
}

/// The characters that are there, a bit for each.
struct Characters(Vec<u64>);

impl Characters {
    fn none() -> Self {
        Characters(vec![0; (char::MAX as usize >> 6) + 1])
    }

    fn add(&mut self, text: &str) {
        for character in text.chars() {
            self.0[character as usize >> 6] |= 1 << (character as u32 & 63);
        }
    }

    /// Whether all of these are among others.
    fn are_among(&self, others: &Self) -> bool {
        self.0
            .iter()
            .zip(&others.0)
            .all(|(own, other)| own & !other == 0)
    }
}

/// Whether a surface has one character.
fn is_single(surface: &str) -> bool {
    surface.chars().nth(1).is_none()
}

/// The pieces that a file begins with. None: there are none, or something is irregular.
pub fn read(file: &[u8]) -> Option<Read> {
    if file.len() > MOST {
        return None;
    }
    let guess = file.len() / 14;
    let mut spelled = Tokens::with_room(guess, file.len() / 2);
    let mut ranked = Tokens::with_room(guess, file.len() / 2);
    let (mut positions, mut order) = (Vec::with_capacity(guess), Vec::with_capacity(guess));
    let mut found = (Vec::with_capacity(guess), vec![], vec![]);
    let (scores, others, typed) = (&mut found.0, &mut found.1, &mut found.2);
    let (mut single, mut used) = (Characters::none(), Characters::none());
    // Scores of zero among what is merged from others, by their sign: sentencepiece's versions
    // differ where there are both, which Python says.
    let mut zeros = [false; 2];
    let mut fields = Fields { bytes: file, at: 0 };
    while fields.next_is(PIECE) {
        let size = fields.size()?;
        let number = scores.len() as u32;
        let start = fields.at;
        let mut piece = Fields {
            bytes: fields.take(size)?,
            at: 0,
        };
        if !piece.next_is(SURFACE) {
            return None;
        }
        let surface_size = piece.size()?;
        let surface_start = start + piece.at;
        let surface = piece.take(surface_size)?;
        let text = std::str::from_utf8(surface).ok()?;
        if surface.is_empty() || surface.contains(&0) || !piece.next_is(SCORE) {
            return None;
        }
        let score = f32::from_le_bytes(piece.take(4)?.try_into().ok()?);
        if !score.is_finite() {
            return None;
        }
        let mut kind = NORMAL;
        if piece.next_is(TYPE) {
            kind = piece.take(1)?[0];
            if kind == NORMAL {
                typed.push(number);
            }
        }
        if piece.at != size || !(NORMAL..=BYTE).contains(&kind) {
            return None;
        }
        scores.push(score);
        if kind != NORMAL {
            let end = surface_start + surface_size;
            others.push([number, u32::from(kind), surface_start as u32, end as u32]);
        }
        if kind == UNKNOWN || kind == CONTROL {
            continue;
        }
        spelled.push(surface)?;
        positions.push(number);
        if kind == USER_DEFINED && is_single(text) {
            single.add(text);
        }
        if kind != NORMAL && kind != UNUSED {
            continue;
        }
        ranked.push(surface)?;
        order.push(rank_key(score));
        used.add(text);
        if is_single(text) {
            single.add(text);
        } else if score == 0.0 {
            zeros[usize::from(score.is_sign_negative())] = true;
        }
    }
    if zeros == [true; 2] {
        return None;
    }
    let spelled = Table::new(spelled, positions)?;
    if others_are_known(file, others, &spelled) {
        return None;
    }
    let (scores, others, typed) = found;
    let rest = Pieces {
        scores,
        others,
        typed,
        lacking: !used.are_among(&single),
    };
    Some(Read {
        spelled,
        ranked: Table::ranked(ranked, ranks(&order))?,
        rest,
        end: fields.at,
    })
}

/// Whether two control or unknown pieces have one surface, or one of them and a spelled piece.
fn others_are_known(file: &[u8], others: &[Other], spelled: &Table) -> bool {
    let kinds = [u32::from(UNKNOWN), u32::from(CONTROL)];
    let surfaces = others
        .iter()
        .filter(|other| kinds.contains(&other[1]))
        .map(|other| &file[other[2] as usize..other[3] as usize]);
    let mut surfaces: Vec<&[u8]> = surfaces.collect();
    surfaces.sort_unstable();
    surfaces.windows(2).any(|two| two[0] == two[1])
        || surfaces
            .iter()
            .any(|each| spelled.tokens.find(each).is_some())
}

/// A number that is the less the greater a score is; 0.0 is greater than -0.0.
fn rank_key(score: f32) -> u32 {
    let bits = score.to_bits();
    if score.is_sign_negative() {
        bits
    } else {
        !bits & (u32::MAX >> 1)
    }
}

/// Ranks without gaps; equal keys have one rank.
fn ranks(keys: &[u32]) -> Vec<u32> {
    let mut order: Vec<u64> = (0..)
        .zip(keys)
        .map(|(at, &key)| u64::from(key) << 32 | at)
        .collect();
    if order.windows(2).any(|two| two[0] > two[1]) {
        order.sort_unstable();
    }
    let mut ranks = vec![0; keys.len()];
    let mut rank = 0;
    for (place, &each) in order.iter().enumerate() {
        if place > 0 && order[place - 1] >> 32 != each >> 32 {
            rank += 1;
        }
        ranks[each as u32 as usize] = rank;
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A piece; its type is left out where it is 0.
    fn piece(surface: &[u8], score: f32, kind: u8) -> Vec<u8> {
        let mut content = vec![SURFACE, surface.len() as u8];
        content.extend_from_slice(surface);
        content.push(SCORE);
        content.extend_from_slice(&score.to_le_bytes());
        if kind > 0 {
            content.extend_from_slice(&[TYPE, kind]);
        }
        [&[PIECE, content.len() as u8][..], &content].concat()
    }

    fn file(pieces: &[(&[u8], f32, u8)]) -> Vec<u8> {
        pieces
            .iter()
            .flat_map(|&(surface, score, kind)| piece(surface, score, kind))
            .collect()
    }

    #[test]
    fn pieces_are_read() {
        let mut bytes = file(&[
            (b"<unk>", 0.0, UNKNOWN),
            (b"ab", -2.0, 0),
            (b"a", -1.0, NORMAL),
            (b"b", 3.5, 0),
            (b"cd", -2.0, UNUSED),
            (b"x", 9.0, USER_DEFINED),
        ]);
        let end = bytes.len();
        bytes.extend_from_slice(&[0x12, 0]);
        let pieces = read(&bytes).unwrap();
        assert_eq!(pieces.end, end);
        assert_eq!(pieces.spelled.numbers, [1, 2, 3, 4, 5]);
        assert_eq!(pieces.ranked.numbers, [2, 1, 0, 2]);
        assert_eq!(pieces.rest.scores, [0.0, -2.0, -1.0, 3.5, -2.0, 9.0]);
        assert_eq!(pieces.rest.typed, [2]);
        assert!(pieces.rest.lacking);
        let surfaces: Vec<&[u8]> = pieces
            .rest
            .others
            .iter()
            .map(|other| &bytes[other[2] as usize..other[3] as usize])
            .collect();
        assert_eq!(surfaces, [&b"<unk>"[..], b"cd", b"x"]);
    }

    #[test]
    fn scores_are_in_sentencepieces_order() {
        let scores = [f32::MIN, -1.0, -1e-45, -0.0, 0.0, 1e-45, 1.0, f32::MAX];
        let keys: Vec<u32> = scores.iter().map(|&score| rank_key(score)).collect();
        assert_eq!(ranks(&keys), [7, 6, 5, 4, 3, 2, 1, 0]);
        assert_eq!(ranks(&[7, 3, 7, 1]), [2, 1, 2, 0]);
    }

    #[test]
    fn what_is_irregular_is_left_to_python() {
        let sound: [(&[u8], f32, u8); 2] = [(b"<unk>", 0.0, UNKNOWN), (b"a", -1.0, 0)];
        assert!(read(&file(&sound)).is_some());
        let others: [(&[u8], f32, u8); 10] = [
            (b"a", -2.0, 0),
            (b"a", 0.0, CONTROL),
            (b"<unk>", 0.0, CONTROL),
            (b"<unk>", 0.0, 0),
            (b"", 0.0, 0),
            (b"\0", 0.0, 0),
            (b"\xff", 0.0, 0),
            (b"b", f32::NAN, 0),
            (b"b", 0.0, 7),
            (b"b", f32::INFINITY, 0),
        ];
        for other in others {
            assert!(
                read(&file(&[sound[0], sound[1], other])).is_none(),
                "{other:?}"
            );
        }
        assert!(read(&file(&[sound[1], (b"bc", 0.0, 0), (b"cd", -0.0, 0)])).is_none());
        assert!(read(b"").is_none());
    }

    #[test]
    fn a_file_that_is_cut_off_or_changed_anywhere_ends_in_an_answer() {
        let whole = file(&[
            (b"<unk>", 0.0, UNKNOWN),
            (b"ab", -1.0, NORMAL),
            (b"a", -2.0, 0),
        ]);
        for end in 0..whole.len() {
            if let Some(pieces) = read(&whole[..end]) {
                assert!(pieces.end <= end);
            }
            for bit in 0..8 {
                let mut other = whole.clone();
                other[end] ^= 1 << bit;
                if let Some(pieces) = read(&other) {
                    assert!(pieces.end <= other.len());
                }
            }
        }
    }
}

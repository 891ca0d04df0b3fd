//! Normalizer steps that write each character as another one, and runs of some as one (Theorem 36;
//! twins: `text/character_maps.py`, which makes the tables; `text/normalize.py`).
#![forbid(unsafe_code)]

use crate::normal_forms::ascii_run;

/// Kinds of code points: one that stays, and one that becomes another.
const SAME: u8 = 0;
const CHANGED: u8 = 1;
/// From here on, what is of one kind becomes one character, and a run of it becomes one, too.
const RUNS: u8 = 2;
/// What a text with such a character becomes, Python tells.
const DOUBTFUL: u8 = 255;

const PAGES: usize = 0x110000 / 256;

/// What characters become, and which runs become one.
pub struct CharacterMap {
    /// What an ASCII character becomes, and its kind.
    ascii: [(u8, u8); 128],
    pages: Vec<u16>,
    kinds: Vec<u8>,
    /// The characters of the kind `CHANGED` in order, and what they become.
    changed: Vec<(char, char)>,
    /// By kind, from `RUNS` on: what it becomes.
    runs: Vec<char>,
}

impl CharacterMap {
    /// `changed`: a character and what it becomes, one after the other. None: something is
    /// missing or not in order, or an ASCII character is doubtful or leaves ASCII.
    pub fn new(pages: &[u16], kinds: &[u8], changed: &[u32], runs: &[u32]) -> Option<Self> {
        let fine = pages.len() == PAGES
            && kinds.len() % 256 == 0
            && pages
                .iter()
                .all(|&page| usize::from(page) < kinds.len() / 256);
        if !fine {
            return None;
        }
        let mut map = CharacterMap {
            ascii: [(0, SAME); 128],
            pages: pages.to_vec(),
            kinds: kinds.to_vec(),
            changed: vec![],
            runs: vec![],
        };
        for two in changed.chunks(2) {
            let &[from, to] = two else {
                return None;
            };
            map.changed
                .push((char::from_u32(from)?, char::from_u32(to)?));
        }
        for &to in runs {
            map.runs.push(char::from_u32(to)?);
        }
        let ordered = map.changed.windows(2).all(|two| two[0].0 < two[1].0);
        for byte in 0..128u8 {
            let (to, kind) = map.letter(char::from(byte))?;
            let to = u8::try_from(to).ok().filter(u8::is_ascii)?;
            map.ascii[usize::from(byte)] = (to, kind);
        }
        ordered.then_some(map)
    }

    /// What a character becomes, and its kind. None: Python tells.
    #[inline(always)]
    fn letter(&self, character: char) -> Option<(char, u8)> {
        let code = u32::from(character) as usize;
        let kind = self.kinds[usize::from(self.pages[code / 256]) * 256 + code % 256];
        let to = match kind {
            SAME => character,
            CHANGED => {
                let found = self.changed.binary_search_by_key(&character, |each| each.0);
                self.changed[found.ok()?].1
            }
            DOUBTFUL => return None,
            _ => *self.runs.get(usize::from(kind - RUNS))?,
        };
        Some((to, kind))
    }

    /// Writes what a text becomes. None: Python tells, or there is too little memory.
    pub fn write(&self, text: &str, out: &mut String) -> Option<()> {
        let bytes = text.as_bytes();
        let mut made = std::mem::take(out).into_bytes();
        made.clear();
        made.try_reserve(bytes.len()).ok()?;
        let (mut at, mut before) = (0, SAME);
        while at < bytes.len() {
            let ascii = &bytes[at..at + ascii_run(&bytes[at..])];
            at += ascii.len();
            let start = made.len();
            made.try_reserve(ascii.len()).ok()?;
            made.resize(start + ascii.len(), 0);
            let (room, mut count) = (&mut made[start..], 0usize);
            for &byte in ascii {
                let (to, kind) = self.ascii[usize::from(byte & 0x7F)];
                room[count] = to;
                // One of a run that was begun is written over by what comes next.
                count = count.wrapping_add(usize::from(kind < RUNS || kind != before));
                before = kind;
            }
            made.truncate(start + count);
            let Some(character) = text.get(at..).and_then(|rest| rest.chars().next()) else {
                continue;
            };
            at += character.len_utf8();
            let (to, kind) = self.letter(character)?;
            if kind < RUNS || kind != before {
                made.try_reserve(4).ok()?;
                made.extend_from_slice(to.encode_utf8(&mut [0; 4]).as_bytes());
            }
            before = kind;
        }
        *out = String::from_utf8(made).ok()?;
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `A` becomes `a`, U+0100 `b`; runs of `x`, `y` and U+0101 become `-`; U+0102 is doubtful.
    fn map() -> CharacterMap {
        let mut kinds = vec![SAME; 2 * 256];
        (kinds[usize::from(b'A')], kinds[256]) = (CHANGED, CHANGED);
        for at in [usize::from(b'x'), usize::from(b'y'), 257] {
            kinds[at] = RUNS;
        }
        kinds[258] = DOUBTFUL;
        let mut pages = vec![0; PAGES];
        pages[1] = 1;
        let changed = ['A', 'a', '\u{100}', 'b'].map(u32::from);
        CharacterMap::new(&pages, &kinds, &changed, &[u32::from('-')]).unwrap()
    }

    #[test]
    fn characters_are_written_and_runs_become_one() {
        let (map, mut out) = (map(), "before".to_string());
        for (text, expected) in [
            ("", ""),
            ("xyA-x", "-a--"),
            (
                "x\u{101}y\u{e9}\u{101}\u{100}A\u{65e5}",
                "-\u{e9}-ba\u{65e5}",
            ),
            ("AAxaxx", "aa-a-"),
        ] {
            assert_eq!(map.write(text, &mut out), Some(()));
            assert_eq!(out, expected);
        }
        let long = "A".repeat(40) + &"x\u{101}".repeat(40) + "A";
        assert_eq!(map.write(&long, &mut out), Some(()));
        assert_eq!(out, "a".repeat(40) + "-a");
        assert_eq!(map.write("x\u{102}", &mut out), None);
    }

    #[test]
    fn tables_that_do_not_fit_are_refused() {
        let map = |pages: &[u16], kinds: &[u8], changed: &[u32], runs: &[u32]| {
            CharacterMap::new(pages, kinds, changed, runs).is_some()
        };
        let pages = [0; PAGES];
        let with = |kind: u8| {
            let mut kinds = [SAME; 256];
            kinds[1] = kind;
            kinds
        };
        assert!(map(&pages, &with(SAME), &[], &[]) && map(&pages, &with(RUNS), &[], &[2]));
        assert!(map(&pages, &with(CHANGED), &[1, 2], &[]));
        assert!(!map(&pages, &with(CHANGED), &[2, 2], &[]) && !map(&pages, &with(RUNS), &[], &[]));
        assert!(!map(&pages, &with(DOUBTFUL), &[], &[]));
        assert!(!map(&pages, &with(CHANGED), &[1, 2, 1, 3], &[]));
        assert!(!map(&pages, &with(CHANGED), &[1, 0x80], &[]));
        assert!(!map(&pages, &with(SAME), &[1], &[]) && !map(&pages, &with(SAME), &[], &[0xD800]));
        assert!(!map(&[1; PAGES], &with(SAME), &[], &[]) && !map(&[0; 9], &[0; 256], &[], &[]));
    }
}

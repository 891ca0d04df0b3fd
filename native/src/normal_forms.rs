//! Unicode normal forms (twin: `text/normalize.py`, which asks tokenizers).
//!
//! The tables are those of the engine, measured. Of the compatibility forms there are only those
//! that say whether a text is in the form.
#![forbid(unsafe_code)]

/// Classes of code points. One that is a mark has the number of its canonical combining class, in
/// their order, and `JOINS` if it may be composed with a starter before it.
const PLAIN: u8 = 0;
const JOINS: u8 = 64;
/// A starter that is composed of others.
const COMPOSED: u8 = 253;
/// A starter that may be composed with the starter before it.
const FOLLOWS: u8 = 254;
/// The form writes it in another way, wherever it stands.
const CHANGES: u8 = 255;

/// Hangul: the first syllable, and the first of what syllables are composed of; of the last
/// consonants, what stands before them for none.
const SYLLABLES: u32 = 0xAC00;
const SYLLABLE_COUNT: u32 = 11_172;
const FIRSTS: u32 = 0x1100;
const VOWELS: u32 = 0x1161;
const LASTS: u32 = 0x11A7;

const PAGES: usize = 0x110000 / 256;

/// One of the four normal forms.
pub struct NormalForm {
    pages: Vec<u16>,
    classes: Vec<u8>,
    /// What is composed: both characters in one number, in order, and what they become. Without
    /// Hangul, as all tables.
    composed: Vec<(u64, char)>,
    /// Characters in order, and where in `letters` what they become ends.
    decomposed: Vec<(char, usize)>,
    letters: Vec<char>,
}

/// A character, and its class if it is a mark, else `PLAIN`.
type Letter = (u8, char);

impl NormalForm {
    /// `composed`: two characters and what they become, one after the other; `decomposed`: a
    /// character, how many it becomes, and which. None: something is missing, or not in order.
    pub fn new(
        pages: &[u16],
        classes: &[u8],
        composed: &[u32],
        decomposed: &[u32],
    ) -> Option<Self> {
        let fine = pages.len() == PAGES
            && classes.len() % 256 == 0
            && pages
                .iter()
                .all(|&page| usize::from(page) < classes.len() / 256);
        let mut form = NormalForm {
            pages: pages.to_vec(),
            classes: classes.to_vec(),
            composed: vec![],
            decomposed: vec![],
            letters: vec![],
        };
        for three in composed.chunks(3) {
            let &[first, second, both] = three else {
                return None;
            };
            form.composed
                .push((pair(first, second), char::from_u32(both)?));
        }
        let mut rest = decomposed;
        while let [code, count, after @ ..] = rest {
            let letters = after.get(..*count as usize)?;
            for &letter in letters {
                form.letters.push(char::from_u32(letter)?);
            }
            let character = char::from_u32(*code)?;
            form.decomposed.push((character, form.letters.len()));
            rest = &after[letters.len()..];
        }
        let ordered = form.composed.windows(2).all(|two| two[0].0 < two[1].0)
            && form.decomposed.windows(2).all(|two| two[0].0 < two[1].0);
        (fine && rest.is_empty() && ordered).then_some(form)
    }

    /// Whether the form leaves a text as it is; false also where that is not decided here.
    ///
    /// A text of characters that no form changes, with marks in their order, of which none may
    /// join what is before it, is in the form (Unicode Standard Annex 15, section 9). One that
    /// may join does not, if no starter and it are a pair, or a mark between them blocks it.
    pub fn keeps(&self, text: &str) -> bool {
        let bytes = text.as_bytes();
        let mut at = 0;
        // The last starter, and the class of the last mark behind it.
        let (mut starter, mut last) = (None, PLAIN);
        while at < bytes.len() {
            let ascii = ascii_run(&bytes[at..]);
            if ascii > 0 {
                at += ascii;
                (starter, last) = (Some(char::from(bytes[at - 1])), PLAIN);
                continue;
            }
            let Some(character) = text.get(at..).and_then(|rest| rest.chars().next()) else {
                return false;
            };
            at += character.len_utf8();
            match self.class(character) {
                CHANGES => return false,
                PLAIN | COMPOSED => (starter, last) = (Some(character), PLAIN),
                FOLLOWS => {
                    if last == PLAIN && self.composes(starter, character) {
                        return false;
                    }
                    (starter, last) = (Some(character), PLAIN);
                }
                mark => {
                    let (class, joins) = (mark & !JOINS, mark & JOINS != 0);
                    // A mark that goes before those of a composed starter would part them.
                    let parts = starter.is_some_and(|each| self.class(each) == COMPOSED);
                    let free = last < class;
                    if last > class || joins && (parts || free && self.composes(starter, character))
                    {
                        return false;
                    }
                    last = class;
                }
            }
        }
        true
    }

    #[inline(always)]
    fn class(&self, character: char) -> u8 {
        let code = u32::from(character) as usize;
        self.classes[usize::from(self.pages[code / 256]) * 256 + code % 256]
    }

    fn composes(&self, starter: Option<char>, next: char) -> bool {
        starter.is_some_and(|before| self.both(before, next).is_some())
    }

    /// What two characters become.
    fn both(&self, before: char, next: char) -> Option<char> {
        let (before, next) = (u32::from(before), u32::from(next));
        let syllable = before.wrapping_sub(SYLLABLES);
        match next {
            VOWELS..=0x1175 => {
                let first = before.wrapping_sub(FIRSTS);
                let code = SYLLABLES + (first.min(19) * 21 + (next - VOWELS)) * 28;
                char::from_u32(code).filter(|_| first < 19)
            }
            0x11A8..=0x11C2 => {
                let open = syllable < SYLLABLE_COUNT && syllable % 28 == 0;
                char::from_u32(before + (next - LASTS)).filter(|_| open)
            }
            _ => {
                let wanted = pair(before, next);
                let found = self.composed.binary_search_by_key(&wanted, |each| each.0);
                found.ok().map(|at| self.composed[at].1)
            }
        }
    }

    /// Writes a text in the form (Unicode Standard, section 3.11). None: there are no tables for
    /// that, or there is too little memory.
    pub fn write(&self, text: &str, out: &mut String) -> Option<()> {
        if self.decomposed.is_empty() {
            return None;
        }
        let mut letters: Vec<Letter> = vec![];
        letters.try_reserve(text.len()).ok()?;
        for character in text.chars() {
            letters.try_reserve(4).ok()?;
            self.decompose(character, &mut letters);
        }
        for marks in letters.chunk_by_mut(|one, next| one.0 != PLAIN && next.0 != PLAIN) {
            marks.sort_by_key(|letter| letter.0);
        }
        let kept = match self.composed.is_empty() {
            true => letters.len(),
            false => self.compose(&mut letters),
        };
        out.clear();
        let sizes = letters[..kept].iter().map(|letter| letter.1.len_utf8());
        out.try_reserve(sizes.sum()).ok()?;
        out.extend(letters[..kept].iter().map(|letter| letter.1));
        Some(())
    }

    fn decompose(&self, character: char, letters: &mut Vec<Letter>) {
        let syllable = u32::from(character).wrapping_sub(SYLLABLES);
        if syllable < SYLLABLE_COUNT {
            let last = syllable % 28;
            let parts = [
                FIRSTS + syllable / 588,
                VOWELS + syllable / 28 % 21,
                LASTS + last,
            ];
            let count = if last == 0 { 2 } else { 3 };
            let parts = parts[..count]
                .iter()
                .filter_map(|&code| char::from_u32(code));
            letters.extend(parts.map(|part| (PLAIN, part)));
            return;
        }
        match self
            .decomposed
            .binary_search_by_key(&character, |each| each.0)
        {
            Err(_) => letters.push((self.mark(character), character)),
            Ok(at) => {
                let start = at
                    .checked_sub(1)
                    .map_or(0, |before| self.decomposed[before].1);
                let parts = &self.letters[start..self.decomposed[at].1];
                letters.extend(parts.iter().map(|&part| (self.mark(part), part)));
            }
        }
    }

    fn mark(&self, character: char) -> u8 {
        match self.class(character) {
            COMPOSED.. => PLAIN,
            class => class & !JOINS,
        }
    }

    /// Puts what is composed in the place of its starter; how many letters are left.
    fn compose(&self, letters: &mut [Letter]) -> usize {
        let (mut starter, mut kept) = (None::<usize>, 0);
        for at in 0..letters.len() {
            let (class, character) = letters[at];
            if let Some(place) = starter {
                // A mark of its class or above is between them, or anything if it is none itself.
                let blocked = kept > place + 1 && letters[kept - 1].0 >= class;
                let both = self.both(letters[place].1, character);
                if let (Some(both), false) = (both, blocked) {
                    letters[place].1 = both;
                    continue;
                }
            }
            if class == PLAIN {
                starter = Some(kept);
            }
            letters[kept] = (class, character);
            kept += 1;
        }
        kept
    }
}

fn pair(first: u32, second: u32) -> u64 {
    u64::from(first) << 32 | u64::from(second)
}

/// How many of the first bytes are ASCII.
#[inline(always)]
pub fn ascii_run(bytes: &[u8]) -> usize {
    let mut at = 0;
    while let Some(near) = bytes[at..].first_chunk::<16>() {
        if near.iter().fold(0, |all, byte| all | byte) >= 0x80 {
            break;
        }
        at += 16;
    }
    let rest = bytes[at..].iter().position(|&byte| byte >= 0x80);
    rest.map_or(bytes.len(), |place| at + place)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two marks of which the second joins `a`; U+0100 is composed, U+0200 changes.
    fn form() -> NormalForm {
        let mut classes = vec![PLAIN; 3 * 256];
        classes[256] = COMPOSED;
        classes[512] = CHANGES;
        classes[257..260].copy_from_slice(&[1, 2 | JOINS, FOLLOWS]);
        let mut pages = vec![0; PAGES];
        (pages[1], pages[2]) = (1, 2);
        let composed = ['a', '\u{102}', '\u{100}', 'b', '\u{103}', '\u{104}'].map(u32::from);
        let decomposed = ['\u{100}', '\u{2}', 'a', '\u{102}', '\u{200}', '\u{1}', 'c'];
        NormalForm::new(&pages, &classes, &composed, &decomposed.map(u32::from)).unwrap()
    }

    #[test]
    fn what_is_written_is_kept() {
        let (form, mut out) = (form(), String::new());
        for (text, expected) in [
            ("", ""),
            ("a\u{102}b", "\u{100}b"),
            ("a\u{102}\u{101}", "\u{100}\u{101}"),
            ("\u{100}\u{101}", "\u{100}\u{101}"),
            ("x\u{102}\u{101}", "x\u{101}\u{102}"),
            ("b\u{103}\u{200}", "\u{104}c"),
            ("b\u{101}\u{103}", "b\u{101}\u{103}"),
            (
                "\u{1100}\u{1161}\u{11A8}\u{AC00}\u{11A8}",
                "\u{AC01}\u{AC01}",
            ),
        ] {
            form.write(text, &mut out).unwrap();
            assert_eq!(out, expected, "{text:?}");
            assert!(form.keeps(expected) || expected.contains('\u{100}'));
        }
    }

    #[test]
    fn marks_in_order_that_join_nothing_are_kept() {
        let form = form();
        for text in [
            "",
            "abc",
            "x\u{101}\u{102}",
            "a\u{101}\u{101}",
            "\u{102}a",
            "a\u{103}",
        ] {
            assert!(form.keeps(text), "{text:?}");
        }
        assert!(form.keeps("b\u{101}\u{103}") && form.keeps("\u{100}\u{101}"));
        assert!(form.keeps(&("a".repeat(40) + "\u{e9}" + &"b".repeat(40))));
    }

    #[test]
    fn what_changes_or_may_change_is_not() {
        let form = form();
        let joined = ["a\u{102}", "a\u{101}\u{102}", "b\u{103}", "\u{100}\u{102}"];
        for text in joined.into_iter().chain(["\u{200}", "x\u{102}\u{101}"]) {
            assert!(!form.keeps(text), "{text:?}");
        }
        assert!(!form.keeps(&("a".repeat(40) + "\u{102}")));
    }

    #[test]
    fn tables_that_do_not_fit_are_refused() {
        let form = |pages: &[u16], composed: &[u32], decomposed: &[u32]| {
            NormalForm::new(pages, &[0; 256], composed, decomposed).is_some()
        };
        let pages = [0; PAGES];
        assert!(form(&pages, &[1, 2, 3, 1, 4, 5], &[6, 1, 7]));
        assert!(!form(&pages, &[1, 2, 3, 1, 2, 5], &[]) && !form(&pages, &[1, 2], &[]));
        assert!(!form(&pages, &[], &[6, 2, 7]) && !form(&pages, &[], &[6]));
        assert!(!form(&pages, &[], &[6, 0, 6, 0]) && !form(&pages, &[1, 2, 0xD800], &[]));
        assert!(!form(&[1; PAGES], &[], &[]) && !form(&[0; 9], &[], &[]));
    }
}

//! Whether a text is in a Unicode normal form (twin: `text/normalize.py`, which asks tokenizers).
//!
//! What is not plainly so is left to Python. The tables are those of the engine, measured.
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

const PAGES: usize = 0x110000 / 256;

/// One of the four normal forms.
pub struct NormalForm {
    pages: Vec<u16>,
    classes: Vec<u8>,
    /// What is composed: both characters in one number, in order; without Hangul.
    pairs: Vec<u64>,
}

impl NormalForm {
    /// None: a page is missing, or pairs are not in order.
    pub fn new(pages: &[u16], classes: &[u8], pairs: &[u64]) -> Option<Self> {
        let fine = pages.len() == PAGES
            && classes.len() % 256 == 0
            && pages
                .iter()
                .all(|&page| usize::from(page) < classes.len() / 256)
            && pairs.windows(2).all(|two| two[0] < two[1]);
        fine.then(|| NormalForm {
            pages: pages.to_vec(),
            classes: classes.to_vec(),
            pairs: pairs.to_vec(),
        })
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
        let Some(before) = starter.map(u32::from) else {
            return false;
        };
        let next = u32::from(next);
        let syllable = before.wrapping_sub(0xAC00);
        match next {
            // Hangul's vowels and last consonants.
            0x1161..=0x1175 => (0x1100..=0x1112).contains(&before),
            0x11A8..=0x11C2 => syllable < 11_172 && syllable % 28 == 0,
            _ => {
                let pair = u64::from(before) << 32 | u64::from(next);
                self.pairs.binary_search(&pair).is_ok()
            }
        }
    }
}

/// How many of the first bytes are ASCII.
#[inline(always)]
fn ascii_run(bytes: &[u8]) -> usize {
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
        let pair = |first: char, second: char| u64::from(first) << 32 | u64::from(second);
        let pairs = [pair('a', '\u{102}'), pair('b', '\u{103}')];
        NormalForm::new(&pages, &classes, &pairs).unwrap()
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
        assert!(NormalForm::new(&[0; PAGES], &[0; 256], &[1, 2]).is_some());
        assert!(NormalForm::new(&[0; PAGES], &[0; 256], &[2, 2]).is_none());
        assert!(NormalForm::new(&[1; PAGES], &[0; 256], &[]).is_none());
        assert!(NormalForm::new(&[0; 9], &[0; 256], &[]).is_none());
    }
}

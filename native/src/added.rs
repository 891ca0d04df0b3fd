//! Added tokens in a text, as tokenizers and llama.cpp find them (twin: `text/added_tokens.py`).
#![forbid(unsafe_code)]

/// It is looked for: it is not special, or it is allowed.
const SOUGHT: u32 = 1;
const SPECIAL: u32 = 2;
/// Two tokens are the same once normalized: where one is found, Python says so.
const DOUBTFUL: u32 = 4;
const LSTRIP: u32 = 8;
const RSTRIP: u32 = 16;
const SINGLE_WORD: u32 = 32;
/// `LSTRIP` and `RSTRIP` take ASCII's white space only.
const ASCII_SPACE: u32 = 64;
/// One token is looked for after the other (llama.cpp); all tokens of a model have it, or none.
const LONGEST_FIRST: u32 = 128;

/// So many first bytes are looked for in 16 bytes of a text at a time.
const FEW: usize = 4;

/// A part of a text (start, end): an added token's with its id, or ordinary text.
pub type Segment = (usize, usize, Option<u32>);

/// Where a token was found (start, end), and which.
type Found = (usize, usize, usize);

/// Byte strings, of which the longest that begins at a place is found.
struct Finder {
    /// In the order of their bytes, each with the number of its token.
    sorted: Vec<(Box<[u8]>, usize)>,
    /// By first byte: where those that begin so are in `sorted`.
    ranges: Box<[(u32, u32); 256]>,
    /// The first bytes, if they are few; some twice.
    few: Option<[u8; FEW]>,
    /// A bit for the first two bytes of each; all bits of the first one for a single byte.
    pairs: Box<[u32; 2048]>,
}

impl Finder {
    /// None: one is empty, or stands twice.
    fn new(tokens: impl Iterator<Item = (Box<[u8]>, usize)>) -> Option<Self> {
        let mut sorted: Vec<_> = tokens.collect();
        sorted.sort_unstable();
        if sorted.windows(2).any(|two| two[0].0 == two[1].0) {
            return None;
        }
        let mut ranges = Box::new([(0, 0); 256]);
        let mut pairs = Box::new([0; 2048]);
        let mut firsts = vec![];
        for (at, (token, _)) in sorted.iter().enumerate() {
            let first = *token.first()?;
            let range = &mut ranges[usize::from(first)];
            if range.1 == 0 {
                range.0 = at as u32;
                firsts.push(first);
            }
            range.1 = at as u32 + 1;
            let row = &mut pairs[usize::from(first) * 8..][..8];
            match token.get(1) {
                Some(&second) => row[usize::from(second / 32)] |= 1 << (second % 32),
                None => row.fill(u32::MAX),
            }
        }
        let few = match firsts.len() {
            1..=FEW => Some(std::array::from_fn(|at| firsts[at % firsts.len()])),
            _ => None,
        };
        Some(Finder {
            sorted,
            ranges,
            few,
            pairs,
        })
    }

    /// The next place before `until` where a token may begin.
    #[inline(always)]
    fn candidate(&self, text: &[u8], mut at: usize, until: usize) -> Option<usize> {
        while at < until {
            if let Some([a, b, c, d]) = self.few {
                // Compared all at once, because nothing here ends the loop early.
                while let Some(near) = text.get(at..until).and_then(|rest| rest.first_chunk()) {
                    let near: &[u8; 16] = near;
                    let some = near.iter().fold(false, |some, &byte| {
                        some | (byte == a) | (byte == b) | (byte == c) | (byte == d)
                    });
                    if some {
                        break;
                    }
                    at += 16;
                }
            }
            let limit = until.min(at + 16);
            let first = |&byte: &u8| self.ranges[usize::from(byte)].1 > 0;
            match text[at..limit].iter().position(first) {
                None => at = limit,
                Some(place) => {
                    at += place;
                    let row = usize::from(text[at]) * 8;
                    // A token of one byte has all bits, also where the text ends.
                    let second = text.get(at + 1).copied().unwrap_or(0);
                    if self.pairs[row + usize::from(second / 32)] >> (second % 32) & 1 == 1 {
                        return Some(at);
                    }
                    at += 1;
                }
            }
        }
        None
    }

    /// Calls `each` for every token that begins at a place, the shortest first.
    #[inline(always)]
    fn beginning(&self, text: &[u8], at: usize, mut each: impl FnMut(usize, usize)) {
        let (low, high) = self.ranges[usize::from(text[at])];
        let mut here = &self.sorted[low as usize..high as usize];
        // All that are left have the same first bytes as the text; a shorter one comes first.
        for depth in 1.. {
            match here {
                [] => return,
                [(token, number)] => {
                    if text[at..].starts_with(token) {
                        each(at + token.len(), *number);
                    }
                    return;
                }
                [(token, number), rest @ ..] if token.len() == depth => {
                    each(at + depth, *number);
                    here = rest;
                }
                _ => {}
            }
            let Some(&byte) = text.get(at + depth) else {
                return;
            };
            // What the first and the last of them have, all have.
            let ends = [here.first(), here.last()];
            if ends
                .into_iter()
                .flatten()
                .any(|(token, _)| token[depth] != byte)
            {
                here = &here[here.partition_point(|(token, _)| token[depth] < byte)..];
                here = &here[..here.partition_point(|(token, _)| token[depth] == byte)];
            }
        }
    }

    /// The first token that begins from a place on and before `until`; of those the longest.
    fn next(&self, text: &[u8], mut at: usize, until: usize) -> Option<Found> {
        loop {
            at = self.candidate(text, at, until)?;
            let mut longest = None;
            self.beginning(text, at, |end, number| longest = Some((at, end, number)));
            if longest.is_some() {
                return longest;
            }
            at += 1;
        }
    }
}

/// The added tokens that are looked for together.
pub struct Phase {
    all: Finder,
    /// The special ones, if some of them are sought and others are not.
    special: Option<Finder>,
    texts: Vec<Box<str>>,
    ids: Vec<u32>,
    flags: Vec<u32>,
    /// The characters of words (first and last of each range), in order.
    words: Vec<(u32, u32)>,
    /// The tokens in the order in which they are looked for, if it is one after the other.
    one_by_one: Option<Vec<usize>>,
}

impl Phase {
    /// Tokens with their ids and flags. None: they are irregular.
    pub fn new(tokens: Vec<(&str, u32, u32)>, words: Vec<(u32, u32)>) -> Option<Self> {
        let texts: Vec<Box<str>> = tokens.iter().map(|token| token.0.into()).collect();
        let ids = tokens.iter().map(|token| token.1).collect();
        let flags: Vec<u32> = tokens.iter().map(|token| token.2).collect();
        let finder = |wanted: u32| {
            let numbers = (0..texts.len()).filter(|&number| flags[number] & wanted == wanted);
            Finder::new(numbers.map(|number| (texts[number].as_bytes().into(), number)))
        };
        let has = |wanted: u32| flags.iter().any(|each| each & (SOUGHT | SPECIAL) == wanted);
        let mixed = has(SOUGHT | SPECIAL) && has(SPECIAL);
        let mut order: Vec<usize> = (0..texts.len()).collect();
        order.retain(|&number| flags[number] & LONGEST_FIRST != 0);
        order.sort_by_key(|&number| std::cmp::Reverse(texts[number].len()));
        Some(Phase {
            all: finder(0)?,
            special: if mixed { Some(finder(SPECIAL)?) } else { None },
            one_by_one: (!order.is_empty()).then_some(order),
            texts,
            ids,
            flags,
            words,
        })
    }

    fn is(&self, number: usize, flag: u32) -> bool {
        self.flags[number] & flag != 0
    }

    /// Gives the segments of a text in order: the tokens that are found, and what is between. Two
    /// that take the same white space along may overlap. None: it is left to Python, which fails.
    pub fn find(&self, text: &str, mut give: impl FnMut(Segment) -> Option<()>) -> Option<()> {
        if let Some(order) = &self.one_by_one {
            return self
                .find_one_by_one(order, text)?
                .into_iter()
                .try_for_each(give);
        }
        let bytes = text.as_bytes();
        let (mut end, mut position, mut white_end) = (0, 0, 0);
        while let Some(mut found) = self.all.next(bytes, position, bytes.len()) {
            position = found.1;
            if !self.is(found.2, SOUGHT) {
                match self.inside(bytes, found) {
                    None => continue,
                    Some(inner) => found = inner,
                }
                position = found.1;
            }
            let (mut start, mut stop, number) = found;
            if self.is(number, DOUBTFUL) {
                return None;
            }
            if self.is(number, SINGLE_WORD) && !self.stands_alone(text, start, stop)? {
                continue;
            }
            if self.is(number, LSTRIP) {
                let before = text.get(end..start).unwrap_or("");
                start = end.max(end + before.trim_end_matches(self.white(number)).len());
            }
            if self.is(number, RSTRIP) {
                let ascii = self.is(number, ASCII_SPACE);
                // Within white space that was seen already, its end is known.
                if ascii || stop >= white_end {
                    let after = text.get(stop..)?;
                    stop = text.len() - after.trim_start_matches(self.white(number)).len();
                } else {
                    stop = white_end;
                }
                white_end = if ascii { white_end } else { stop };
            }
            if start > stop {
                return None;
            }
            if end < start {
                give((end, start, None))?;
            }
            if start < stop {
                give((start, stop, Some(self.ids[number])))?;
            }
            end = stop;
        }
        if end < text.len() {
            give((end, text.len(), None))?;
        }
        Some(())
    }

    /// What a token takes along.
    fn white(&self, number: usize) -> fn(char) -> bool {
        match self.is(number, ASCII_SPACE) {
            // With the vertical tab, which `is_ascii_whitespace` leaves out.
            true => |each| each == ' ' || ('\t'..='\r').contains(&each),
            false => char::is_whitespace,
        }
    }

    /// A special token that is sought, and begins inside a special one that is not.
    ///
    /// tiktoken goes on one character after the start of such a token (src/lib.rs, `encode`).
    fn inside(&self, text: &[u8], (mut start, stop, _): Found) -> Option<Found> {
        let special = self.special.as_ref()?;
        loop {
            let found = special.next(text, start + 1, stop)?;
            if self.is(found.2, SOUGHT) {
                return Some(found);
            }
            start = found.0;
        }
    }

    /// Whether no character of a word is beside a token.
    fn stands_alone(&self, text: &str, start: usize, stop: usize) -> Option<bool> {
        let in_word = |character: char| {
            let code = u32::from(character);
            let after = self.words.partition_point(|&(first, _)| first <= code);
            after > 0 && code <= self.words[after - 1].1
        };
        let before = text.get(..start)?.chars().next_back();
        let after = text.get(stop..)?.chars().next();
        Some(!before.is_some_and(in_word) && !after.is_some_and(in_word))
    }

    /// As llama.cpp does (`tokenizer_st_partition`): one token after the other.
    fn find_one_by_one(&self, order: &[usize], text: &str) -> Option<Vec<Segment>> {
        let mut occurs = vec![false; self.texts.len()];
        let bytes = text.as_bytes();
        let mut at = 0;
        while let Some(place) = self.all.candidate(bytes, at, bytes.len()) {
            self.all
                .beginning(bytes, place, |_, number| occurs[number] = true);
            at = place + 1;
        }
        let mut segments = vec![];
        if !text.is_empty() {
            segments.push((0, text.len(), None));
        }
        for &number in order {
            if !occurs[number] || !self.is(number, SOUGHT) {
                continue;
            }
            let mut cut = vec![];
            cut.try_reserve(segments.len()).ok()?;
            for segment in segments {
                match segment {
                    (_, _, Some(_)) => cut.push(segment),
                    (start, end, None) => self.cut_out(number, text, start, end, &mut cut)?,
                }
            }
            segments = cut;
        }
        Some(segments)
    }

    /// A stretch of text as the places of one token, from left to right, and what is between.
    fn cut_out(
        &self,
        number: usize,
        text: &str,
        mut begin: usize,
        end: usize,
        cut: &mut Vec<Segment>,
    ) -> Option<()> {
        let token = &*self.texts[number];
        while let Some(place) = text.get(begin..end)?.find(token) {
            let (mut start, mut stop) = (begin + place, begin + place + token.len());
            if self.is(number, LSTRIP) {
                let before = text.get(begin..start)?;
                start = begin + before.trim_end_matches(self.white(number)).len();
            }
            if self.is(number, RSTRIP) {
                let after = text.get(stop..end)?;
                stop = end - after.trim_start_matches(self.white(number)).len();
            }
            cut.try_reserve(3).ok()?;
            if start > begin {
                cut.push((begin, start, None));
            }
            cut.push((start, stop, Some(self.ids[number])));
            begin = stop;
        }
        if begin < end {
            cut.try_reserve(1).ok()?;
            cut.push((begin, end, None));
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(tokens: &[(&str, u32)], text: &str) -> Option<Vec<String>> {
        let listed = tokens
            .iter()
            .zip(0..)
            .map(|(&(text, flags), id)| (text, id, flags));
        let phase = Phase::new(listed.collect(), vec![(0x61, 0x7A)]).unwrap();
        let mut segments = vec![];
        phase.find(text, |(start, end, id)| {
            let part = &text[start..end];
            segments.push(id.map_or_else(|| part.to_string(), |id| format!("{id}:{part}")));
            Some(())
        })?;
        Some(segments)
    }

    #[test]
    fn the_leftmost_and_of_those_the_longest() {
        let tokens = [
            ("<a>", SOUGHT),
            ("<a", SOUGHT),
            ("a>b", SOUGHT),
            ("<", SOUGHT),
        ];
        assert_eq!(
            found(&tokens, "x<a>b<a<").unwrap(),
            ["x", "0:<a>", "b", "1:<a", "3:<"]
        );
        assert_eq!(found(&tokens, "").unwrap(), [""; 0]);
        let far = format!("{}<a>{}", "\u{e9}".repeat(40), "y".repeat(33));
        assert_eq!(found(&tokens, &far).unwrap().len(), 3);
    }

    #[test]
    fn one_that_is_not_sought_hides_what_is_not_special() {
        let special = |sought| SPECIAL | sought;
        let tokens = |sought| {
            let rest = [(">", SOUGHT), ("b", SOUGHT)];
            [("<a>", SPECIAL), ("a>b", special(sought)), rest[0], rest[1]]
        };
        assert_eq!(found(&tokens(0), "<a>b").unwrap(), ["<a>", "3:b"]);
        assert_eq!(found(&tokens(SOUGHT), "<a>b").unwrap(), ["<", "1:a>b"]);
    }

    #[test]
    fn white_space_is_taken_along() {
        let tokens = [
            ("<l>", SOUGHT | LSTRIP),
            ("<r>", SOUGHT | RSTRIP),
            (" ", SOUGHT),
        ];
        assert_eq!(
            found(&tokens, "a\u{a0}\t<l> b").unwrap(),
            ["a", "0:\u{a0}\t<l>", "2: ", "b"]
        );
        assert_eq!(
            found(&tokens, "<r>\u{a0} b").unwrap(),
            ["1:<r>\u{a0} ", "2: ", "b"]
        );
        let ascii = [("<r>", SOUGHT | RSTRIP | LSTRIP | ASCII_SPACE)];
        assert_eq!(
            found(&ascii, "\u{a0}\x0b<r>\n\u{a0}").unwrap(),
            ["\u{a0}", "0:\x0b<r>\n", "\u{a0}"]
        );
    }

    #[test]
    fn what_begins_in_white_space_that_was_taken_is_left_to_python() {
        let tokens = [("<r>", SOUGHT | RSTRIP), (" ", SOUGHT | LSTRIP)];
        assert!(found(&tokens, "<r>   x").is_none());
        assert!(found(&[("ab", SOUGHT | DOUBTFUL)], "xab").is_none());
        assert!(found(&[("ab", SOUGHT | DOUBTFUL)], "xa").is_some());
    }

    #[test]
    fn a_single_word_has_no_word_beside_it() {
        let tokens = [("<w>", SOUGHT | SINGLE_WORD)];
        assert_eq!(found(&tokens, "a<w> <w>").unwrap(), ["a<w> ", "0:<w>"]);
        assert_eq!(found(&tokens, "<w>a").unwrap(), ["<w>a"]);
    }

    #[test]
    fn one_token_after_the_other() {
        let flags = SOUGHT | LONGEST_FIRST;
        let tokens = [
            ("ab", flags),
            ("bcd", flags | RSTRIP | ASCII_SPACE),
            ("e", LONGEST_FIRST),
        ];
        assert_eq!(
            found(&tokens, "abcd  abe").unwrap(),
            ["a", "1:bcd  ", "0:ab", "e"]
        );
        assert_eq!(found(&tokens, "").unwrap(), [""; 0]);
    }

    #[test]
    fn irregular_tokens_are_refused() {
        assert!(Phase::new(vec![("", 0, SOUGHT)], vec![]).is_none());
        assert!(Phase::new(vec![("a", 0, SOUGHT), ("a", 1, SOUGHT)], vec![]).is_none());
    }
}

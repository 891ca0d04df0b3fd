//! The last merge of every token, found from those of shorter ones (Theorem 16 in
//! `docs/theory.md`; the twin, `merging/canonical.py`, runs the merges on each token).
//!
//! Tokens have numbers here: first the symbols, then what merges may build, in the order of
//! their priorities.
#![forbid(unsafe_code)]

use crate::merges::Merges;
use crate::pairs::{Pairs, NONE};
use crate::table::{has_no_ties, Table};
use crate::tokens::Tokens;

/// The longest token that is looked at: the work grows with the square of it.
const LONGEST: usize = 4096;

/// The longest run of symbols that is merged step by step here.
const LONGEST_RUN: usize = 512;

/// In a part: the rest is no token of the table but a symbol, the byte or the code point.
pub const SYMBOL: u32 = 1 << 31;

/// What a token is made of before merging.
#[derive(Clone, Copy, PartialEq)]
pub enum Alphabet {
    Bytes,
    Characters,
}

/// What may merge.
pub enum Rule<'a> {
    /// Whatever is a token, in the order of these numbers of the table's tokens.
    Ranks(&'a [u32]),
    /// The listed pairs.
    List(&'a Merges),
}

/// The canonical form of a merge rule over a table.
pub struct Form {
    /// The tokens that merging builds, by their places in the table, in the order of priorities.
    pub tokens: Vec<u32>,
    /// Their parts: places in the table, or `SYMBOL` and what it is.
    pub left: Vec<u32>,
    pub right: Vec<u32>,
    /// The priority of each: a rank, or a place in the list.
    pub priority: Vec<u32>,
    /// Which of the built tokens (positions in `tokens`) do not come after both their parts.
    pub disordered: Vec<u32>,
    /// Places in the table of what is neither built nor a symbol.
    pub unreachable: Vec<u32>,
}

impl Form {
    /// That of no merges over no tokens.
    pub fn empty() -> Self {
        Form {
            tokens: vec![],
            left: vec![],
            right: vec![],
            priority: vec![],
            disordered: vec![],
            unreachable: vec![],
        }
    }

    /// Whether no token of it, and no part, is at a place that the table does not have.
    pub fn fits(&self, table: &Table) -> bool {
        let there = |&at: &u32| (at as usize) < table.tokens.len();
        let parts = self.left.iter().chain(&self.right);
        self.tokens.iter().all(there) && parts.filter(|&at| at & SYMBOL == 0).all(there)
    }
}

/// The form; `known`: only symbols that are tokens are there before merging. None: two priorities
/// are equal, a list is mixed, or something is irregular.
pub fn form(table: &Table, alphabet: Alphabet, rule: &Rule, known: bool) -> Option<Form> {
    let mut numbering = Numbering::new(table, alphabet, known)?;
    let listed = match rule {
        Rule::Ranks(ranks) => {
            if !has_no_ties(ranks) {
                return None;
            }
            numbering.add_ranked(table, ranks)?;
            None
        }
        Rule::List(merges) => Some(numbering.add_listed(table, merges)?),
    };
    numbering.tokens.index()?;
    let mut search = Search::new(&numbering, listed, alphabet);
    search.all()?;
    let (left, right) = (search.left, search.right);
    let priority = |number: usize| match rule {
        Rule::Ranks(ranks) => ranks[numbering.origin[number] as usize],
        Rule::List(_) => search.places.rank(left[number], right[number]),
    };
    let mut form = Form::empty();
    let mut reached = vec![false; table.tokens.len()];
    for &origin in &numbering.origin[..numbering.symbols] {
        if origin & SYMBOL == 0 {
            reached[origin as usize] = true;
        }
    }
    for number in numbering.symbols..numbering.tokens.len() {
        if left[number] == NONE {
            continue;
        }
        if search.disordered[number] {
            form.disordered.push(form.tokens.len() as u32);
        }
        form.tokens.push(numbering.origin[number]);
        form.left.push(numbering.origin[left[number] as usize]);
        form.right.push(numbering.origin[right[number] as usize]);
        form.priority.push(priority(number));
        reached[numbering.origin[number] as usize] = true;
    }
    form.unreachable = (0..reached.len() as u32)
        .filter(|&at| !reached[at as usize])
        .collect();
    Some(form)
}

/// Symbols and tokens in the order of their numbers, and where each stands in the table.
struct Numbering {
    tokens: Tokens,
    origin: Vec<u32>,
    symbols: usize,
    alphabet: Alphabet,
}

impl Numbering {
    /// With the symbols alone.
    fn new(table: &Table, alphabet: Alphabet, known: bool) -> Option<Self> {
        let contents = &table.tokens;
        if contents.len() >= SYMBOL as usize
            || (0..contents.len()).any(|at| contents.size(at) > LONGEST)
        {
            return None;
        }
        let mut met: Vec<u32> = match alphabet {
            Alphabet::Bytes => {
                let mut seen = [false; 256];
                contents
                    .bytes()
                    .iter()
                    .for_each(|&byte| seen[usize::from(byte)] = true);
                (0..256).filter(|&byte| seen[byte as usize]).collect()
            }
            Alphabet::Characters => {
                for at in 0..contents.len() {
                    std::str::from_utf8(contents.get(at)).ok()?;
                }
                let text = std::str::from_utf8(contents.bytes()).ok()?;
                text.chars().map(u32::from).collect()
            }
        };
        met.sort_unstable();
        met.dedup();
        let room = contents.len() + met.len();
        let mut numbering = Numbering {
            tokens: Tokens::with_room(room, contents.bytes().len() + 4 * met.len()),
            origin: Vec::with_capacity(room),
            symbols: 0,
            alphabet,
        };
        for symbol in met {
            let mut room = [0; 4];
            let spelled = match alphabet {
                Alphabet::Bytes => {
                    room[0] = symbol as u8;
                    &room[..1]
                }
                Alphabet::Characters => char::from_u32(symbol)?.encode_utf8(&mut room).as_bytes(),
            };
            match contents.find(spelled) {
                Some(at) => numbering.add(spelled, at)?,
                None if known => {}
                None => numbering.add(spelled, SYMBOL | symbol)?,
            }
        }
        numbering.symbols = numbering.tokens.len();
        Some(numbering)
    }

    fn add(&mut self, content: &[u8], origin: u32) -> Option<()> {
        self.origin.push(origin);
        self.tokens.push(content)
    }

    fn is_symbol(&self, content: &[u8]) -> bool {
        match self.alphabet {
            Alphabet::Bytes => content.len() == 1,
            Alphabet::Characters => characters(content) == 1,
        }
    }

    fn add_ranked(&mut self, table: &Table, ranks: &[u32]) -> Option<()> {
        let mut order: Vec<u32> = (0..ranks.len() as u32).collect();
        if !ranks.windows(2).all(|two| two[0] < two[1]) {
            order.sort_unstable_by_key(|&at| ranks[at as usize]);
        }
        // The largest number never merges.
        for at in order.into_iter().filter(|&at| ranks[at as usize] != NONE) {
            let content = table.tokens.get(at as usize);
            if !self.is_symbol(content) {
                self.add(content, at)?;
            }
        }
        Some(())
    }

    fn add_listed<'a>(&mut self, table: &Table, merges: &'a Merges) -> Option<Listed<'a>> {
        let mut number = vec![NONE; table.tokens.len()];
        for (symbol, &origin) in self.origin.iter().enumerate() {
            if origin & SYMBOL == 0 {
                number[origin as usize] = symbol as u32;
            }
        }
        let mut first = vec![0; self.symbols];
        let mut end = first.clone();
        for (place, &product) in merges.product.iter().enumerate() {
            if place > 0 && merges.product[place - 1] == product {
                *end.last_mut()? = place as u32 + 1;
                continue;
            }
            // Other pairs stand between those for one token, or it is a symbol.
            if number[product as usize] != NONE {
                return None;
            }
            number[product as usize] = self.tokens.len() as u32;
            self.add(table.tokens.get(product as usize), product)?;
            first.push(place as u32);
            end.push(place as u32 + 1);
        }
        Some(Listed {
            merges,
            number,
            first,
            end,
        })
    }
}

/// How many characters a content in UTF-8 has.
pub fn characters(content: &[u8]) -> usize {
    content.iter().filter(|&&byte| byte & 0xC0 != 0x80).count()
}

/// A list by the numbers of its tokens.
struct Listed<'a> {
    merges: &'a Merges,
    number: Vec<u32>, // by place in the table; NONE for what is never there
    first: Vec<u32>,  // by number: where its pairs begin in the list
    end: Vec<u32>,
}

struct Search<'a> {
    tokens: &'a Tokens,
    symbols: u32,
    alphabet: Alphabet,
    listed: Option<Listed<'a>>,
    left: Vec<u32>,
    right: Vec<u32>,
    unbuilt: Vec<bool>,
    disordered: Vec<bool>,
    /// The last number among a token's own merges, where that is not its own; 0 elsewhere.
    late: Vec<u32>,
    any_late: bool,
    /// What two parts of a known last merge become.
    fires: Pairs,
    /// The last place of each pair of a list.
    places: Pairs,
}

/// What is known of a token.
enum Cut {
    Parts(u32, u32),
    Unbuilt,
    Irregular,
}

impl<'a> Search<'a> {
    fn new(numbering: &'a Numbering, listed: Option<Listed<'a>>, alphabet: Alphabet) -> Self {
        let count = numbering.tokens.len();
        let mut places = Pairs::with_room(listed.as_ref().map_or(0, |each| each.merges.left.len()));
        if let Some(Listed { merges, number, .. }) = &listed {
            for (place, (&left, &right)) in merges.left.iter().zip(&merges.right).enumerate() {
                places.set(number[left as usize], number[right as usize], place as u32);
            }
        }
        Search {
            tokens: &numbering.tokens,
            symbols: numbering.symbols as u32,
            alphabet,
            listed,
            left: vec![NONE; count],
            right: vec![NONE; count],
            unbuilt: vec![false; count],
            disordered: vec![false; count],
            late: vec![0; count],
            any_late: false,
            fires: Pairs::with_room(count),
            places,
        }
    }

    /// The last merge of each token, short tokens first.
    fn all(&mut self) -> Option<()> {
        let mut by_size: Vec<u32> = (self.symbols..self.tokens.len() as u32).collect();
        by_size.sort_by_key(|&at| self.tokens.size(at as usize));
        for at in by_size {
            match self.cut(at) {
                Cut::Irregular => return None,
                Cut::Unbuilt => self.unbuilt[at as usize] = true,
                Cut::Parts(left, right) => self.learn(at, left, right),
            }
        }
        Some(())
    }

    fn learn(&mut self, at: u32, left: u32, right: u32) {
        let here = at as usize;
        self.left[here] = left;
        self.right[here] = right;
        self.fires.set(left, right, at);
        let mut last = left.max(right);
        self.disordered[here] = last >= at;
        if self.any_late {
            last = last
                .max(self.late[left as usize])
                .max(self.late[right as usize]);
        }
        if last >= at {
            self.late[here] = last;
            self.any_late = true;
        }
    }

    /// Looks for the one cut of a token at which both parts stay as they are.
    fn cut(&self, at: u32) -> Cut {
        match &self.listed {
            None => self.cut_ranked(at),
            Some(listed) => self.cut_listed(at, listed),
        }
    }

    fn cut_ranked(&self, at: u32) -> Cut {
        let content = self.tokens.get(at as usize);
        for place in (1..content.len()).rev() {
            if self.alphabet == Alphabet::Characters && content[place] & 0xC0 == 0x80 {
                continue;
            }
            let Some(left) = self.built(&content[..place]) else {
                continue;
            };
            let Some(right) = self.built(&content[place..]) else {
                continue;
            };
            match self.apart(left, right) {
                Some(true) => return Cut::Parts(left, right),
                Some(false) => {}
                None => return self.cut_by_running(at),
            }
        }
        Cut::Unbuilt
    }

    fn cut_listed(&self, at: u32, listed: &Listed) -> Cut {
        let number = |place: u32| listed.number[place as usize];
        let there = |number: u32| number != NONE && !self.unbuilt[number as usize];
        for place in listed.first[at as usize]..listed.end[at as usize] {
            let left = number(listed.merges.left[place as usize]);
            let right = number(listed.merges.right[place as usize]);
            if !there(left) || !there(right) {
                continue;
            }
            match self.apart(left, right) {
                Some(true) => return Cut::Parts(left, right),
                Some(false) => {}
                None => return self.cut_by_running(at),
            }
        }
        Cut::Unbuilt
    }

    #[inline(always)]
    fn built(&self, content: &[u8]) -> Option<u32> {
        let at = self.tokens.find(content)?;
        (!self.unbuilt[at as usize]).then_some(at)
    }

    /// Whether two tokens stay as they are side by side; None: this cannot tell.
    #[inline(always)]
    fn apart(&self, mut left: u32, mut right: u32) -> Option<bool> {
        let mut limit = NONE;
        loop {
            if self.fires.rank(left, right) < limit {
                return Some(false);
            }
            if self.any_late && (self.late[left as usize] | self.late[right as usize]) != 0 {
                return None;
            }
            // Of the same merge on both sides the left one came first.
            if left > right {
                if left < self.symbols {
                    return Some(true);
                }
                limit = left;
                left = self.right[left as usize];
            } else {
                if right < self.symbols {
                    return Some(true);
                }
                limit = right + 1;
                right = self.left[right as usize];
            }
        }
    }

    /// The two parts before the last merge, by running all merges on a token's symbols.
    fn cut_by_running(&self, at: u32) -> Cut {
        let content = self.tokens.get(at as usize);
        let Some(mut parts) = self.symbols_of(content) else {
            return Cut::Irregular;
        };
        // Each merge looks at every pair again: for long tokens Python's way is faster.
        if parts.len() > LONGEST_RUN {
            return Cut::Irregular;
        }
        while parts.len() > 2 {
            let pairs = parts
                .windows(2)
                .map(|two| self.priority(content, &two[0], &two[1]));
            let Some((place, rank)) = pairs.enumerate().min_by_key(|&(_, rank)| rank) else {
                return Cut::Unbuilt;
            };
            if rank == NONE {
                return Cut::Unbuilt;
            }
            let (start, end) = (parts[place].start, parts[place + 1].end);
            let Some(number) = self.tokens.find(&content[start..end]) else {
                return Cut::Irregular;
            };
            parts[place] = Part { start, end, number };
            parts.remove(place + 1);
        }
        let [left, right] = parts[..] else {
            return Cut::Unbuilt;
        };
        if let Some(listed) = &self.listed {
            let merges = listed.merges;
            let listed_cut = (listed.first[at as usize]..listed.end[at as usize])
                .any(|place| listed.number[merges.left[place as usize] as usize] == left.number);
            if !listed_cut {
                return Cut::Unbuilt;
            }
        }
        if self.unbuilt[left.number as usize] || self.unbuilt[right.number as usize] {
            return Cut::Irregular;
        }
        Cut::Parts(left.number, right.number)
    }

    fn symbols_of(&self, content: &[u8]) -> Option<Vec<Part>> {
        let mut parts = vec![];
        let mut start = 0;
        for end in 1..=content.len() {
            let inside = end < content.len() && content[end] & 0xC0 == 0x80;
            if self.alphabet == Alphabet::Characters && inside {
                continue;
            }
            let number = self.tokens.find(&content[start..end])?;
            parts.push(Part { start, end, number });
            start = end;
        }
        Some(parts)
    }

    fn priority(&self, content: &[u8], left: &Part, right: &Part) -> u32 {
        if self.listed.is_some() {
            return self.places.rank(left.number, right.number);
        }
        self.tokens
            .find(&content[left.start..right.end])
            .unwrap_or(NONE)
    }
}

#[derive(Clone, Copy)]
struct Part {
    start: usize,
    end: usize,
    number: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(tokens: &[(&str, u32)]) -> Table {
        let mut contents = Tokens::with_room(0, 0);
        for (token, _) in tokens {
            contents.push(token.as_bytes()).unwrap();
        }
        Table::new(contents, tokens.iter().map(|&(_, number)| number).collect()).unwrap()
    }

    #[test]
    fn ranks_out_of_order_are_seen() {
        let table = table(&[
            ("a", 0),
            ("b", 1),
            ("abab", 2),
            ("ab", 3),
            ("ba", 4),
            ("aba", 5),
        ]);
        let form = form(&table, Alphabet::Bytes, &Rule::Ranks(&table.numbers), false).unwrap();
        // `abab` merges before `ab`, of which it is made, wherever two of these meet.
        assert_eq!(form.tokens, [2, 3, 4, 5]);
        assert_eq!((form.left[0], form.right[0]), (3, 3));
        assert_eq!(form.disordered, [0]);
        assert_eq!(form.priority, [2, 3, 4, 5]);
    }

    #[test]
    fn a_list_that_is_mixed_is_left_to_python() {
        let table = table(&[("a", 0), ("b", 1), ("aa", 2), ("ab", 3), ("aab", 4)]);
        let mut merges = Merges {
            left: vec![0, 0, 2],
            right: vec![0, 1, 1],
            product: vec![2, 3, 4],
        };
        let list = form(&table, Alphabet::Bytes, &Rule::List(&merges), false).unwrap();
        assert_eq!(list.tokens, [2, 3, 4]);
        merges.left.push(0);
        merges.right.push(0);
        merges.product.push(2);
        assert!(form(&table, Alphabet::Bytes, &Rule::List(&merges), false).is_none());
    }
}

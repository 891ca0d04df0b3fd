//! Whether a list has the split of each token that ranks build, in the order of the ranks (twin:
//! `_listed_as_ranked` in `theory/equality.py`; Theorem 4).
#![forbid(unsafe_code)]

use crate::canonical::{characters, Alphabet, Form, SYMBOL};
use crate::comparing::places;
use crate::merges::Merges;
use crate::pairs::{Pairs, NONE};
use crate::table::Table;

/// The canonical form of the list, over its own table; None: the theorem does not hold.
///
/// `form` is that of `ranked`, of which the numbers are ranks; `merges` is over `listed`.
pub fn listed_as_ranked(
    ranked: &Table,
    form: &Form,
    listed: &Table,
    merges: &Merges,
    alphabet: Alphabet,
) -> Option<Form> {
    let there = join(ranked, listed, alphabet);
    let mut listing = Pairs::with_room(merges.left.len());
    for (place, &product) in merges.product.iter().enumerate() {
        let made = there[product as usize];
        if made & SYMBOL != 0 || ranked.numbers[made as usize] == NONE {
            return None;
        }
        let left = there[merges.left[place] as usize];
        let right = there[merges.right[place] as usize];
        if left != NONE && right != NONE {
            listing.set(left, right, place as u32); // a pair counts at its last place
        }
    }
    let mut own = vec![NONE; listed.tokens.len()];
    let mut found = Form::empty();
    let mut last = 0;
    for (&left, &right) in form.left.iter().zip(&form.right) {
        let place = listing.rank(left, right);
        if place == NONE || place < last {
            return None;
        }
        last = place;
        let at = place as usize;
        let (left, right, product) = (merges.left[at], merges.right[at], merges.product[at]);
        found.tokens.push(product);
        found.left.push(left);
        found.right.push(right);
        found.priority.push(place);
        own[product as usize] = place;
    }
    let late = |part: u32, place: u32| own[part as usize] != NONE && own[part as usize] >= place;
    found.disordered = (0..found.tokens.len() as u32)
        .filter(|&at| {
            let at = at as usize;
            late(found.left[at], found.priority[at]) || late(found.right[at], found.priority[at])
        })
        .collect();
    found.unreachable = (0..listed.tokens.len() as u32)
        .filter(|&at| own[at as usize] == NONE)
        .filter(|&at| symbol(listed.tokens.get(at as usize), alphabet).is_none())
        .collect();
    Some(found)
}

/// Whether a table ranks the tokens that a list builds, in its order, and besides these only
/// single bytes (twin: `_ranked_as_listed`; Theorem 13).
///
/// `form` is that of the list, over `listed`; symbols are bytes.
pub fn ranked_as_listed(ranked: &Table, listed: &Table, form: &Form) -> bool {
    let there = places(&listed.tokens, &ranked.tokens);
    let mut built = vec![false; ranked.numbers.len()];
    let mut least = 0;
    for &token in &form.tokens {
        let place = there[token as usize];
        if place == NONE {
            return false;
        }
        let rank = ranked.numbers[place as usize];
        if rank < least || rank == NONE {
            return false;
        }
        least = rank + 1;
        built[place as usize] = true;
    }
    (0..built.len()).all(|at| built[at] || ranked.tokens.size(at) == 1)
}

/// What each token of one table is in another: a place, `SYMBOL` and what it is, or `NONE`.
fn join(ranked: &Table, listed: &Table, alphabet: Alphabet) -> Vec<u32> {
    places(&listed.tokens, &ranked.tokens)
        .into_iter()
        .enumerate()
        .map(|(at, place)| match place {
            NONE => symbol(listed.tokens.get(at), alphabet).map_or(NONE, |code| SYMBOL | code),
            found => found,
        })
        .collect()
}

/// The byte or the code point, where a content is a single symbol.
fn symbol(content: &[u8], alphabet: Alphabet) -> Option<u32> {
    match alphabet {
        Alphabet::Bytes => (content.len() == 1).then(|| u32::from(content[0])),
        Alphabet::Characters if characters(content) == 1 => {
            let text = std::str::from_utf8(content).ok()?;
            text.chars().next().map(u32::from)
        }
        Alphabet::Characters => None,
    }
}

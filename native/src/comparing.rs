//! What two tables, or two lists of merges, have in common (twin: `entries.py`).
#![forbid(unsafe_code)]

use crate::merges::Merges;
use crate::pairs::NONE;
use crate::table::Table;
use crate::tokens::Tokens;

/// Where each token of one stands in another; `NONE` for what is not there.
///
/// Tokens mostly stand in the same order in both, and the next one is then found by looking.
pub fn places(tokens: &Tokens, others: &Tokens) -> Vec<u32> {
    let mut next = 0;
    (0..tokens.len())
        .map(|at| {
            let content = tokens.get(at);
            if next < others.len() && others.get(next) == content {
                next += 1;
                return next as u32 - 1;
            }
            let found = others.find(content);
            if let Some(place) = found {
                next = place as usize + 1;
            }
            found.unwrap_or(NONE)
        })
        .collect()
}

/// The tokens of a table that another has not, or has with another number.
pub struct Apart {
    /// How many tokens both have, whatever their numbers.
    pub shared: usize,
    /// Places in the first table.
    pub places: Vec<u32>,
}

/// Which entries of a table are not those of another.
pub fn apart(table: &Table, other: &Table) -> Apart {
    let there = places(&table.tokens, &other.tokens);
    let mut found = Apart {
        shared: 0,
        places: vec![],
    };
    for (at, &place) in there.iter().enumerate() {
        found.shared += usize::from(place != NONE);
        if place == NONE || other.numbers[place as usize] != table.numbers[at] {
            found.places.push(at as u32);
        }
    }
    found
}

/// Whether two lists have the same pairs in the same order, each over its own table.
pub fn same_pairs(table: &Table, merges: &Merges, other: &Table, others: &Merges) -> bool {
    if merges.left.len() != others.left.len() {
        return false;
    }
    let there = places(&table.tokens, &other.tokens);
    let same = |ours: &[u32], theirs: &[u32]| {
        ours.iter()
            .zip(theirs)
            .all(|(&one, &other)| there[one as usize] == other)
    };
    same(&merges.left, &others.left) && same(&merges.right, &others.right)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(entries: &[(&str, u32)]) -> Table {
        let mut tokens = Tokens::with_room(0, 0);
        for (token, _) in entries {
            tokens.push(token.as_bytes()).unwrap();
        }
        Table::new(tokens, entries.iter().map(|&(_, number)| number).collect()).unwrap()
    }

    #[test]
    fn entries_are_compared_in_any_order() {
        let one = table(&[("a", 0), ("b", 1), ("ab", 2), ("c", 7)]);
        let two = table(&[("ab", 2), ("a", 0), ("b", 3), ("x", 7)]);
        let found = apart(&one, &two);
        assert_eq!((found.shared, found.places), (3, vec![1, 3]));
        assert!(apart(&one, &one).places.is_empty());
    }

    #[test]
    fn pairs_are_compared_by_what_they_name() {
        let one = table(&[("a", 0), ("b", 1), ("ab", 2), ("ba", 3)]);
        let two = table(&[("ba", 0), ("ab", 1), ("b", 2), ("a", 3)]);
        let merges = |pairs: &[(u32, u32, u32)]| Merges {
            left: pairs.iter().map(|pair| pair.0).collect(),
            right: pairs.iter().map(|pair| pair.1).collect(),
            product: pairs.iter().map(|pair| pair.2).collect(),
        };
        let first = merges(&[(0, 1, 2), (1, 0, 3)]);
        assert!(same_pairs(
            &one,
            &first,
            &two,
            &merges(&[(3, 2, 1), (2, 3, 0)])
        ));
        let others: [&[(u32, u32, u32)]; 3] = [
            &[(2, 3, 0), (3, 2, 1)],
            &[(3, 2, 1)],
            &[(3, 2, 1), (2, 2, 0)],
        ];
        for other in others {
            assert!(!same_pairs(&one, &first, &two, &merges(other)));
        }
    }
}

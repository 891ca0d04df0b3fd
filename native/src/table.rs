//! Tokens and the number of each: ids, or ranks.
//!
//! `NONE` is no rank, and may be given to many tokens where numbers are ranks.
#![forbid(unsafe_code)]

use crate::pairs::NONE;
use crate::tokens::Tokens;

/// Distinct tokens that are not empty, in some order, and a number for each.
pub struct Table {
    pub tokens: Tokens,
    pub numbers: Vec<u32>,
}

impl Table {
    /// None: there is no token, one is empty, two are the same, or two have the same number.
    pub fn new(tokens: Tokens, numbers: Vec<u32>) -> Option<Self> {
        if !distinct(&numbers) {
            return None;
        }
        Table::ranked(tokens, numbers)
    }

    /// The same where two numbers may be equal.
    pub fn ranked(mut tokens: Tokens, numbers: Vec<u32>) -> Option<Self> {
        if numbers.is_empty() || tokens.len() != numbers.len() {
            return None;
        }
        if tokens.ends().windows(2).any(|two| two[0] == two[1]) {
            return None;
        }
        tokens.index()?;
        Some(Table { tokens, numbers })
    }

    /// The places of the tokens that have some of these numbers, which are in order.
    pub fn numbered(&self, wanted: &[u32]) -> Vec<u32> {
        let (Some(&first), Some(&last)) = (wanted.first(), wanted.last()) else {
            return vec![];
        };
        let is_wanted =
            |number: &u32| (first..=last).contains(number) && wanted.binary_search(number).is_ok();
        (0..)
            .zip(&self.numbers)
            .filter(|(_, number)| is_wanted(number))
            .map(|(at, _)| at)
            .collect()
    }

    /// The same without the tokens at these places.
    pub fn without(&self, places: &[u32]) -> Option<Self> {
        let mut kept = vec![true; self.numbers.len()];
        for &at in places {
            *kept.get_mut(at as usize)? = false;
        }
        let mut tokens = Tokens::with_room(self.tokens.len(), self.tokens.bytes().len());
        let mut numbers = Vec::with_capacity(self.numbers.len());
        for at in (0..kept.len()).filter(|&at| kept[at]) {
            tokens.push(self.tokens.get(at))?;
            numbers.push(self.numbers[at]);
        }
        Table::new(tokens, numbers)
    }
}

/// Whether no two ranks are equal; the largest number is none.
pub fn has_no_ties(ranks: &[u32]) -> bool {
    let ranks: Vec<u32> = ranks.iter().copied().filter(|&rank| rank != NONE).collect();
    distinct(&ranks)
}

fn distinct(numbers: &[u32]) -> bool {
    let Some(&most) = numbers.iter().max() else {
        return true;
    };
    if most as usize >= numbers.len() * 8 + 1024 {
        let mut sorted = numbers.to_vec();
        sorted.sort_unstable();
        return sorted.windows(2).all(|two| two[0] != two[1]);
    }
    let mut seen = vec![false; most as usize + 1];
    numbers
        .iter()
        .all(|&number| !std::mem::replace(&mut seen[number as usize], true))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_distinct_near_and_far() {
        assert!(distinct(&[3, 1, 2]));
        assert!(!distinct(&[3, 1, 3]));
        assert!(distinct(&[u32::MAX, 0, u32::MAX - 1]));
        assert!(!distinct(&[u32::MAX, 0, u32::MAX]));
    }

    #[test]
    fn tokens_are_left_out() {
        let mut tokens = Tokens::with_room(0, 0);
        for content in [&b"a"[..], b"bc", b"d"] {
            tokens.push(content).unwrap();
        }
        let table = Table::new(tokens, vec![5, 6, 7]).unwrap();
        let rest = table.without(&[1]).unwrap();
        assert_eq!(rest.numbers, [5, 7]);
        assert_eq!(rest.tokens.find(b"bc"), None);
        assert_eq!(rest.tokens.find(b"d"), Some(1));
        assert!(table.without(&[3]).is_none());
    }

    #[test]
    fn tokens_are_found_by_number() {
        let mut tokens = Tokens::with_room(0, 0);
        for content in [&b"a"[..], b"bc", b"d"] {
            tokens.push(content).unwrap();
        }
        let table = Table::new(tokens, vec![7, 5, 9]).unwrap();
        assert_eq!(table.numbered(&[]), []);
        assert_eq!(table.numbered(&[6, 8]), []);
        assert_eq!(table.numbered(&[0, 5, 8, 9]), [1, 2]);
    }
}

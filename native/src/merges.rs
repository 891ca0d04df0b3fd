//! A list of merges over a table: the pairs in their order, by places in the table.
#![forbid(unsafe_code)]

use crate::table::Table;

/// Pairs and what they become; a pair may be listed more than once.
pub struct Merges {
    pub left: Vec<u32>,
    pub right: Vec<u32>,
    pub product: Vec<u32>,
}

impl Merges {
    /// The pairs of a table whose parts are spelled one after the other in `bytes`: left, right,
    /// left, right, with the size of each. None: a part or a product is not in the table.
    pub fn new(table: &Table, bytes: &[u8], sizes: &[u32]) -> Option<Self> {
        let mut merges = Merges::with_room(sizes.len() / 2);
        let mut start = 0usize;
        for pair in sizes.chunks(2) {
            let &[left, right] = pair else {
                return None;
            };
            let cut = start.checked_add(left as usize)?;
            let end = cut.checked_add(right as usize)?;
            let product = bytes.get(start..end)?;
            let (left, right) = product.split_at(left as usize);
            merges.left.push(table.tokens.find(left)?);
            merges.right.push(table.tokens.find(right)?);
            merges.product.push(table.tokens.find(product)?);
            start = end;
        }
        Some(merges)
    }

    /// No pairs, with room for some.
    pub fn with_room(count: usize) -> Self {
        Merges {
            left: Vec::with_capacity(count),
            right: Vec::with_capacity(count),
            product: Vec::with_capacity(count),
        }
    }

    /// Which of a table's `count` places are named, as a part or as what is made.
    pub fn used(&self, count: usize) -> Vec<bool> {
        let mut used = vec![false; count];
        for places in [&self.left, &self.right, &self.product] {
            places.iter().for_each(|&at| used[at as usize] = true);
        }
        used
    }

    /// The same over a table of `count` tokens that is without these. None: a pair names one.
    pub fn without(&self, places: &[u32], count: usize) -> Option<Self> {
        let mut gone = vec![false; count];
        for &at in places {
            *gone.get_mut(at as usize)? = true;
        }
        let mut next = 0;
        let moved: Vec<Option<u32>> = gone
            .iter()
            .map(|&gone| {
                let here = (!gone).then_some(next);
                next += u32::from(!gone);
                here
            })
            .collect();
        let move_all = |from: &[u32]| -> Option<Vec<u32>> {
            from.iter().map(|&at| *moved.get(at as usize)?).collect()
        };
        Some(Merges {
            left: move_all(&self.left)?,
            right: move_all(&self.right)?,
            product: move_all(&self.product)?,
        })
    }

    /// Whether no pair names a place that the table does not have.
    pub fn fits(&self, table: &Table) -> bool {
        let count = table.tokens.len();
        [&self.left, &self.right, &self.product]
            .into_iter()
            .all(|places| {
                places.len() == self.left.len() && places.iter().all(|&at| (at as usize) < count)
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_move_where_tokens_go() {
        let merges = Merges {
            left: vec![0, 3],
            right: vec![2, 0],
            product: vec![4, 5],
        };
        let moved = merges.without(&[1], 6).unwrap();
        assert_eq!(
            (moved.left, moved.right, moved.product),
            (vec![0, 2], vec![1, 0], vec![3, 4])
        );
        assert!(merges.without(&[3], 6).is_none());
        assert!(merges.without(&[6], 6).is_none());
        assert!(merges.without(&[], 5).is_none());
    }
}

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

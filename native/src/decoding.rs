//! Ids to bytes, joined (twin: `encode/decode.py`).
#![forbid(unsafe_code)]

use crate::pairs::NONE;
use crate::tokens::MOST;

/// Bytes that are copied at a time, whatever a token has; there is room for more behind the last.
pub const AHEAD: usize = 16;

/// What each id stands for.
pub struct Decoder {
    bytes: Vec<u8>,
    /// By id: where its bytes start, and how many they are; `NONE` where no token has the id.
    places: Vec<(u32, u32)>,
}

impl Decoder {
    /// The contents of ids, one after the other. None: their sizes are not those of the bytes, an
    /// id comes twice, or most numbers up to the largest id are unused.
    pub fn new(bytes: &[u8], ids: &[u32], sizes: &[u32]) -> Option<Self> {
        let largest = ids.iter().max().map_or(0, |&id| id as usize);
        if ids.len() != sizes.len() || largest > ids.len() * 8 + (1 << 16) || bytes.len() > MOST {
            return None;
        }
        let mut places = vec![(0, NONE); largest + 1];
        let mut start = 0;
        for (&id, &size) in ids.iter().zip(sizes) {
            let end = start + size as usize;
            let place = &mut places[id as usize];
            if end > bytes.len() || place.1 != NONE {
                return None;
            }
            *place = (start as u32, size);
            start = end;
        }
        let mut padded = bytes.to_vec();
        padded.resize(bytes.len() + AHEAD, 0);
        Some(Decoder {
            bytes: padded,
            places,
        })
    }

    /// How many bytes ids have together. None: one has no token.
    pub fn size(&self, ids: &[u32]) -> Option<usize> {
        let mut size = 0;
        for &id in ids {
            let (_, each) = *self.places.get(id as usize)?;
            if each == NONE {
                return None;
            }
            size += each as usize;
        }
        Some(size)
    }

    /// Writes the bytes of ids, and something into the `AHEAD` bytes behind them. None: there is
    /// no room, or an id has no token.
    pub fn join(&self, ids: &[u32], out: &mut [u8]) -> Option<usize> {
        let mut at = 0;
        for &id in ids {
            let (start, size) = *self.places.get(id as usize)?;
            if size == NONE {
                return None;
            }
            let (start, size) = (start as usize, size as usize);
            let count = if size > AHEAD { size } else { AHEAD };
            out.get_mut(at..at + count)?
                .copy_from_slice(&self.bytes[start..start + count]);
            at += size;
        }
        (at + AHEAD <= out.len()).then_some(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_are_joined() {
        let long = [b'x'; 40];
        let bytes = [b"abc", &long[..]].concat();
        let decoder = Decoder::new(&bytes, &[7, 2, 0, 9], &[2, 0, 1, 40]).unwrap();
        let ids = [7, 9, 0, 2, 7];
        let mut out = vec![0; decoder.size(&ids).unwrap() + AHEAD];
        let size = decoder.join(&ids, &mut out).unwrap();
        assert_eq!(&out[..size], [b"ab", &long[..], b"cab"].concat());
        assert!(decoder.join(&ids, &mut out[..size + AHEAD - 1]).is_none());
        for unknown in [1, 10, u32::MAX] {
            assert!(decoder.size(&[7, unknown]).is_none());
            assert!(decoder.join(&[7, unknown], &mut out).is_none());
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        assert!(Decoder::new(b"ab", &[0, 0], &[1, 1]).is_none());
        assert!(Decoder::new(b"ab", &[0, 1], &[1, 2]).is_none());
        assert!(Decoder::new(b"ab", &[0, 1], &[1]).is_none());
        assert!(Decoder::new(b"ab", &[0, 1 << 20], &[1, 1]).is_none());
        assert!(Decoder::new(b"", &[], &[]).is_some());
    }
}

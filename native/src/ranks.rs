//! The lines of a rank file: base64, one space, a number (twin: `formats/tiktoken/ranks.py`).
#![forbid(unsafe_code)]

use crate::table::Table;
use crate::tokens::{Tokens, MOST};

const LARGEST: u64 = (1 << 32) - 2;
const NO_SEXTET: u8 = 0xFF;

const SEXTETS: [u8; 256] = {
    let mut sextets = [NO_SEXTET; 256];
    let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut at = 0;
    while at < 64 {
        sextets[alphabet[at] as usize] = at as u8;
        at += 1;
    }
    sextets
};

/// The tokens of a rank file in its order. None: a line is irregular, or there is the empty token.
pub fn read(file: &[u8]) -> Option<Table> {
    if file.len() > MOST {
        return None;
    }
    // No line with a token is shorter than seven bytes, so empty lines ask for no room.
    let lines = file.iter().filter(|&&byte| byte == b'\n').count() + 1;
    let lines = lines.min(file.len() / 7 + 1);
    let mut tokens = Tokens::with_room(lines, file.len() / 2);
    let mut numbers = Vec::with_capacity(lines);
    let mut start = 0;
    while start < file.len() {
        let size = line_size(&file[start..]);
        let line = &file[start..start + size];
        start += size + 1;
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.is_empty() {
            continue;
        }
        let space = line.iter().position(|&byte| byte == b' ')?;
        decode(&line[..space], tokens.open())?;
        tokens.close()?;
        numbers.push(number(&line[space + 1..])?);
    }
    Table::new(tokens, numbers)
}

/// The bytes before the first newline, eight at a time.
#[inline(always)]
fn line_size(text: &[u8]) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let mut at = 0;
    while at + 8 <= text.len() {
        let mut word = [0; 8];
        word.copy_from_slice(&text[at..at + 8]);
        let mixed = u64::from_le_bytes(word) ^ (ONES * u64::from(b'\n'));
        // The lowest byte that is 0 is the first whose uppermost bit is set here.
        let zeros = mixed.wrapping_sub(ONES) & !mixed & (ONES << 7);
        if zeros != 0 {
            return at + zeros.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    let rest = &text[at..];
    at + rest
        .iter()
        .position(|&byte| byte == b'\n')
        .unwrap_or(rest.len())
}

/// Appends what canonical base64 stands for.
#[inline(always)]
fn decode(word: &[u8], out: &mut Vec<u8>) -> Option<()> {
    if word.is_empty() || word.len() % 4 != 0 {
        return None;
    }
    let (head, tail) = word.split_at(word.len() - 4);
    for four in head.chunks_exact(4) {
        let bits = sextets(four)?;
        out.extend_from_slice(&bits.to_be_bytes()[1..]);
    }
    match tail {
        [one, two, b'=', b'='] => {
            let bits = sextets(&[*one, *two, b'A', b'A'])?;
            out.push((bits >> 16) as u8);
            (bits & 0xFFFF == 0).then_some(())
        }
        [one, two, three, b'='] => {
            let bits = sextets(&[*one, *two, *three, b'A'])?;
            out.extend_from_slice(&bits.to_be_bytes()[1..3]);
            (bits & 0xFF == 0).then_some(())
        }
        four => {
            let bits = sextets(four)?;
            out.extend_from_slice(&bits.to_be_bytes()[1..]);
            Some(())
        }
    }
}

#[inline(always)]
fn sextets(four: &[u8]) -> Option<u32> {
    let each = |at: usize| SEXTETS[four[at] as usize];
    let (one, two, three, last) = (each(0), each(1), each(2), each(3));
    if (one | two | three | last) & 0xC0 != 0 {
        return None;
    }
    let upper = u32::from(one) << 18 | u32::from(two) << 12;
    Some(upper | u32::from(three) << 6 | u32::from(last))
}

/// A plain decimal number that can be a rank.
#[inline(always)]
fn number(word: &[u8]) -> Option<u32> {
    if word.is_empty() || word.len() > 10 || (word[0] == b'0' && word.len() > 1) {
        return None;
    }
    let mut value = 0u64;
    for &byte in word {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value * 10 + u64::from(digit);
    }
    (value <= LARGEST).then_some(value as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read() {
        let table = read(b"YQ== 0\r\nYmM= 7\n\nZGVm 4294967294").unwrap();
        assert_eq!(table.numbers, [0, 7, 4294967294]);
        assert_eq!(table.tokens.get(1), b"bc");
        assert_eq!(table.tokens.find(b"def"), Some(2));
    }

    #[test]
    fn what_is_irregular_is_left_to_python() {
        let files: [&[u8]; 16] = [
            b"",
            b"\n",
            b"YQ== ",
            b"YQ==",
            b" 0",
            b"YQ= 0",
            b"YR== 0",
            b"YmN= 0",
            b"Y=== 0",
            b"YQ== 00",
            b"YQ== 4294967295",
            b"YQ== -1",
            b"YQ==  1",
            b"= 0",
            b"YQ== 0\nYQ== 1",
            b"YQ== 0\nYg== 0",
        ];
        for file in files {
            assert!(read(file).is_none(), "{:?}", String::from_utf8_lossy(file));
        }
    }

    #[test]
    fn a_newline_is_found_wherever_it_stands() {
        for size in 0..40 {
            let mut text = vec![b'\x0b'; size];
            assert_eq!(line_size(&text), size);
            text.extend_from_slice(b"\n\nrest of the file");
            assert_eq!(line_size(&text), size);
        }
    }
}

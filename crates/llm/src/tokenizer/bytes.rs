//! The byte alphabet of byte-level BPE: every byte is represented by a printable character.
//!
//! Printable Latin-1 bytes represent themselves; the other 68 are the characters from U+0100 on, in order.

/// Whether a byte stands for itself.
const fn plain(b: u8) -> bool {
    matches!(b, b'!'..=b'~' | 0xa1..=0xac | 0xae..=0xff)
}

/// The character of each byte.
pub(super) const CHARS: [char; 256] = {
    let mut chars = ['\0'; 256];
    let (mut b, mut next) = (0usize, 0x100u32);
    while b < 256 {
        chars[b] = if plain(b as u8) {
            b as u8 as char
        } else {
            next += 1;
            match char::from_u32(next - 1) {
                Some(c) => c,
                None => panic!("the alphabet ends below U+0144"),
            }
        };
        b += 1;
    }
    chars
};

/// The byte of a character of the alphabet.
fn byte(c: char) -> Option<u8> {
    match c as u32 {
        n @ 0..=0xff if plain(n as u8) => Some(n as u8),
        0x100..=0x143 => CHARS.iter().position(|&a| a == c).map(|b| b as u8),
        _ => None,
    }
}

/// A token's text to the bytes it stands for; characters outside the alphabet stand for themselves.
pub(super) fn decode(text: &[u8]) -> Vec<u8> {
    let Ok(text) = std::str::from_utf8(text) else { return text.to_vec() };
    let mut out = Vec::with_capacity(text.len());
    for c in text.chars() {
        match byte(c) {
            Some(b) => out.push(b),
            None => out.extend(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_has_its_own_character() {
        for b in 0..=255u8 {
            assert_eq!(byte(CHARS[b as usize]), Some(b));
        }
        assert_eq!((CHARS[b' ' as usize], CHARS[b'\n' as usize]), ('Ġ', 'Ċ'));
        assert_eq!(decode("Ġthe".as_bytes()), b" the");
        assert_eq!(decode("日".as_bytes()), "日".as_bytes());
    }
}

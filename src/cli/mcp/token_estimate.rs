//! How many tokens of a language model a text has, at most.

/// An upper bound of the tokens of a text, for the tokenizers of common models.
///
/// These take words of a few letters, or three digits, as one token, a space with what follows it, and mostly one token for
/// each other character. A text of names of pods and labels has some more than prose.
pub(super) fn tokens(text: &str) -> usize {
    /// Letters of a token.
    const LETTERS: usize = 3;
    /// Digits of a token.
    const DIGITS: usize = 2;
    let (mut tokens, mut rest) = (0, text);
    while let Some(first) = rest.chars().next() {
        let run = |of: fn(char) -> bool| rest.find(|c| !of(c)).unwrap_or(rest.len());
        let length = match first {
            'a'..='z' | 'A'..='Z' => {
                let length = run(|c| c.is_ascii_alphabetic());
                tokens += length.div_ceil(LETTERS);
                length
            }
            '0'..='9' => {
                let length = run(|c| c.is_ascii_digit());
                tokens += length.div_ceil(DIGITS);
                length
            }
            // A space is part of the word behind it.
            ' ' => {
                let length = run(|c| c == ' ');
                tokens += usize::from(length > 1);
                length
            }
            c => {
                // No tokenizer makes more of a character than its bytes.
                tokens += c.len_utf8();
                c.len_utf8()
            }
        };
        rest = &rest[length..];
    }
    tokens
}

#[cfg(test)]
mod tests {
    use super::tokens;

    #[test]
    fn letters_digits_and_signs_count() {
        for (text, want) in [
            ("", 0),
            ("cause", 2),
            ("a b  c", 4),
            ("web-6d9f7b7c5", 11),
            ("10.244.1.5", 3 + 1 + 2 + 1 + 1),
            ("日本", 6),
            ("{\"a\":1}\n", 8),
        ] {
            assert_eq!(tokens(text), want, "{text:?}");
        }
    }
}

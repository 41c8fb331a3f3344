//! `resource.Quantity` in exact billionths, which zone hints need for CPU.

/// Billionths of a quantity such as `4`, `3920m`, `0.5`, `1e3` or `2Ki`, rounded up as upstream does, at most
/// [`i64::MAX`]; `None` if the text is not a quantity.
pub fn nano_value(text: &str) -> Option<i64> {
    let value = wide_nano_value(text)?;
    Some(i64::try_from(value).unwrap_or(if value < 0 { -i64::MAX } else { i64::MAX }))
}

/// Billionths of a quantity, as [`nano_value`], also if they are more than an [`i64`] holds, as those of 16Gi are.
pub fn wide_nano_value(text: &str) -> Option<i128> {
    let (negative, text) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let end = text.bytes().position(|b| !b.is_ascii_digit() && b != b'.').unwrap_or(text.len());
    let (digits, suffix) = text.split_at(end);
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') {
        return None;
    }
    // value = mantissa × 10^(exponent - fraction digits) × 2^binary
    let (mut exponent, binary) = suffix_power(suffix)?;
    exponent = exponent.checked_sub(i32::try_from(fraction.len()).ok()?)?.checked_add(9)?;
    let mut mantissa: i128 = 0;
    for b in whole.bytes().chain(fraction.bytes()) {
        mantissa = mantissa.checked_mul(10)?.checked_add(i128::from(b - b'0'))?;
    }
    mantissa = mantissa.checked_shl(binary).filter(|m| m >> binary == mantissa)?;
    let scaled = if mantissa == 0 {
        0
    } else if exponent >= 0 {
        10i128.checked_pow(exponent.unsigned_abs()).and_then(|p| mantissa.checked_mul(p)).unwrap_or(i128::MAX)
    } else {
        // Rounds away from zero, as Quantity does.
        10i128.checked_pow(exponent.unsigned_abs()).map_or(1, |p| (mantissa + (p - 1)) / p)
    };
    Some(if negative { -scaled } else { scaled })
}

/// The powers of ten and of two that a suffix stands for.
fn suffix_power(suffix: &str) -> Option<(i32, u32)> {
    Some(match suffix {
        "" => (0, 0),
        "n" => (-9, 0),
        "u" => (-6, 0),
        "m" => (-3, 0),
        "k" => (3, 0),
        "M" => (6, 0),
        "G" => (9, 0),
        "T" => (12, 0),
        "P" => (15, 0),
        "E" => (18, 0),
        "Ki" => (0, 10),
        "Mi" => (0, 20),
        "Gi" => (0, 30),
        "Ti" => (0, 40),
        "Pi" => (0, 50),
        "Ei" => (0, 60),
        exponent => (exponent.strip_prefix(['e', 'E'])?.parse().ok()?, 0),
    })
}

#[cfg(test)]
mod tests {
    use super::nano_value;

    #[test]
    fn quantities_in_billionths() {
        for (text, want) in [
            ("4", Some(4_000_000_000)),
            ("3920m", Some(3_920_000_000)),
            ("0.5", Some(500_000_000)),
            (".5", Some(500_000_000)),
            ("5.", Some(5_000_000_000)),
            ("1e3", Some(1_000_000_000_000)),
            ("1E3", Some(1_000_000_000_000)),
            ("2Ki", Some(2_048_000_000_000)),
            ("0.3333", Some(333_300_000)),
            ("1n", Some(1)),
            ("100u", Some(100_000)),
            ("-1", Some(-1_000_000_000)),
            ("0", Some(0)),
            ("9E", Some(i64::MAX)),
            ("0.1n", Some(1)),
            ("1e99", Some(i64::MAX)),
            ("1e-99", Some(1)),
            ("", None),
            ("m", None),
            ("1.2.3", None),
            ("1x", None),
            ("1 ", None),
        ] {
            assert_eq!(nano_value(text), want, "{text}");
        }
    }
}

//! DNS labels and subdomains, as the API accepts them for names.

/// The longest RFC 1123 label.
pub const MAX_LABEL: usize = 63;
/// The longest RFC 1123 subdomain.
pub const MAX_SUBDOMAIN: usize = 253;

/// Whether it is an RFC 1123 label: lower case letters, digits and dashes, and no dash at either end.
pub fn is_label(name: &[u8]) -> bool {
    name.len() <= MAX_LABEL && looks_like_label(name)
}

/// Whether it is an RFC 1123 subdomain: labels of any length with dots between them.
pub fn is_subdomain(name: &[u8]) -> bool {
    name.len() <= MAX_SUBDOMAIN && name.split(|b| *b == b'.').all(looks_like_label)
}

fn looks_like_label(label: &[u8]) -> bool {
    let letter = |b: &u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    label.first().is_some_and(letter)
        && label.last().is_some_and(letter)
        && label.iter().all(|b| letter(b) || *b == b'-')
}

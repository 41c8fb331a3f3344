//! Where quoted and block scalars are in text that a YAML parser refuses, line by line.

/// What the lines so far leave open.
#[derive(Default)]
pub(crate) struct ScalarScan {
    /// The quote of the open scalar.
    quote: Option<char>,
    /// The indentation of the key whose block scalar is open.
    block: Option<usize>,
}

impl ScalarScan {
    /// Whether a quoted scalar goes on behind the lines so far.
    pub(crate) fn is_in_quotes(&self) -> bool {
        self.quote.is_some()
    }

    /// Passes a line. Calls `ends` before each character outside of block scalars and comments, with its offset and the
    /// quote around it. Returns whether that was true, which ends the scan.
    pub(crate) fn line(&mut self, line: &str, mut ends: impl FnMut(usize, Option<char>) -> bool) -> bool {
        let indent = line.len() - line.trim_start_matches(' ').len();
        if self.block.is_some_and(|key| line.trim().is_empty() || indent > key) {
            return false;
        }
        self.block = None;
        let mut rest = line;
        // The last character that is not a space: a quote begins a scalar only behind an indicator.
        let mut before = ' ';
        while let Some(c) = rest.chars().next() {
            let behind = &rest[c.len_utf8()..];
            let offset = line.len() - rest.len();
            if ends(offset, self.quote) {
                return true;
            }
            rest = match self.quote {
                Some(quote) => self.in_quotes(quote, c, behind),
                None if c == '#' && (offset == 0 || line[..offset].ends_with([' ', '\t'])) => break,
                None => {
                    let may_begin = || begins_scalar(before, &line[..offset]) || is_behind_property(&line[..offset]);
                    if ['"', '\''].contains(&c) && may_begin() {
                        self.quote = Some(c);
                    }
                    behind
                }
            };
            before = if c == ' ' { before } else { c };
        }
        if self.quote.is_none() {
            self.block = block_key(&line[..line.len() - rest.len()]);
        }
        false
    }

    /// Passes a character of a quoted scalar. Returns what follows.
    fn in_quotes<'t>(&mut self, quote: char, c: char, behind: &'t str) -> &'t str {
        let escaped = (quote == '"' && c == '\\') || (quote == '\'' && c == quote && behind.starts_with('\''));
        if escaped {
            let mut chars = behind.chars();
            chars.next();
            return chars.as_str();
        }
        if c == quote {
            self.quote = None;
        }
        behind
    }
}

/// Whether a scalar may begin behind a text, of which `last` is the last character that is not a space. Behind an indicator that
/// also stands within plain scalars, there is a space; or it is the colon of JSON.
fn begins_scalar(last: char, text: &str) -> bool {
    match last {
        ' ' | ',' | '[' | '{' => true,
        ':' => text.ends_with([' ', '\t']) || text.ends_with("\":"),
        '-' | '?' => text.ends_with([' ', '\t']),
        _ => false,
    }
}

/// Whether a text ends with a tag or an anchor, and a space.
fn is_behind_property(text: &str) -> bool {
    let word = text.strip_suffix(' ').and_then(|text| text.trim_end().rsplit([' ', ',', '[', '{']).next());
    word.is_some_and(|word| word.starts_with(['!', '&']))
}

/// The indentation of the key of a block scalar, if one begins at the end of the line.
fn block_key(line: &str) -> Option<usize> {
    let (before, indicator) = line.trim_end().rsplit_once(' ')?;
    let style = indicator.strip_prefix(['|', '>'])?;
    let is_indicator = style.chars().all(|c| "+-0123456789".contains(c));
    let before = before.trim_end();
    if !is_indicator || !(before.ends_with([':', '-']) || before.contains(": !") || before.contains(": &")) {
        return None;
    }
    let mut key = line.len() - line.trim_start_matches(' ').len();
    while let Some(item) = before.get(key..).and_then(|rest| rest.strip_prefix("- ")) {
        key += 2 + item.len() - item.trim_start_matches(' ').len();
    }
    Some(key)
}

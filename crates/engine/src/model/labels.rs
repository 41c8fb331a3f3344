//! Maps of text: labels, annotations, selectors.

use std::fmt;

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{MapAccess, Visitor},
    ser::SerializeMap,
};

use super::Text;

/// Labels, annotations or a selector: sorted by key, each key once.
///
/// A sorted list instead of a tree: maps of this kind are small, read often and seldom changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Labels(Vec<(Text, Text)>);

impl Labels {
    /// Nearly every map has fewer keys than this: a scan that compares lengths first beats a search.
    const FEW: usize = 12;

    /// The value of `key`.
    pub fn get(&self, key: &str) -> Option<&Text> {
        self.position(key).ok().map(|i| &self.0[i].1)
    }

    /// The key, as it is held, and its value.
    pub fn get_pair(&self, key: &str) -> Option<(&Text, &Text)> {
        self.position(key).ok().map(|i| (&self.0[i].0, &self.0[i].1))
    }

    /// The keys that both have, with the values of this one and of the other. Of a long list and a short one, only the short one
    /// is read to its end.
    pub(crate) fn shared_with<'a, 'b>(
        &'a self,
        other: &'b Self,
    ) -> impl Iterator<Item = (&'b Text, &'a Text, &'b Text)> {
        let (of_self, of_other) = if self.len() <= other.len() { (self.len(), 0) } else { (0, other.len()) };
        let found = self.iter().take(of_self).filter_map(|(key, value)| {
            let (key, other) = other.get_pair(key)?;
            Some((key, value, other))
        });
        found.chain(other.iter().take(of_other).filter_map(|(key, other)| Some((key, self.get(key)?, other))))
    }

    /// Whether `key` is present, with any value.
    pub fn contains_key(&self, key: &str) -> bool {
        self.position(key).is_ok()
    }

    /// Sets `key`, replacing an earlier value.
    pub fn insert(&mut self, key: impl Into<Text>, value: impl Into<Text>) {
        let key = key.into();
        match self.position(&key) {
            Ok(i) => self.0[i].1 = value.into(),
            Err(i) => self.0.insert(i, (key, value.into())),
        }
    }

    /// Removes `key`, and returns whether it was present.
    pub fn remove(&mut self, key: &str) -> bool {
        self.position(key).map(|i| self.0.remove(i)).is_ok()
    }

    /// Keeps the pairs that `keep` accepts.
    pub fn retain(&mut self, mut keep: impl FnMut(&str, &str) -> bool) {
        self.0.retain(|(k, v)| keep(k, v));
    }

    /// The pairs in order of their keys.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&Text, &Text)> {
        self.0.iter().map(|(k, v)| (k, v))
    }

    /// The number of pairs.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is no pair.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Read as a selector: whether every pair of it is among `labels`. The empty selector selects everything.
    #[inline]
    pub fn selects(&self, labels: &Self) -> bool {
        // Texts are compared faster with each other than with a `str`.
        let has = |pair: &(Text, Text)| match labels.0.len() {
            ..=Self::FEW => labels.0.contains(pair),
            _ => labels.get(&pair.0) == Some(&pair.1),
        };
        self.0.iter().all(has)
    }

    /// Equal but for the pairs whose keys `ignored` names.
    pub fn equal_without(&self, other: &Self, ignored: impl Fn(&str) -> bool) -> bool {
        self.iter().filter(|(k, _)| !ignored(k)).eq(other.iter().filter(|(k, _)| !ignored(k)))
    }

    fn position(&self, key: &str) -> Result<usize, usize> {
        if self.0.len() <= Self::FEW
            && let Some(i) = self.0.iter().position(|(k, _)| k == key)
        {
            return Ok(i);
        }
        self.0.binary_search_by(|(k, _)| k.as_str().cmp(key))
    }
}

impl<K: Into<Text>, V: Into<Text>> FromIterator<(K, V)> for Labels {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(pairs: I) -> Self {
        let mut all: Vec<(Text, Text)> = pairs.into_iter().map(|(k, v)| (k.into(), v.into())).collect();
        if !all.is_sorted_by(|a, b| a.0 < b.0) {
            // Stable, so that of equal keys the last one stays last, and wins.
            all.sort_by(|a, b| a.0.cmp(&b.0));
            all.reverse();
            all.dedup_by(|a, b| a.0 == b.0);
            all.reverse();
        }
        all.shrink_to_fit();
        Self(all)
    }
}

impl<'de> Deserialize<'de> for Labels {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct Pairs;
        impl<'de> Visitor<'de> for Pairs {
            type Value = Labels;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map of strings")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Labels, A::Error> {
                let mut all = Vec::with_capacity(map.size_hint().unwrap_or(8).min(64));
                while let Some(key) = map.next_key::<Text>()? {
                    all.push((key, map.next_value::<Option<Text>>()?.unwrap_or_default()));
                }
                Ok(all.into_iter().collect())
            }
        }
        d.deserialize_map(Pairs)
    }
}

impl Serialize for Labels {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        let mut map = s.serialize_map(Some(self.0.len()))?;
        for (k, v) in &self.0 {
            map.serialize_entry(k, v)?;
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_of_equal_keys_wins() {
        let l: Labels = serde_json::from_str(r#"{"b":"1","a":"2","b":"3"}"#).unwrap();
        assert_eq!(serde_json::to_string(&l).unwrap(), r#"{"a":"2","b":"3"}"#);
    }

    #[test]
    fn an_empty_selector_selects_everything() {
        let labels: Labels = [("a", "1")].into_iter().collect();
        assert!(Labels::default().selects(&labels));
        assert!(!labels.selects(&Labels::default()));
    }
}

//! The pods of each label pair that a selector asks for.

use std::collections::HashMap;

use roster_engine::model::{HashSeed, Labels};

/// An inverted index: for each label pair of a selector in a namespace, the pods that have it. A Service's candidates are the
/// shortest list among the pairs of its selector, so that one label that all pods share costs nothing.
#[derive(Debug)]
pub(super) struct LabelPostings<'a, P> {
    namespaces: HashMap<&'a str, usize, HashSeed>,
    /// Position in `lists`, by namespace, key and value.
    pairs: HashMap<(usize, &'a str, &'a str), usize, HashSeed>,
    /// By namespace: the list of all its pods, if an empty selector asks for it.
    everything: Vec<Option<usize>>,
    lists: Vec<Vec<P>>,
}

/// A pod with its namespace and its labels.
pub(super) type LabelledPod<'a, P> = (&'a str, &'a Labels, P);

impl<'a, P: Copy> LabelPostings<'a, P> {
    /// The lists that these selectors need, each in its namespace.
    pub(super) fn new(
        selectors: impl Iterator<Item = (&'a str, &'a Labels)>,
        pods: impl Iterator<Item = LabelledPod<'a, P>>,
    ) -> Self {
        let (namespaces, pairs) = (HashMap::default(), HashMap::default());
        let mut this = Self { namespaces, pairs, everything: Vec::new(), lists: Vec::new() };
        for (namespace, selector) in selectors {
            this.want(namespace, selector);
        }
        this.fill(pods);
        this
    }

    /// Makes the lists that this selector may need.
    fn want(&mut self, namespace: &'a str, selector: &'a Labels) {
        let namespace = *self.namespaces.entry(namespace).or_insert_with(|| {
            self.everything.push(None);
            self.everything.len() - 1
        });
        let lists = &mut self.lists;
        let mut new_list = || {
            lists.push(Vec::new());
            lists.len() - 1
        };
        if selector.is_empty() {
            self.everything[namespace].get_or_insert_with(new_list);
            return;
        }
        for (key, value) in selector.iter() {
            self.pairs.entry((namespace, key, value)).or_insert_with(&mut new_list);
        }
    }

    fn fill(&mut self, pods: impl Iterator<Item = LabelledPod<'a, P>>) {
        let mut wanted: Vec<usize> = Vec::new();
        let mut before: Option<(&str, &Labels)> = None;
        for (namespace, labels, pod) in pods {
            // Neighbours are mostly replicas: they share namespace and labels.
            if before.is_none_or(|(other, of_other)| !std::ptr::eq(of_other, labels) || other != namespace) {
                wanted.clear();
                if let Some(&namespace) = self.namespaces.get(namespace) {
                    wanted.extend(self.everything[namespace]);
                    wanted.extend(labels.iter().filter_map(|(k, v)| self.pairs.get(&(namespace, k, v))));
                }
                before = Some((namespace, labels));
            }
            for &list in &wanted {
                self.lists[list].push(pod);
            }
        }
    }

    /// All pods that a selector selects in a namespace, and some that it does not; `None` if no list was made for it.
    pub(super) fn candidates(&self, namespace: &str, selector: &Labels) -> Option<&[P]> {
        let namespace = *self.namespaces.get(namespace)?;
        let list = |i: &usize| self.lists[*i].as_slice();
        if selector.is_empty() {
            return self.everything[namespace].as_ref().map(list);
        }
        let lists = selector.iter().filter_map(|(k, v)| self.pairs.get(&(namespace, k.as_str(), v.as_str()))).map(list);
        lists.min_by_key(|l| l.len())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_rarest_label_of_a_selector_counts() {
        let labels = |labels| serde_json::from_value::<Labels>(labels).unwrap();
        let (all, web, none) =
            (labels(json!({"app": "x"})), labels(json!({"app": "x", "tier": "web"})), labels(json!({})));
        let selectors = [("a", &all), ("a", &web), ("b", &none)];
        let pods = [("a", &all, 0), ("a", &web, 1), ("a", &none, 2), ("b", &web, 3), ("c", &web, 4)];
        let postings = LabelPostings::new(selectors.into_iter(), pods.into_iter());
        let unknown = labels(json!({"x": "y"}));
        let more = labels(json!({"tier": "web", "x": "y"}));
        for (namespace, selector, want) in [
            ("a", &all, Some(vec![0, 1])),
            ("a", &web, Some(vec![1])),
            ("a", &more, Some(vec![1])),
            ("b", &none, Some(vec![3])),
            ("a", &none, None),
            ("a", &unknown, None),
            ("c", &web, None),
        ] {
            assert_eq!(postings.candidates(namespace, selector).map(<[_]>::to_vec), want, "{namespace} {selector:?}");
        }
    }
}

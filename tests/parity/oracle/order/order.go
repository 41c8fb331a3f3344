// Package order decides what Go leaves to chance: in which order a loop walks through a map.
//
// The controllers of the ordered reference are built from rewritten sources (see ../rewrite) in which every such loop,
// PopAny and UnsortedList ask this package. Seed 0 asks for the sorted order, which is Roster's; any other seed
// asks for an order of its own. A process runs one sync at a time, so the state of this package is global.
package order

import (
	"cmp"
	"slices"
)

var (
	seed uint64
	// walks counts the loops since Start: as in Go, every loop has an order of its own.
	walks uint64
)

// Start begins a case. families is the order of the Service's address types.
func Start(of uint64, families []string) {
	seed, walks = of, 0
	ports = map[string]portList{}
	addressTypes = families
}

// Walk is a loop through a map.
type Walk[K comparable, V any] struct {
	Key   K
	Value V

	m       map[K]V
	compare func(a, b entry[K, V]) int
	// rest has the keys that follow the first, in order. Most loops of PopAny end after the first.
	rest    []entry[K, V]
	started bool
	sorted  bool
}

type entry[K comparable, V any] struct {
	key   K
	value V
}

// Over begins a loop through m.
func Over[M ~map[K]V, K comparable, V any](m M) *Walk[K, V] {
	return &Walk[K, V]{m: m, compare: comparison[K, V]()}
}

// Next goes to the next entry. As in Go, an entry that the loop deletes before it is reached does not come.
func (w *Walk[K, V]) Next() bool {
	if !w.started {
		w.started = true
		return w.first()
	}
	if !w.sorted {
		w.sorted = true
		before := entry[K, V]{w.Key, w.Value}
		for k, v := range w.m {
			// Ports that are equal but for the address of their appProtocol are two keys.
			if e := (entry[K, V]{k, v}); k != w.Key && w.compare(before, e) <= 0 {
				w.rest = append(w.rest, e)
			}
		}
		slices.SortFunc(w.rest, w.compare)
	}
	for len(w.rest) > 0 {
		key := w.rest[0].key
		w.rest = w.rest[1:]
		if value, there := w.m[key]; there {
			w.Key, w.Value = key, value
			return true
		}
	}
	return false
}

func (w *Walk[K, V]) first() bool {
	found := false
	for k, v := range w.m {
		if e := (entry[K, V]{k, v}); !found || w.compare(e, entry[K, V]{w.Key, w.Value}) < 0 {
			w.Key, w.Value, found = k, v, true
		}
	}
	return found
}

// List has the keys of a set, as UnsortedList does.
func List[M ~map[K]V, K comparable, V any](set M) []K {
	list := make([]K, 0, len(set))
	for w := Over(set); w.Next(); {
		list = append(list, w.Key)
	}
	return list
}

// Pop takes one key out of a set, as PopAny does.
func Pop[M ~map[K]V, K comparable, V any](set M) (key K, found bool) {
	w := Over(set)
	if !w.Next() {
		return key, false
	}
	delete(set, w.Key)
	return w.Key, true
}

// Sort brings what an informer's cache lists into order: by position, or as the seed says. position gives every item a
// number of its own.
func Sort[T any](list []T, position func(T) int) []T {
	mix := mixer()
	slices.SortFunc(list, func(a, b T) int {
		x, y := position(a), position(b)
		if mix == nil {
			return cmp.Compare(x, y)
		}
		return cmp.Or(cmp.Compare(mix(uint64(x)), mix(uint64(y))), cmp.Compare(x, y))
	})
	return list
}

// mixer gives numbers a random order, a new one at every call; nil in sorted order.
func mixer() func(uint64) uint64 {
	if seed == 0 {
		return nil
	}
	walks++
	salt := scramble(seed ^ scramble(walks))
	return func(n uint64) uint64 { return scramble(n ^ salt) }
}

// scramble is the last step of splitmix64.
func scramble(z uint64) uint64 {
	z += 0x9e3779b97f4a7c15
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb
	return z ^ (z >> 31)
}

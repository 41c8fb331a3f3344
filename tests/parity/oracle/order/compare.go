package order

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unsafe"

	v1 "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
)

// portList is what a hash of ports stands for.
type portList struct {
	// met counts the hashes that were made before it.
	met   int
	ports []discovery.EndpointPort
}

var (
	// ports has every hash of ports since Start.
	ports = map[string]portList{}
	// addressTypes are those of the Service, in its order.
	addressTypes []string
)

// Name notes what a hash stands for, so that maps with such keys can be walked through in the order of the content.
func Name(hash string, of any) string {
	list, ok := of.([]discovery.EndpointPort)
	if !ok {
		return hash
	}
	if _, known := ports[hash]; !known {
		list = slices.Clone(list)
		slices.SortFunc(list, comparePorts)
		ports[hash] = portList{met: len(ports), ports: list}
	}
	return hash
}

// comparison chooses how the entries of a map are compared: in a random order of its own, or by content.
func comparison[K comparable, V any]() func(a, b entry[K, V]) int {
	sorted := content[K, V]()
	mix := mixer()
	if mix == nil {
		return sorted
	}
	number := digest[K]()
	return func(a, b entry[K, V]) int {
		return cmp.Or(cmp.Compare(mix(number(a.key)), mix(number(b.key))), sorted(a, b))
	}
}

// content compares by value where the key is a hash of it, else by key.
func content[K comparable, V any]() func(a, b entry[K, V]) int {
	var value V
	switch any(value).(type) {
	case *discovery.Endpoint:
		return func(a, b entry[K, V]) int {
			return compareEndpoints(any(a.value).(*discovery.Endpoint), any(b.value).(*discovery.Endpoint))
		}
	case []*discovery.EndpointSlice:
		return func(a, b entry[K, V]) int {
			return cmp.Or(
				compareSlices(any(a.value).([]*discovery.EndpointSlice), any(b.value).([]*discovery.EndpointSlice)),
				compareKeys(a.key, b.key),
			)
		}
	}
	return func(a, b entry[K, V]) int { return compareKeys(a.key, b.key) }
}

func compareKeys[K comparable](a, b K) int {
	if x, ok := text(&a); ok {
		y, _ := text(&b)
		if reflect.TypeFor[K]() == reflect.TypeFor[discovery.AddressType]() {
			return cmp.Or(cmp.Compare(place(x), place(y)), cmp.Compare(x, y))
		}
		return compareTexts(x, y)
	}
	switch a := any(a).(type) {
	case *v1.EndpointAddress:
		return compareAddresses(a, any(b).(*v1.EndpointAddress))
	case v1.EndpointPort:
		return compareEndpointPorts(a, any(b).(v1.EndpointPort))
	}
	return cmp.Compare(fmt.Sprint(a), fmt.Sprint(b))
}

// text is a key that is a string, whatever its type is called.
func text[K comparable](key *K) (string, bool) {
	if reflect.TypeFor[K]().Kind() != reflect.String {
		return "", false
	}
	return *(*string)(unsafe.Pointer(key)), true
}

// place is that of an address type among those of the Service.
func place(addressType string) int {
	if at := slices.Index(addressTypes, addressType); at >= 0 {
		return at
	}
	return len(addressTypes)
}

// compareTexts compares hashes of ports by the ports; hashes of an address type and ports, which the mirroring
// controller has, by when these ports were met; other texts as they are.
func compareTexts(x, y string) int {
	if a, ok := ports[x]; ok {
		if b, ok := ports[y]; ok {
			return cmp.Or(slices.CompareFunc(a.ports, b.ports, comparePorts), cmp.Compare(x, y))
		}
	}
	a, ofX := met(x)
	b, ofY := met(y)
	if ofX && ofY {
		return cmp.Or(cmp.Compare(a, b), cmp.Compare(x, y))
	}
	return cmp.Compare(x, y)
}

func met(key string) (int, bool) {
	_, hash, _ := strings.Cut(key, "-")
	list, ok := ports[hash]
	return list.met, ok
}

// digest turns keys into numbers, those of equal content into equal ones.
func digest[K comparable]() func(K) uint64 {
	return func(key K) uint64 {
		name, ok := text(&key)
		if !ok {
			switch key := any(key).(type) {
			case *v1.EndpointAddress:
				name = key.String()
			case v1.EndpointPort:
				name = key.String()
			default:
				name = fmt.Sprint(key)
			}
		}
		// FNV-1a.
		n := uint64(0xcbf29ce484222325)
		for i := range len(name) {
			n = (n ^ uint64(name[i])) * 0x100000001b3
		}
		return n
	}
}

// compareEndpoints compares what makes two endpoints the same one: addresses, host name, and target.
func compareEndpoints(a, b *discovery.Endpoint) int {
	target := func(e *discovery.Endpoint) *v1.ObjectReference {
		if e.TargetRef == nil {
			return &v1.ObjectReference{}
		}
		return e.TargetRef
	}
	x, y := target(a), target(b)
	return cmp.Or(
		slices.Compare(a.Addresses, b.Addresses),
		cmp.Compare(value(a.Hostname), value(b.Hostname)),
		cmp.Compare(x.Namespace, y.Namespace),
		cmp.Compare(x.Name, y.Name),
	)
}

// compareSlices compares lists of slices that have the same ports: by address type and ports.
func compareSlices(a, b []*discovery.EndpointSlice) int {
	if len(a) == 0 || len(b) == 0 {
		return cmp.Compare(len(a), len(b))
	}
	sorted := func(s *discovery.EndpointSlice) []discovery.EndpointPort {
		list := slices.Clone(s.Ports)
		slices.SortFunc(list, comparePorts)
		return list
	}
	x, y := a[0], b[0]
	return cmp.Or(
		cmp.Compare(x.AddressType, y.AddressType),
		slices.CompareFunc(sorted(x), sorted(y), comparePorts),
		// No list comes before an empty one.
		cmp.Compare(some(x.Ports != nil), some(y.Ports != nil)),
	)
}

func comparePorts(a, b discovery.EndpointPort) int {
	return cmp.Or(
		comparePointers(a.Name, b.Name),
		comparePointers(a.Protocol, b.Protocol),
		comparePointers(a.Port, b.Port),
		comparePointers(a.AppProtocol, b.AppProtocol),
	)
}

func compareEndpointPorts(a, b v1.EndpointPort) int {
	return cmp.Or(
		cmp.Compare(a.Name, b.Name),
		cmp.Compare(a.Protocol, b.Protocol),
		cmp.Compare(a.Port, b.Port),
		comparePointers(a.AppProtocol, b.AppProtocol),
	)
}

func compareAddresses(a, b *v1.EndpointAddress) int {
	uid := func(a *v1.EndpointAddress) string {
		if a.TargetRef == nil {
			return ""
		}
		return string(a.TargetRef.UID)
	}
	if by := cmp.Or(cmp.Compare(a.IP, b.IP), cmp.Compare(uid(a), uid(b))); by != 0 || a == b {
		return by
	}
	return cmp.Compare(a.String(), b.String())
}

// comparePointers has nil first.
func comparePointers[T cmp.Ordered](a, b *T) int {
	if a == nil || b == nil {
		return cmp.Compare(some(a != nil), some(b != nil))
	}
	return cmp.Compare(*a, *b)
}

func some(there bool) int {
	if there {
		return 1
	}
	return 0
}

func value(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

package main

import (
	"cmp"
	"slices"

	v1 "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	coreinformers "k8s.io/client-go/informers/core/v1"
	discoveryinformers "k8s.io/client-go/informers/discovery/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	discoverylisters "k8s.io/client-go/listers/discovery/v1"

	"oracle/order"
)

// An informer's cache lists its objects in the order of a map. The ordered program lists pods as the case has
// them, and slices and nodes by name.

// start tells the package order what this case asks for.
func (c *Case) start() {
	var types []string
	if c.Service != nil {
		for _, family := range c.Service.Spec.IPFamilies {
			types = append(types, string(family))
		}
	}
	order.Start(c.Order, types)
}

// inCase gives every object its place in the case.
func inCase[T metav1.Object](objects []T) func(T) int {
	place := map[string]int{}
	for i, o := range objects {
		place[o.GetNamespace()+"/"+o.GetName()] = i
	}
	return func(o T) int { return place[o.GetNamespace()+"/"+o.GetName()] }
}

// byName gives every object its place among the names.
func byName[T metav1.Object](objects []T) func(T) int {
	return inCase(slices.SortedFunc(slices.Values(objects), func(a, b T) int {
		return cmp.Or(cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
	}))
}

func inOrder[T any](list []T, err error, place func(T) int) ([]T, error) {
	if err != nil {
		return nil, err
	}
	return order.Sort(list, place), nil
}

type podInformer struct {
	coreinformers.PodInformer
	place func(*v1.Pod) int
}

func (i podInformer) Lister() corelisters.PodLister {
	return podLister{i.PodInformer.Lister(), i.place}
}

type podLister struct {
	corelisters.PodLister
	place func(*v1.Pod) int
}

func (l podLister) List(s labels.Selector) ([]*v1.Pod, error) {
	list, err := l.PodLister.List(s)
	return inOrder(list, err, l.place)
}

func (l podLister) Pods(namespace string) corelisters.PodNamespaceLister {
	return podsOfNamespace{l.PodLister.Pods(namespace), l.place}
}

type podsOfNamespace struct {
	corelisters.PodNamespaceLister
	place func(*v1.Pod) int
}

func (l podsOfNamespace) List(s labels.Selector) ([]*v1.Pod, error) {
	list, err := l.PodNamespaceLister.List(s)
	return inOrder(list, err, l.place)
}

type nodeInformer struct {
	coreinformers.NodeInformer
	place func(*v1.Node) int
}

func (i nodeInformer) Lister() corelisters.NodeLister {
	return nodeLister{i.NodeInformer.Lister(), i.place}
}

type nodeLister struct {
	corelisters.NodeLister
	place func(*v1.Node) int
}

func (l nodeLister) List(s labels.Selector) ([]*v1.Node, error) {
	list, err := l.NodeLister.List(s)
	return inOrder(list, err, l.place)
}

type sliceInformer struct {
	discoveryinformers.EndpointSliceInformer
	place func(*discovery.EndpointSlice) int
}

func (i sliceInformer) Lister() discoverylisters.EndpointSliceLister {
	return sliceLister{i.EndpointSliceInformer.Lister(), i.place}
}

type sliceLister struct {
	discoverylisters.EndpointSliceLister
	place func(*discovery.EndpointSlice) int
}

func (l sliceLister) List(s labels.Selector) ([]*discovery.EndpointSlice, error) {
	list, err := l.EndpointSliceLister.List(s)
	return inOrder(list, err, l.place)
}

func (l sliceLister) EndpointSlices(namespace string) discoverylisters.EndpointSliceNamespaceLister {
	return slicesOfNamespace{l.EndpointSliceLister.EndpointSlices(namespace), l.place}
}

type slicesOfNamespace struct {
	discoverylisters.EndpointSliceNamespaceLister
	place func(*discovery.EndpointSlice) int
}

func (l slicesOfNamespace) List(s labels.Selector) ([]*discovery.EndpointSlice, error) {
	list, err := l.EndpointSliceNamespaceLister.List(s)
	return inOrder(list, err, l.place)
}

package main

import (
	"context"
	"fmt"
	"reflect"
	"unsafe"

	"k8s.io/client-go/informers"
	coreinformers "k8s.io/client-go/informers/core/v1"
	discoveryinformers "k8s.io/client-go/informers/discovery/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/record"
)

// harness is one controller over caches that are filled by hand: no informer is ever started, so
// there is nothing to wait for.
type harness struct {
	sync   func() error
	close  func()
	events *record.FakeRecorder
}

func newHarness(c *Case, client kubernetes.Interface) (*harness, error) {
	ctx, cancel := context.WithCancel(context.Background())
	f := informers.NewSharedInformerFactory(client, 0)
	services, endpoints := f.Core().V1().Services(), f.Core().V1().Endpoints()
	// From some release on the factory's own types are wider ones.
	var pods coreinformers.PodInformer = f.Core().V1().Pods()
	var nodes coreinformers.NodeInformer = f.Core().V1().Nodes()
	var slices discoveryinformers.EndpointSliceInformer = f.Discovery().V1().EndpointSlices()
	if ordered {
		c.start()
		pods = podInformer{pods, inCase(c.Pods)}
		nodes = nodeInformer{nodes, byName(c.Nodes)}
		slices = sliceInformer{slices, byName(c.Slices)}
	}
	h := &harness{events: record.NewFakeRecorder(1000)}
	max := c.Max
	if max == 0 {
		max = 100
	}
	key := c.key()
	for _, x := range c.Nodes {
		must(nodes.Informer().GetIndexer().Add(x))
	}
	var controller interface{}
	switch c.Controller {
	case "endpoints":
		ctl := newEndpoints(ctx, pods, services, endpoints, client)
		h.sync = func() error { return syncEndpoints(ctx, ctl, key) }
		controller = ctl
	case "endpointslices":
		ctl := newSlices(ctx, pods, services, nodes, slices, max, client)
		checkNodes(ctx, ctl)
		h.sync = func() error { return syncSlices(ctx, ctl, key) }
		h.listen(field(ctl, "reconciler").Interface())
		controller = ctl
	case "mirroring":
		ctl := newMirroring(ctx, endpoints, slices, services, max, client)
		h.sync = func() error { return syncMirroring(ctx, ctl, key) }
		h.listen(field(ctl, "reconciler").Interface())
		controller = ctl
	default:
		cancel()
		return nil, fmt.Errorf("unknown controller %q", c.Controller)
	}
	h.listen(controller)
	h.close = func() {
		cancel()
		shutDown(controller)
	}
	if c.Service != nil {
		must(services.Informer().GetIndexer().Add(c.Service))
	}
	for _, x := range c.Pods {
		must(pods.Informer().GetIndexer().Add(x))
	}
	if c.Endpoints != nil {
		must(endpoints.Informer().GetIndexer().Add(c.Endpoints))
	}
	for _, x := range c.Slices {
		must(slices.Informer().GetIndexer().Add(x))
	}
	return h, nil
}

// key names what is to be synced. A Service that is gone is known by what it left behind.
func (c *Case) key() string {
	switch {
	case c.Controller == "mirroring" && c.Endpoints != nil:
		return c.Endpoints.Namespace + "/" + c.Endpoints.Name
	case c.Service != nil:
		return c.Service.Namespace + "/" + c.Service.Name
	case c.Endpoints != nil:
		return c.Endpoints.Namespace + "/" + c.Endpoints.Name
	case len(c.Slices) > 0:
		return c.Slices[0].Namespace + "/" + c.Slices[0].Labels["kubernetes.io/service-name"]
	}
	panic("the case names no Service")
}

// listen puts the fake recorder in: the real one hands events to another goroutine.
func (h *harness) listen(target interface{}) {
	f := field(target, "eventRecorder")
	if !f.IsValid() {
		return // this release has no such field
	}
	f.Set(reflect.ValueOf(record.EventRecorder(h.events)))
}

// shutDown ends the goroutines that a controller's constructor started, for thousands of cases share
// one process. Which queues there are differs between releases.
func shutDown(controller interface{}) {
	for _, name := range []string{"queue", "podQueue", "serviceQueue", "topologyQueue"} {
		if f := field(controller, name); f.IsValid() {
			f.Interface().(interface{ ShutDown() }).ShutDown()
		}
	}
	if f := field(controller, "eventBroadcaster"); f.IsValid() && !f.IsNil() {
		f.Interface().(interface{ Shutdown() }).Shutdown()
	}
}

// field reaches an unexported field; the zero Value if there is none.
func field(target interface{}, name string) reflect.Value {
	f := reflect.ValueOf(target).Elem().FieldByName(name)
	if !f.IsValid() {
		return f
	}
	return reflect.NewAt(f.Type(), unsafe.Pointer(f.UnsafeAddr())).Elem()
}

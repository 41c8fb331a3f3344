package main

import (
	"context"
	"fmt"
	"runtime"
	"time"

	v1 "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	corev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	discoveryv1 "k8s.io/client-go/kubernetes/typed/discovery/v1"
)

// measure times syncs of one state. Each run has a fresh controller, because a controller that has
// just written waits for its cache to catch up and would do less; only the sync itself is timed.
func measure(c *Case) Answer {
	ans := Answer{ID: c.ID, Actions: []Action{}, Events: []string{}}
	for i := 0; i < c.Repeat; i++ {
		client := &silentClient{Interface: fake.NewSimpleClientset()}
		h, err := newHarness(c, client)
		must(err)
		// The garbage of the set-up is not the controller's.
		runtime.GC()
		start := time.Now()
		err = h.sync()
		ans.Nanos = append(ans.Nanos, time.Since(start).Nanoseconds())
		if err != nil {
			ans.Error = err.Error()
		}
		ans.Writes = client.writes
		h.close()
	}
	return ans
}

// silentClient takes every write and keeps nothing: the fake API server copies and stores each
// object, and that cost is not the controller's either.
type silentClient struct {
	kubernetes.Interface
	writes int
}

func (c *silentClient) CoreV1() corev1.CoreV1Interface {
	return silentCore{c.Interface.CoreV1(), c}
}

func (c *silentClient) DiscoveryV1() discoveryv1.DiscoveryV1Interface {
	return silentDiscovery{c.Interface.DiscoveryV1(), c}
}

type silentCore struct {
	corev1.CoreV1Interface
	client *silentClient
}

func (s silentCore) Endpoints(ns string) corev1.EndpointsInterface {
	return silentEndpoints{s.CoreV1Interface.Endpoints(ns), s.client}
}

type silentEndpoints struct {
	corev1.EndpointsInterface
	client *silentClient
}

func (s silentEndpoints) Create(_ context.Context, o *v1.Endpoints, _ metav1.CreateOptions) (*v1.Endpoints, error) {
	s.client.writes++
	return o, nil
}

func (s silentEndpoints) Update(_ context.Context, o *v1.Endpoints, _ metav1.UpdateOptions) (*v1.Endpoints, error) {
	s.client.writes++
	return o, nil
}

func (s silentEndpoints) Delete(context.Context, string, metav1.DeleteOptions) error {
	s.client.writes++
	return nil
}

type silentDiscovery struct {
	discoveryv1.DiscoveryV1Interface
	client *silentClient
}

func (s silentDiscovery) EndpointSlices(ns string) discoveryv1.EndpointSliceInterface {
	return silentSlices{s.DiscoveryV1Interface.EndpointSlices(ns), s.client}
}

type silentSlices struct {
	discoveryv1.EndpointSliceInterface
	client *silentClient
}

func (s silentSlices) Create(_ context.Context, o *discovery.EndpointSlice, _ metav1.CreateOptions) (*discovery.EndpointSlice, error) {
	s.client.writes++
	o.Name = fmt.Sprintf("%s%05d", o.GenerateName, s.client.writes)
	return o, nil
}

func (s silentSlices) Update(_ context.Context, o *discovery.EndpointSlice, _ metav1.UpdateOptions) (*discovery.EndpointSlice, error) {
	s.client.writes++
	return o, nil
}

func (s silentSlices) Delete(context.Context, string, metav1.DeleteOptions) error {
	s.client.writes++
	return nil
}

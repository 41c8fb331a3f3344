package main

// What differs between releases in how the controllers are made and called. The text here is for the
// newest; cargo xtask rewrites it for an older one by reading that release's own declarations.

import (
	"context"
	_ "unsafe" // for go:linkname: the sync functions are not exported

	coreinformers "k8s.io/client-go/informers/core/v1"
	discoveryinformers "k8s.io/client-go/informers/discovery/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/controller/endpoint"
	"k8s.io/kubernetes/pkg/controller/endpointslice"
	"k8s.io/kubernetes/pkg/controller/endpointslicemirroring"
)

//go:linkname endpointsSync k8s.io/kubernetes/pkg/controller/endpoint.(*Controller).syncService
func endpointsSync(c *endpoint.Controller, ctx context.Context, key string) error

//go:linkname slicesSync k8s.io/kubernetes/pkg/controller/endpointslice.(*Controller).syncService
func slicesSync(c *endpointslice.Controller, logger klog.Logger, key string) error

//go:linkname slicesNodes k8s.io/kubernetes/pkg/controller/endpointslice.(*Controller).checkNodeTopologyDistribution
func slicesNodes(c *endpointslice.Controller, logger klog.Logger)

//go:linkname mirroringSync k8s.io/kubernetes/pkg/controller/endpointslicemirroring.(*Controller).syncEndpoints
func mirroringSync(c *endpointslicemirroring.Controller, ctx context.Context, key string) error

func newEndpoints(ctx context.Context, pods coreinformers.PodInformer, services coreinformers.ServiceInformer, endpoints coreinformers.EndpointsInformer, client kubernetes.Interface) *endpoint.Controller {
	return endpoint.NewEndpointController(ctx, pods, services, endpoints, client, 0)
}

func newSlices(ctx context.Context, pods coreinformers.PodInformer, services coreinformers.ServiceInformer, nodes coreinformers.NodeInformer, slices discoveryinformers.EndpointSliceInformer, max int32, client kubernetes.Interface) *endpointslice.Controller {
	return endpointslice.NewController(ctx, pods, services, nodes, slices, max, client, 0)
}

func newMirroring(ctx context.Context, endpoints coreinformers.EndpointsInformer, slices discoveryinformers.EndpointSliceInformer, services coreinformers.ServiceInformer, max int32, client kubernetes.Interface) *endpointslicemirroring.Controller {
	return endpointslicemirroring.NewController(ctx, endpoints, slices, services, max, client, 0)
}

func syncEndpoints(ctx context.Context, c *endpoint.Controller, key string) error {
	return endpointsSync(c, ctx, key)
}

func syncSlices(ctx context.Context, c *endpointslice.Controller, key string) error {
	return slicesSync(c, klog.FromContext(ctx), key)
}

// checkNodes tells the topology cache about the nodes, as a node event would.
func checkNodes(ctx context.Context, c *endpointslice.Controller) {
	slicesNodes(c, klog.FromContext(ctx))
}

func syncMirroring(ctx context.Context, c *endpointslicemirroring.Controller, key string) error {
	return mirroringSync(c, ctx, key)
}

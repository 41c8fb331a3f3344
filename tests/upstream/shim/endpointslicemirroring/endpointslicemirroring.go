// Package endpointslicemirroring has the constructor of k8s.io/kubernetes/pkg/controller/endpointslicemirroring for tests; the controller is the external program's.
package endpointslicemirroring

import (
	"context"
	"time"

	coreinformers "k8s.io/client-go/informers/core/v1"
	discoveryinformers "k8s.io/client-go/informers/discovery/v1"
	clientset "k8s.io/client-go/kubernetes"

	"upstream/shim/external"
)

type Controller = external.Controller

func NewController(_ context.Context, _ coreinformers.EndpointsInformer, _ discoveryinformers.EndpointSliceInformer, _ coreinformers.ServiceInformer, max int32, client clientset.Interface, batch time.Duration) *Controller {
	return external.New(client, external.Mirroring, batch, max)
}

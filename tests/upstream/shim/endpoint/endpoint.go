// Package endpoint has the constructor of k8s.io/kubernetes/pkg/controller/endpoint for tests; the controller is the external program's.
package endpoint

import (
	"context"
	"time"

	coreinformers "k8s.io/client-go/informers/core/v1"
	clientset "k8s.io/client-go/kubernetes"

	"upstream/shim/external"
)

type Controller = external.Controller

func NewEndpointController(_ context.Context, _ coreinformers.PodInformer, _ coreinformers.ServiceInformer, _ coreinformers.EndpointsInformer, client clientset.Interface, batch time.Duration) *Controller {
	return external.New(client, external.Endpoints, batch, 0)
}

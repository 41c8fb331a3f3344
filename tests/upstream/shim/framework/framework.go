// Package framework has what these tests use of k8s.io/kubernetes/test/integration/framework: the API server it starts is
// made known to package external, and the first namespace of a test waits until the external program is at work.
package framework

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	clientset "k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	real "k8s.io/kubernetes/test/integration/framework"

	"upstream/shim/external"
)

type (
	TestServerSetup = real.TestServerSetup
	TearDownFunc    = real.TearDownFunc
)

var (
	DefaultTestServerFlags = real.DefaultTestServerFlags
	DeleteNamespaceOrDie   = real.DeleteNamespaceOrDie
	EtcdMain               = real.EtcdMain
	SharedEtcd             = real.SharedEtcd
)

func CreateNamespaceOrDie(c clientset.Interface, name string, t testing.TB) *corev1.Namespace {
	external.Wait(c)
	return real.CreateNamespaceOrDie(c, name, t)
}

func StartTestServer(ctx context.Context, t testing.TB, setup TestServerSetup) (clientset.Interface, *rest.Config, TearDownFunc) {
	client, config, down := real.StartTestServer(ctx, t, setup)
	s := external.Register(t, config)
	return client, config, func() { s.Stop(); down() }
}

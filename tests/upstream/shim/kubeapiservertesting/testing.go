// Package testing starts the API server of k8s.io/kubernetes/cmd/kube-apiserver/app/testing and makes it known to package external.
package testing

import (
	gotesting "testing"

	"k8s.io/apiserver/pkg/storage/storagebackend"
	real "k8s.io/kubernetes/cmd/kube-apiserver/app/testing"

	"upstream/shim/external"
)

type (
	TestServer                = real.TestServer
	TestServerInstanceOptions = real.TestServerInstanceOptions
)

var NewDefaultTestServerOptions = real.NewDefaultTestServerOptions

func StartTestServerOrDie(t gotesting.TB, instanceOptions *TestServerInstanceOptions, flags []string, storage *storagebackend.Config) *TestServer {
	server := real.StartTestServerOrDie(t, instanceOptions, flags, storage)
	s, down := external.Register(t, server.ClientConfig), server.TearDownFn
	server.TearDownFn = func() { s.Stop(); down() }
	return server
}

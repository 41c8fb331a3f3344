// A webhook as they are written today, with controller-runtime: decode, decide, marshal, diff. It does what
// Roster's mutating webhook does to the two objects of the benchmark, so that both can be timed in one run.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"math"
	"net/http"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

const (
	tolerate     = "service.alpha.kubernetes.io/tolerate-unready-endpoints"
	overCapacity = "endpoints.kubernetes.io/over-capacity"
	capacity     = 1000
)

type mutator struct{ decoder admission.Decoder }

func (m *mutator) Handle(_ context.Context, request admission.Request) admission.Response {
	switch request.Kind.Kind {
	case "Service":
		service := &corev1.Service{}
		if err := m.decoder.Decode(request, service); err != nil {
			return admission.Errored(http.StatusBadRequest, err)
		}
		if value, err := strconv.ParseBool(service.Annotations[tolerate]); err == nil {
			service.Spec.PublishNotReadyAddresses = value
		}
		return patched(request, service)
	case "Endpoints":
		endpoints := &corev1.Endpoints{}
		if err := m.decoder.Decode(request, endpoints); err != nil {
			return admission.Errored(http.StatusBadRequest, err)
		}
		if truncate(endpoints) {
			if endpoints.Annotations == nil {
				endpoints.Annotations = map[string]string{}
			}
			endpoints.Annotations[overCapacity] = "truncated"
		}
		return patched(request, endpoints)
	}
	return admission.Allowed("")
}

func patched(request admission.Request, object any) admission.Response {
	text, err := json.Marshal(object)
	if err != nil {
		return admission.Errored(http.StatusInternalServerError, err)
	}
	return admission.PatchResponseFromRaw(request.Object.Raw, text)
}

// truncate cuts the ready addresses in fair shares; the benchmark has no others.
func truncate(endpoints *corev1.Endpoints) bool {
	total := 0
	for _, subset := range endpoints.Subsets {
		total += len(subset.Addresses)
	}
	if total <= capacity {
		return false
	}
	left := capacity
	for i := range endpoints.Subsets {
		subset := &endpoints.Subsets[i]
		share := int(math.Ceil(float64(len(subset.Addresses)) / float64(total) * capacity))
		share = min(share, left, len(subset.Addresses))
		subset.Addresses = subset.Addresses[:share]
		left -= share
	}
	return true
}

func main() {
	port := flag.Int("port", 9443, "port on loopback")
	certs := flag.String("cert-dir", "", "folder of tls.crt and tls.key")
	flag.Parse()
	log.SetLogger(zap.New())
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		panic(err)
	}
	server := webhook.NewServer(webhook.Options{Host: "127.0.0.1", Port: *port, CertDir: *certs})
	handler := &mutator{decoder: admission.NewDecoder(scheme)}
	server.Register("/mutate", &webhook.Admission{Handler: handler})
	if err := server.Start(context.Background()); err != nil {
		panic(err)
	}
}

// Program reflector follows the EndpointSlices of all namespaces with client-go's reflector, and prints each change of what it
// holds as kubectl does with --output-watch-events. KUBE_FEATURE_WatchListClient says how it lists, CONTENT_TYPE the only type
// that it accepts.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

func main() {
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(kubeconfig string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	config.ContentType = os.Getenv("CONTENT_TYPE")
	config.AcceptContentTypes = config.ContentType
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	// The handlers run one after the other.
	out := json.NewEncoder(os.Stdout)
	print := func(kind string, object any) {
		if gone, ok := object.(cache.DeletedFinalStateUnknown); ok {
			object = gone.Obj
		}
		if err := out.Encode(map[string]any{"type": kind, "object": object}); err != nil {
			os.Exit(1)
		}
	}
	informer := informers.NewSharedInformerFactory(client, 0).Discovery().V1().EndpointSlices().Informer()
	_, err = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { print("ADDED", object) },
		UpdateFunc: func(_, object any) { print("MODIFIED", object) },
		DeleteFunc: func(object any) { print("DELETED", object) },
	})
	if err != nil {
		return err
	}
	informer.Run(make(chan struct{}))
	return nil
}

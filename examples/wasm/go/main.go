// Plans a Service, and prints the addresses and ports that are served: go run . roster.wasm shop.yaml shop/catalog
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"

	"github.com/tetratelabs/wazero"
)

func main() {
	ctx := context.Background()
	module := must(os.ReadFile(os.Args[1]))
	engine := Engine{must(wazero.NewRuntime(ctx).Instantiate(ctx, module))}
	answer := must(engine.Ask(ctx, "endpointslices", "service="+os.Args[3], must(os.ReadFile(os.Args[2]))))
	var planned struct { // a controller has discoveryv1.EndpointSliceList of k8s.io/api
		Items []struct{ Ports, Endpoints []map[string]any }
	}
	must(0, json.Unmarshal(answer, &planned))
	for _, slice := range planned.Items {
		for _, endpoint := range slice.Endpoints {
			for _, port := range slice.Ports {
				if endpoint["conditions"].(map[string]any)["ready"] == true {
					fmt.Println(endpoint["addresses"].([]any)[0], port["port"], port["name"])
				}
			}
		}
	}
}

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}

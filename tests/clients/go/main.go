// Command clients makes a call of each kind with the client that oapi-codegen generates.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"os"

	"roster.dev/clients/roster"
)

const pod = `{
	"apiVersion": "v1", "kind": "Pod",
	"metadata": {"name": "web-1", "namespace": "shop", "uid": "uid-web-1", "labels": {"app": "web"}},
	"spec": {"nodeName": "node-1", "containers": [{"name": "web", "ports": [{"name": "http", "containerPort": 8080, "protocol": "TCP"}]}]},
	"status": {"phase": "Running", "podIP": "10.0.1.5", "podIPs": [{"ip": "10.0.1.5"}],
		"conditions": [{"type": "Ready", "status": "True"}]}
}`

const node = `{"metadata": {"name": "node-1", "labels": {"topology.kubernetes.io/zone": "zone-a"}}}`

const service = `{
	"apiVersion": "v1", "kind": "Service",
	"metadata": {"name": "web", "namespace": "shop", "uid": "uid-web"},
	"spec": {"selector": {"app": "web"}, "clusterIP": "10.96.0.10", "ipFamilies": ["IPv4"],
		"ports": [{"name": "http", "protocol": "TCP", "port": 80, "targetPort": "http"}]}
}`

const endpoints = `{
	"apiVersion": "v1", "kind": "Endpoints", "metadata": {"name": "web", "namespace": "shop"},
	"subsets": [{"addresses": [{"ip": "192.0.2.7"}], "ports": [{"name": "http", "port": 8080}]}]
}`

const policy = `{
	"apiVersion": "roster.dev/v1", "kind": "EndpointPolicy", "metadata": {"name": "strict"},
	"spec": {"rules": [{"name": "external-ip", "mode": "enforce"}]}
}`

func main() {
	log.SetFlags(0)
	client, err := roster.NewClientWithResponses(os.Getenv("ROSTER_URL"))
	try("a client", err, true)
	ctx := context.Background()
	svc := of[roster.IoK8sApiCoreV1Service](service)
	state := roster.PlanRequest{
		Service: &svc,
		Pods:    &[]roster.IoK8sApiCoreV1Pod{of[roster.IoK8sApiCoreV1Pod](pod)},
		Nodes:   &[]roster.IoK8sApiCoreV1Node{of[roster.IoK8sApiCoreV1Node](node)},
	}

	release := "1.37"
	plan, err := client.PlanWithResponse(ctx, &roster.PlanParams{Compat: &release}, state)
	try("plan", err, plan.JSON200 != nil && plan.JSON200.Endpoints.Action == roster.ActionCreate &&
		(*plan.JSON200.EndpointSlices.Create[0].Endpoints)[0].Addresses[0] == "10.0.1.5")

	explanation, err := client.ExplainWithResponse(ctx, &roster.ExplainParams{}, state)
	try("explain", err, explanation.JSON200 != nil && explanation.JSON200.Summary.Served == 1 &&
		explanation.JSON200.Rows[0].Pod == "web-1")

	risky := of[roster.KubernetesObject](service)
	risky.AdditionalProperties["spec"].(map[string]any)["externalIPs"] = []string{"203.0.113.9"}
	review, err := client.ReviewWithResponse(ctx, roster.ReviewRequest{
		Object:   risky,
		Policies: &[]roster.KubernetesObject{of[roster.KubernetesObject](policy)},
	})
	try("review", err, review.JSON200 != nil && !review.JSON200.Allowed && review.JSON200.Decision.Denied.Code == 403)

	misspelt := of[roster.KubernetesObject](service)
	misspelt.AdditionalProperties["spec"].(map[string]any)["sessionAfinity"] = "None"
	linted, err := client.LintWithResponse(ctx, &roster.LintParams{},
		roster.KubernetesList{ApiVersion: "v1", Kind: "List", Items: []roster.KubernetesObject{misspelt}})
	try("lint", err, linted.JSON200 != nil && linted.JSON200.Items[0].Code == "unknown-field" &&
		linted.JSON200.Summary.Errors == 1)

	converted, err := client.ConvertWithResponse(ctx, &roster.ConvertParams{To: roster.ConvertParamsToEndpointSlice},
		list(endpoints))
	try("convert", err, converted.JSON200 != nil && converted.JSON200.Items[0].Kind == "EndpointSlice")

	desired, err := client.EndpointsWithResponse(ctx, &roster.EndpointsParams{}, state)
	try("endpoints", err, desired.JSON200 != nil && (*(*desired.JSON200.Subsets)[0].Addresses)[0].Ip == "10.0.1.5")

	slices, err := client.EndpointSlicesWithResponse(ctx, &roster.EndpointSlicesParams{}, state)
	try("endpoint slices", err, slices.JSON200 != nil && *(*slices.JSON200.Items[0].Ports)[0].Port == 8080)

	cluster, err := client.ClusterWithResponse(ctx, &roster.ClusterParams{}, list(service, pod))
	try("cluster", err, cluster.StatusCode() == http.StatusOK)
	var lines []roster.ClusterLine
	for _, line := range bytes.Split(bytes.TrimSpace(cluster.Body), []byte("\n")) {
		lines = append(lines, of[roster.ClusterLine](string(line)))
	}
	try("the lines of cluster", nil, lines[0].Service.Name == "web" && lines[len(lines)-1].Summary.Services == 1)

	releases, err := client.CompatWithResponse(ctx)
	try("compat", err, releases.JSON200 != nil &&
		releases.JSON200.Items[len(releases.JSON200.Items)-1].Minor == releases.JSON200.Default)

	ready, err := client.ReadyzWithResponse(ctx)
	try("readyz", err, string(ready.Body) == "ok")

	wrong := int32(1001)
	refused, err := client.PlanWithResponse(ctx, &roster.PlanParams{MaxEndpointsPerSlice: &wrong}, state)
	problem := refused.ApplicationproblemJSON400
	try("a problem", err, problem != nil && problem.Type == "urn:roster:problem:invalid-query" &&
		*(*problem.Errors)[0].Parameter == "maxEndpointsPerSlice")

	fmt.Println("11 calls passed")
}

// try ends the program if a call failed, or its answer is not the expected one.
func try(call string, err error, expected bool) {
	if err != nil || !expected {
		log.Fatalf("%s: error %v, expected answer: %v", call, err, expected)
	}
}

func of[T any](text string) T {
	var value T
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		log.Fatal(err)
	}
	return value
}

func list(objects ...string) roster.KubernetesList {
	var items []roster.KubernetesObject
	for _, object := range objects {
		items = append(items, of[roster.KubernetesObject](object))
	}
	return roster.KubernetesList{ApiVersion: "v1", Kind: "List", Items: items}
}

// Command proxy measures how long kube-proxy takes to sort the endpoints of posted Services for one node: its
// change trackers, which cache slices, and CategorizeEndpoints. One JSON case per input line, one answer per output line.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"io"
	"os"
	"time"

	v1 "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/proxy"
)

// A task is a state, and how often it is viewed.
type task struct {
	Repeat   int                        `json:"repeat"`
	Node     string                     `json:"node"`
	Nodes    []*v1.Node                 `json:"nodes"`
	Services []*v1.Service              `json:"services"`
	Slices   []*discovery.EndpointSlice `json:"endpointSlices"`
}

// An answer has the times of all repetitions, and how many endpoints the node uses.
type answer struct {
	Nanos []int64 `json:"nanos"`
	// Sorting alone, without the trackers.
	Categorize []int64 `json:"categorize"`
	Used       int     `json:"writes"`
}

// view does what kube-proxy does at its start: all Services and slices are new.
func view(t *task, labels map[string]string) (used int, categorize time.Duration) {
	services := proxy.NewServiceChangeTracker(v1.IPv4Protocol, nil, nil)
	endpoints := proxy.NewEndpointsChangeTracker(v1.IPv4Protocol, t.Node, nil, nil)
	for _, s := range t.Services {
		services.Update(nil, s)
	}
	for _, s := range t.Slices {
		endpoints.EndpointSliceUpdate(s, false)
	}
	ports, byPort := proxy.ServicePortMap{}, proxy.EndpointsMap{}
	ports.Update(services)
	byPort.Update(endpoints)
	start := time.Now()
	for name, port := range ports {
		_, _, all, _ := proxy.CategorizeEndpoints(byPort[name], port, t.Node, labels)
		used += len(all)
	}
	return used, time.Since(start)
}

func measure(t *task) answer {
	labels := map[string]string{}
	for _, n := range t.Nodes {
		if n.Name == t.Node {
			labels = n.Labels
		}
	}
	var a answer
	for i := 0; i < t.Repeat; i++ {
		start := time.Now()
		used, categorize := view(t, labels)
		a.Nanos = append(a.Nanos, time.Since(start).Nanoseconds())
		a.Categorize = append(a.Categorize, categorize.Nanoseconds())
		a.Used = used
	}
	return a
}

func main() {
	flags := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(flags)
	_ = flags.Parse([]string{"-logtostderr=false", "-stderrthreshold=FATAL"})
	klog.SetOutput(io.Discard)
	in := json.NewDecoder(bufio.NewReaderSize(os.Stdin, 1<<20))
	out := json.NewEncoder(os.Stdout)
	for {
		var t task
		if err := in.Decode(&t); err == io.EOF {
			return
		} else if err != nil {
			panic(err)
		}
		if err := out.Encode(measure(&t)); err != nil {
			panic(err)
		}
	}
}

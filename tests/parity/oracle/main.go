// Command oracle runs the endpoints controllers of the Kubernetes release that go.mod pins, on one
// posted state at a time, and prints what they would write. It is the reference that Roster is
// compared with.
//
// One JSON case per input line gives one JSON answer per output line, in the same order. Every case
// gets controllers, caches and an API server of its own, so that nothing one case did is remembered
// by the next.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"

	v1 "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	k8stesting "k8s.io/client-go/testing"
	"k8s.io/klog/v2"
)

// Case is the state of one Service, and the controller that is to look at it.
type Case struct {
	ID         string                     `json:"id"`
	Controller string                     `json:"controller"` // endpoints | endpointslices | mirroring
	Service    *v1.Service                `json:"service,omitempty"`
	Pods       []*v1.Pod                  `json:"pods,omitempty"`
	Nodes      []*v1.Node                 `json:"nodes,omitempty"`
	Endpoints  *v1.Endpoints              `json:"endpoints,omitempty"`
	Slices     []*discovery.EndpointSlice `json:"endpointSlices,omitempty"`
	Max        int32                      `json:"maxEndpointsPerSlice,omitempty"`
	// Order is the order in which the ordered program goes through maps: 0 is the sorted one, any other number
	// gives one of its own. The plain program leaves it to Go.
	Order uint64 `json:"order,omitempty"`
	// Repeat asks for timings instead of an answer: so many syncs, each from a fresh state.
	Repeat int `json:"repeat,omitempty"`
}

// Action is one write that a controller sent to the API server.
type Action struct {
	Verb   string      `json:"verb"`
	Kind   string      `json:"kind"`
	Name   string      `json:"name,omitempty"`
	Object interface{} `json:"object,omitempty"`
}

// Answer is what the controller did with a case.
type Answer struct {
	ID      string   `json:"id"`
	Error   string   `json:"error,omitempty"` // what the sync returned; the controller would retry
	Actions []Action `json:"actions"`
	Events  []string `json:"events"` // "Type Reason message"
	// Nanos has the time of every sync, Writes the number of writes of one of them. Timings only.
	Nanos  []int64 `json:"nanos,omitempty"`
	Writes int     `json:"writes,omitempty"`
}

// answer runs a case. A panic of the controller is an answer too: 1.34.4 and 1.35.4 have one.
func answer(c *Case) (ans Answer) {
	ans = Answer{ID: c.ID, Actions: []Action{}, Events: []string{}}
	defer func() {
		if r := recover(); r != nil {
			ans.Error = fmt.Sprintf("panic: %v", r)
		}
	}()
	if c.Repeat > 0 {
		return measure(c)
	}
	client := apiServer(c)
	h, err := newHarness(c, client)
	if err != nil {
		ans.Error = err.Error()
		return ans
	}
	defer h.close()
	if err := h.sync(); err != nil {
		ans.Error = err.Error()
	}
	for _, a := range client.Actions() {
		if out, ok := action(a, len(ans.Actions)); ok {
			ans.Actions = append(ans.Actions, out)
		}
	}
	for len(h.events.Events) > 0 {
		ans.Events = append(ans.Events, <-h.events.Events)
	}
	return ans
}

// apiServer is a fake one that holds the posted objects and names what is created as a real one does.
func apiServer(c *Case) *fake.Clientset {
	var objs []runtime.Object
	if c.Endpoints != nil {
		objs = append(objs, c.Endpoints.DeepCopy())
	}
	for _, s := range c.Slices {
		objs = append(objs, s.DeepCopy())
	}
	client := fake.NewSimpleClientset(objs...)
	created := 0
	client.PrependReactor("create", "endpointslices", func(a k8stesting.Action) (bool, runtime.Object, error) {
		s := a.(k8stesting.CreateAction).GetObject().(*discovery.EndpointSlice)
		if s.Name == "" {
			s.Name = fmt.Sprintf("%s%05d", s.GenerateName, created)
		}
		s.UID, s.Generation = types.UID(fmt.Sprintf("uid-%d", created)), 1
		created++
		return true, s, nil
	})
	return client
}

// action turns the nth write into what is printed; reads are none. It was recorded before the server
// named the object.
func action(a k8stesting.Action, n int) (Action, bool) {
	out := Action{Verb: a.GetVerb(), Kind: a.GetResource().Resource}
	switch t := a.(type) {
	case k8stesting.CreateActionImpl:
		meta := t.Object.(metav1.Object)
		if meta.GetName() == "" {
			meta.SetName(fmt.Sprintf("%s%05d", meta.GetGenerateName(), n))
		}
		out.Object, out.Name = t.Object, meta.GetName()
	case k8stesting.UpdateActionImpl:
		out.Object, out.Name = t.Object, t.Object.(metav1.Object).GetName()
	case k8stesting.DeleteActionImpl:
		out.Name = t.Name
	case k8stesting.DeleteCollectionActionImpl:
		out.Name = "*"
	default:
		return out, false
	}
	return out, true
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	fs := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(fs)
	must(fs.Parse([]string{"-logtostderr=false", "-alsologtostderr=false", "-stderrthreshold=FATAL"}))
	klog.SetOutput(io.Discard)
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	out := bufio.NewWriterSize(os.Stdout, 1<<20)
	defer out.Flush()
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	for {
		line, err := in.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			var c Case
			if e := json.Unmarshal(line, &c); e != nil {
				must(enc.Encode(Answer{Error: "decode: " + e.Error()}))
			} else {
				must(enc.Encode(answer(&c)))
			}
		}
		if err != nil {
			return
		}
		// Someone may be waiting for the answers to what was sent so far.
		if in.Buffered() == 0 {
			must(out.Flush())
		}
	}
}

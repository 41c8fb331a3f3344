// Program protobuf is the reference for what `roster edge` writes as protobuf.
//
//	protobuf random N                     prints N random objects, each as JSON and as protobuf, with gzip
//	protobuf compare PROXY DIRECT NODE    reads everything that the proxy of a node caches, through it and directly, and says what differs
package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"math/rand"
	"os"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/randfill"
)

var serializer = protobuf.NewSerializer(scheme.Scheme, scheme.Scheme)

func main() {
	var err error
	switch arguments := os.Args[1:]; {
	case len(arguments) == 2 && arguments[0] == "random":
		err = random(arguments[1])
	case len(arguments) == 4 && arguments[0] == "compare":
		err = compare(arguments[1], arguments[2], arguments[3])
	default:
		err = fmt.Errorf("usage: protobuf random N | protobuf compare PROXY DIRECT NODE")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// A random object: every field may be set, whatever an API server would say of its value.
func random(count string) error {
	n, err := strconv.Atoi(count)
	if err != nil {
		return err
	}
	source := rand.New(rand.NewSource(13))
	filler := randfill.New().RandSource(source).NilChance(0.4).NumElements(1, 3).Funcs(
		func(t *metav1.Time, c randfill.Continue) { t.Time = time.Unix(c.Int63n(1<<32)-1<<30, 0).UTC() },
		func(q *resource.Quantity, c randfill.Continue) {
			*q = *resource.NewMilliQuantity(c.Int63n(1<<40)-1<<20, []resource.Format{resource.DecimalSI, resource.BinarySI}[c.Intn(2)])
		},
		func(v *intstr.IntOrString, c randfill.Continue) {
			*v = intstr.FromInt32(c.Int31())
			if c.Bool() {
				*v = intstr.FromString(c.String(8))
			}
		},
		func(s *string, c randfill.Continue) {
			if c.Intn(4) > 0 {
				*s = c.String(8)
			}
		},
		func(*[]metav1.ManagedFieldsEntry, randfill.Continue) {},
		func(*metav1.TypeMeta, randfill.Continue) {},
	)
	objects := []runtime.Object{
		&corev1.Service{}, &corev1.Endpoints{}, &discoveryv1.EndpointSlice{}, &corev1.Namespace{}, &corev1.Node{}, &metav1.Status{},
	}
	compressed, err := gzip.NewWriterLevel(os.Stdout, gzip.BestCompression)
	if err != nil {
		return err
	}
	out := json.NewEncoder(compressed)
	for i := range n {
		object := objects[i%len(objects)].DeepCopyObject()
		filler.Fill(object)
		kind := corev1.SchemeGroupVersion.WithKind("Status")
		if _, isStatus := object.(*metav1.Status); !isStatus {
			kinds, _, err := scheme.Scheme.ObjectKinds(object)
			if err != nil {
				return err
			}
			kind = kinds[0]
		}
		object.GetObjectKind().SetGroupVersionKind(kind)
		var encoded bytes.Buffer
		if err := serializer.Encode(object, &encoded); err != nil {
			return err
		}
		if err := out.Encode(map[string]any{"object": object, "protobuf": encoded.Bytes()}); err != nil {
			return err
		}
	}
	return compressed.Close()
}

// Prints the number of objects in lists that are the same.
func compare(proxy, direct, node string) error {
	paths := []string{
		"/api/v1/services", "/api/v1/endpoints", "/apis/discovery.k8s.io/v1/endpointslices", "/api/v1/namespaces", "/api/v1/nodes/" + node,
	}
	count := 0
	for i := 0; i < len(paths); i++ {
		path := paths[i]
		asProtobuf, err := read(proxy, path, runtime.ContentTypeProtobuf)
		if err != nil {
			return fmt.Errorf("%s through the proxy: %w", path, err)
		}
		asJSON, err := read(proxy, path, runtime.ContentTypeJSON)
		if err != nil {
			return fmt.Errorf("%s through the proxy, as JSON: %w", path, err)
		}
		fromServer, err := read(direct, path, runtime.ContentTypeProtobuf)
		if err != nil {
			return fmt.Errorf("%s directly: %w", path, err)
		}
		neutral(asProtobuf, false)
		neutral(asJSON, false)
		if !apiequality.Semantic.DeepEqual(asProtobuf, asJSON) {
			return fmt.Errorf("%s is not the same as JSON:\n%s\n%s", path, text(asProtobuf), text(asJSON))
		}
		neutral(asProtobuf, true)
		neutral(fromServer, true)
		if !apiequality.Semantic.DeepEqual(asProtobuf, fromServer) {
			return fmt.Errorf("%s is not the same directly:\n%s\n%s", path, text(asProtobuf), text(fromServer))
		}
		if !meta.IsListType(asProtobuf) {
			continue
		}
		// The first objects of each list also one by one.
		items, err := meta.ExtractList(asProtobuf)
		if err != nil {
			return err
		}
		count += len(items)
		for _, item := range items[:min(len(items), 20)] {
			object, err := meta.Accessor(item)
			if err != nil {
				return err
			}
			of := "/"
			if namespace := object.GetNamespace(); namespace != "" {
				of = "/namespaces/" + namespace + "/"
			}
			at := strings.LastIndex(path, "/")
			paths = append(paths, path[:at]+of+path[at+1:]+"/"+object.GetName())
		}
	}
	fmt.Println(count)
	return nil
}

// Reads an object or a list. What is protobuf must be written again as it was.
func read(kubeconfig, path, contentType string) (runtime.Object, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS = -1
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	raw, err := client.RESTClient().Get().AbsPath(path).SetHeader("Accept", contentType).DoRaw(context.Background())
	if err != nil {
		return nil, err
	}
	if contentType == runtime.ContentTypeJSON {
		object, _, err := scheme.Codecs.UniversalDeserializer().Decode(raw, nil, nil)
		return object, err
	}
	object, kind, err := serializer.Decode(raw, nil, nil)
	if err != nil {
		return nil, err
	}
	object.GetObjectKind().SetGroupVersionKind(*kind)
	var again bytes.Buffer
	if err := serializer.Encode(object, &again); err != nil {
		return nil, err
	}
	if !bytes.Equal(raw, again.Bytes()) {
		return nil, fmt.Errorf("these bytes are not those of Go:\n%x\n%x", raw, again.Bytes())
	}
	return object, nil
}

// Removes what protobuf does not have in lists, and what the proxy sets or leaves out.
func neutral(object runtime.Object, all bool) {
	each := func(object runtime.Object) error {
		object.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
		accessor, err := meta.Accessor(object)
		if err != nil || !all {
			return err
		}
		accessor.SetResourceVersion("")
		accessor.SetManagedFields(nil)
		return nil
	}
	if !meta.IsListType(object) {
		_ = each(object)
		return
	}
	if list, err := meta.ListAccessor(object); err == nil && all {
		list.SetResourceVersion("")
	}
	_ = meta.EachListItem(object, each)
}

func text(object runtime.Object) string {
	text, err := json.Marshal(object)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

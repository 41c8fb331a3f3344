// Records which JSON sigs.k8s.io/yaml, and with it kubectl, makes of YAML: see README.md.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"sigs.k8s.io/yaml"
)

// Words for booleans, null and numbers, in spellings that count and that do not.
var words = strings.Fields(`
y Y n N yes Yes YES yEs no No NO nO on On ON oN off Off OFF oFF true True TRUE tRue false False FALSE fALSE t f T F
~ null Null NULL nUll nil none None .nan .NaN .NAN .Nan nan NaN .inf .Inf .INF .iNF inf Inf +.inf +.Inf +.INF -.inf
-.Inf -.INF -inf +inf infinity -.nan +.nan << = yess onn offf nope yes. o O`)

// Numbers in all notations, and what only looks like one.
var numbers = strings.Fields(`
0 1 7 80 00 01 007 08 09 010 012 0123 0888 0o7 0o10 0o8 0O17 -010 +010 -08 0_1 1_ 1_0 1_000 1__0 _1 -1_0 -_1 -_ + - -- +-1
0x 0x0 0x1F 0x1f 0X1F 0xg 0x_1F 0x1_F -0x1F +0x1F 0x-1 0x+1 0x1.8 0x1p4 0b 0b0 0b1 0b101 0b2 0B1 0b_1 -0b1 +0b1 -0b 0b-1 0b+1
0b--1 -0b-1 0b-1_0 0B-1 0o-1 0b1111111111111111111111111111111111111111111111111111111111111111
0b11111111111111111111111111111111111111111111111111111111111111111 -0 +0 -1 +1 -80 +80 --1 1- 1+1 1-1
9007199254740992 9007199254740993 9223372036854775807 9223372036854775808 +9223372036854775807 +9223372036854775808
-9223372036854775808 -9223372036854775809 18446744073709551615 18446744073709551616 +18446744073709551615
0x7FFFFFFFFFFFFFFF 0x8000000000000000 0xFFFFFFFFFFFFFFFF 0x1FFFFFFFFFFFFFFFF -0x8000000000000000 -0x8000000000000001
01777777777777777777777 0777777777777777777777777 100000000000000000000 123456789012345678901234567890
. .. .5 .5. 5. .1__0 .5_ .5_e3 .5e1_0 .5e_1 .5e1_ -.1_0 0.5 -.5 +.5 -5. 1.0 1.10 1.20 1.5 -1.5 +1.5 1.2.3 1..2 .1_0 1_0.5 1._5 1.5_0 ._5 1_.5 00.5 01.5 -0.0 +0.0 0.0
1e3 1E3 1e+3 1e-3 1e03 1.5e3 1.5E-3 .5e3 .5e-3 .e3 e3 1e 1e+ 1e3.5 1_0e1_0 0e0 -1e3 +1e3 1e5 1e6 1e7 1e15 1e20 1e21 1e22 1.5e21
123456789.125 1234567.5 999999.5 1e-4 1e-5 1e-6 1e-7 1.5e-7 0.000001 0.0000001 1e308 1e309 1e400 -1e400 .5e999 5e-324 5e-325 5e-999
12e3456 1234e5678 0e999 1e0_0 1d5 1f 5% 5m 500m 1Gi 1k 0.1.0 1,000 1/2 #1 0x1F.5 3.4028236e38 1.0e-46 16777217 16777217.5
1:30 190:20:30 12:30:45 1:30.5 0:0 -1:30 22:22 10.0.0.1 1.2.3.4/24 2001-01-01 2001-1-1 2001-01-01T10:00:00Z 2001-12-14t21:59:43.10-05:00
2001-13-45 20010101 2001-01 1-1 v1 v1.2 1.2-3 1.30 1.37 16.04 3.10 0644 0755 0o644 0777 0400`)

// Scalars as they are written, with quotes and tags.
var written = []string{
	`"yes"`, `'on'`, `"80"`, `'0x1F'`, `"~"`, `""`, `''`, ``, `"1_000"`, `'null'`, `"\u0031"`, "|\n  yes\n", "|-\n  80\n", ">-\n  on\n",
	`!!str yes`, `!!str 80`, `!!str ~`, `!!str`, `!!str "x"`, `!!int "3"`, `!!int 3`, `!!int 0x10`, `!!int x`, `!!int 3.5`, `!!int ""`,
	`!!float 3`, `!!float "3.5"`, `!!float 1e3`, `!!float x`, `!!float 18446744073709551615`, `!!float 9007199254740993`, `!!float .inf`,
	`!!bool yes`, `!!bool "off"`, `!!bool 1`, `!!bool x`, `!!null ~`, `!!null ""`, `!!null`, `!!null x`, `!!binary aGVsbG8=`, `!!binary "aGk="`,
	`!!binary "%%%"`, `!!binary ""`, `!!timestamp 2001-01-01`, `!!merge <<`, `!local 3`, `!local yes`, `!local "x"`, `!local`,
	`!<tag:yaml.org,2002:str> yes`, `!<tag:yaml.org,2002:int> "7"`, `!!foo 3`, `2001-12-14 21:59:43.10`, `a b`, `yes no`, `on # off`,
	`{a: yes, b: [on, 0x1F]}`, `[y, 012, 1_000]`, `!!map {a: 1}`, `!!seq [1]`, `!!set {a: 1}`, `!!omap [a: 1]`,
}

var documents = []string{
	"{a: 1, <<: {a: 2}}", "{<<: {a: 2}, a: 1}", "{<<: [{a: 2}, {a: 3, b: 4}], c: 1}", "{<<: [], a: 1}", "{a: 1, <<: []}", "{<<: {}}",
	"{<<: {}, a: 1}", "{a: 1, <<: {}, b: 2}", `{"<<": {a: 2}, a: 1}`, `{'<<': 5}`, "{!!str <<: {a: 1}}", "{!!merge <<: {a: 1}}",
	`{!!merge "<<": {a: 1}}`, "{<<: 5}", "{<<: x}", "{<<: ~}", "{<<: }", "{<<: [5]}", "{<<: [[{a: 1}]]}", "[<<]", "a: <<", "a: '<<'",
	"{<<: {a: 2}, <<: {a: 3, b: 1}}", "{<<: {a: 2, b: 3}, <<: {b: 4}, c: 5, a: 6}", "{a: 1, <<: {a: null}}", "{<<: {a: 1}, a: null}",
	"{a: 1, b: 2, c: 3, <<: {b: 4}}", "{a: 1, b: 2, c: 3, <<: {a: 4}}", "{a: 1, b: 2, c: 3, <<: {c: 4}}", "{a: 1, b: 2, <<: {b: 3, a: 4}, a: 5, b: 6}",
	"{<<: {a: 1, b: 2, c: 3}, b: 4}", "{<<: {a: 1, b: 2, c: 3}, a: 4, c: 5, b: 6}", "{<<: {a: 1}, b: 2, a: 3}", "{<<: {on: 1}, \"true\": 2}",
	"{<<: {1: x}, 0x1: y}", "{<<: {a: {b: 1, c: 2}}, a: {b: 3}}", "{a: {b: 1}, <<: {a: {c: 2}}}", "{<<: {<<: {a: 1}, b: 2}, c: 3}",
	"x: &a {k: 1, b: 2}\nv: {<<: *a, b: 3}\nz: {b: 3, <<: *a}\n", "x: &a {k: 1}\nv: &b {<<: *a, b: 3}\nz: {<<: [*b, *a], c: *a}\n",
	"x: &a {k: 1}\nv: &b {k: 2, l: 3}\nz: {<<: [*a, *b]}\nw: {<<: [*b, *a]}\n", "x: &a [{k: 1}]\nv: {<<: *a}\n", "x: &a 5\nv: {<<: *a}\n",
	"x: &a {k: 1}\nv: {<<: [*a, {k: 2, m: 3}]}\n", "x: &a {k: 1}\nv:\n  <<: *a\n  <<: {k: 2}\n", "a: &x {b: *x}\n", "a: &x {<<: *x}\n",
	"base: &base\n  labels:\n    app: web\n    tier: front\n  ports: [80]\nmine:\n  <<: *base\n  ports: [81]\n",
	"base: &base\n  app: web\nother: &other\n  tier: front\nmine:\n  <<: [*base, *other]\n  app: api\nlist:\n- <<: *base\n  name: x\n- name: y\n  <<: *other\n",
	"mine:\n  <<:\n    a: 1\n    b:\n      c: 2\n  b: 3\nafter: x\n", "mine:\n  <<:\n  - a: 1\n  - a: 2\n    b: 3\n  c: 4\n", "? <<\n: {a: 1}\n",
	"x: &a {k: &b {l: 1}}\ny1: *b\nz: {<<: *a, k: 2}\nw: *b\n", "x: {<<: &a {k: 1}, l: 2}\nz: *a\n", "x: {<<: {k: &a {l: 1}}}\nz: *a\n",
	"x: &a yes\n*a : 5\n", "x: &a 1e6\n*a : 5\n", "x: &a [1]\n*a : 5\n", "x: &a ~\n*a : 5\n", "&a on: x\nv: *a\n", "&a k: x\n<<: {*a : 2}\n",
	"x: &a {k: \"a \\\" b  {c}\", l: 'x: y'}\nz: {<<: *a}\nv: *a\n", "x: &a {k: \"a\\\\\"}\nz: {<<: *a, l: \" \"}\n", "{[1]: 2}", "{{a: 1}: 2}", "{~: 1}", "{: 1}",
	"x: &a {k: 1, l: 2}\nz: &c {<<: *a, k: 3}\nv: &d {<<: *c, l: 4}\nw: {m: 5, <<: *d}\n", "a: 1\na: 2\n", "{on: 1, true: 2}", "{1: a, \"1\": b, k: *x}",
	"a: |\n  cat <<EOF\n  x\n  EOF\nb: 1\n", "x: &a {k: 1}\nv: [{<<: *a}, {<<: *a, k: 2}, {k: 2, <<: *a}]\n", "x: &a {}\nv: {<<: *a, b: 1}\n", "", "---\n", "~",
	// Quoted scalars may go on anywhere in a line.
	"a:\n  b: '[\n    {\"x\": 1}\n  ]'\n", "a:\n  b: \"c\n  d\ne\n\n f\"\ng: 1\n", "a:\n- b: 'c\n\n\n d ''\ne'\n  f: 1\n- \"g\nh: i\"\n",
	"a: \"b\\\nc\"\n", "a:\n  b: \"c\n\td\"\n  e: 1\n", "a: 'b\n---\nc'\n", "a: 'b\n--- c'\n", "a: 'b\n---c'\n", "a:\n  b: 'c\n d'\ne: 'f\ng'\n",
	"a:\n  b: 'c\n d': 1\n", "a:\n  b: 'c\n d' e\n", "'a\nb'\n", "[\"a\nb\"]\n",
	"a:\n  b: !!str 'c\nd'\n", "a:\n- &e \"c\nd\"\n- *e\n", "a:\n  b:\n    c: 'd\n \t\ne'\n",
	// Any number of comments may stand before a value.
	"a:\n" + strings.Repeat("# x\n", 200) + "b: 1\n", "a:\n- b\n" + strings.Repeat("#\n", 200) + "- c\n" + strings.Repeat("  #\n", 200),
}

// row is YAML and its JSON, or null if it is refused.
func row(text string) string {
	var answer *string
	if converted, err := yaml.YAMLToJSON([]byte(text)); err == nil {
		answer = new(string)
		*answer = unescaped(converted)
	}
	line := new(strings.Builder)
	encoder := json.NewEncoder(line)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode([]any{text, answer}); err != nil {
		panic(err)
	}
	return line.String()
}

// unescaped removes the escapes that only HTML needs.
func unescaped(text []byte) string {
	return strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(string(text))
}

func write(name string, texts []string) {
	lines := new(strings.Builder)
	for _, text := range texts {
		lines.WriteString(row(text))
	}
	if err := os.WriteFile(name, []byte(lines.String()), 0o644); err != nil {
		panic(err)
	}
	fmt.Println(name, len(texts))
}

func main() {
	var scalars, keys []string
	for _, text := range append(append(words, numbers...), written...) {
		scalars = append(scalars, "v: "+text)
		if !strings.ContainsAny(text, "\n[{#") && text != "<<" && text != "!!merge <<" {
			keys = append(keys, text+" : v")
		}
	}
	write("scalars.jsonl", scalars)
	write("keys.jsonl", keys)
	write("documents.jsonl", documents)
}

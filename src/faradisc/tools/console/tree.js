// The tree of one item: a row for each attribute and member, with its name, type and value. Names and values are text.
// It emits the item as typed JSON with every change; what is typed wrongly is found by the server.
const TYPES = {S: "String", N: "Number", B: "Binary", BOOL: "Boolean", NULL: "Null", M: "Map", L: "List", SS: "String set", NS: "Number set", BS: "Binary set"};
const MANY = 200;
let ids = 0;
const inside = (kind) => ({M: "M", L: "L"})[kind] ? "S" : kind[0];
const holds = (kind) => ["M", "L", "SS", "NS", "BS"].includes(kind);
function nodeOf(name, value, open) {
  const kind = Object.keys(value)[0], content = value[kind];
  const node = {id: ids++, name, kind, text: "", children: [], open, most: MANY};
  if (kind === "M") node.children = Object.entries(content).map(([each, inner]) => nodeOf(each, inner, false));
  else if (kind === "L") node.children = content.map((inner) => nodeOf("", inner, false));
  else if (holds(kind)) node.children = content.map((text) => nodeOf("", {[kind[0]]: text}, false));
  else node.text = kind === "NULL" ? "" : String(content);
  return node;
}
function valueOf(node) {
  switch (node.kind) {
    case "M": return {M: membersOf(node.children)};
    case "L": return {L: node.children.map(valueOf)};
    case "SS": case "NS": case "BS": return {[node.kind]: node.children.map((each) => each.text)};
    case "BOOL": return {BOOL: node.text === "true"};
    case "NULL": return {NULL: true};
    default: return {[node.kind]: node.text};
  }
}
const membersOf = (nodes) => Object.fromEntries(nodes.map((each) => [each.name, valueOf(each)]));
function twice(nodes) {
  const seen = new Set();
  for (const node of nodes) {
    if (node.name !== "" && seen.has(node.name)) return node.name;
    seen.add(node.name);
    const inner = node.kind === "M" ? twice(node.children) : node.kind === "L" ? node.children.map((each) => twice(each.children)).find(Boolean) : "";
    if (inner) return inner;
  }
  return "";
}
const Rows = {
  name: "tree-rows",
  props: ["nodes", "kind", "depth", "changed"],
  template: `
    <template v-for="(node, at) in nodes.slice(0, most)" :key="node.id">
      <div class="form-row" :style="{paddingLeft: depth * 14 + 'px'}">
        <div class="tree-name">
          <button v-if="holds(node.kind)" type="button" class="tree-fold" :aria-expanded="node.open" :aria-label="(node.open ? 'Close ' : 'Open ') + (node.name || at)"
            @click="node.open = !node.open">{{ node.open ? "▾" : "▸" }}</button>
          <span v-else class="tree-fold"></span>
          <input v-if="kind === 'M'" v-model="node.name" class="tree-field" aria-label="Attribute" :title="node.name || 'a new attribute'" @input="changed">
          <span v-else class="soft mono">{{ at }}</span>
        </div>
        <select class="tree-field" :value="node.kind" aria-label="Type" :disabled="!['M', 'L'].includes(kind)" @change="retype(node, $event.target.value)">
          <option v-for="(word, code) in types" :key="code" :value="code">{{ word }}</option>
        </select>
        <select v-if="node.kind === 'BOOL'" v-model="node.text" class="tree-field" aria-label="Value" @change="changed"><option>true</option><option>false</option></select>
        <button v-else-if="holds(node.kind)" type="button" class="tree-sum mono" @click="node.open = !node.open">{{ sum(node) }}</button>
        <span v-else-if="node.kind === 'NULL'" class="soft mono">null</span>
        <textarea v-else v-model="node.text" class="tree-field" :class="'kind-' + node.kind" aria-label="Value" spellcheck="false" :rows="rows(node.text)" @input="changed"></textarea>
        <button type="button" class="tree-fold" :aria-label="kind === 'M' ? 'Remove attribute' : 'Remove element'" @click="nodes.splice(at, 1); changed()">✕</button>
      </div>
      <template v-if="node.open && holds(node.kind)">
        <tree-rows :nodes="node.children" :kind="node.kind" :depth="depth + 1" :changed="changed"></tree-rows>
      </template>
    </template>
    <button v-if="nodes.length > most" type="button" class="tree-add" @click="most += 200">Show more of {{ nodes.length }}</button>
    <button type="button" class="tree-add" :style="{marginLeft: depth * 14 + 20 + 'px'}" @click="add">+ {{ depth ? (kind === "M" ? "Member" : "Element") : "Add attribute" }}</button>`,
  data: () => ({types: TYPES, most: MANY}),
  methods: {
    holds,
    rows(text) { return Math.min(8, Math.max(1, text.split("\n").length, Math.ceil(text.length / 44))); },
    sum(node) {
      const names = node.kind === "M" ? node.children.map((each) => each.name) : node.children.map((each) => each.text || TYPES[each.kind]);
      return `${node.children.length} · ${names.slice(0, 5).join(", ").slice(0, 60)}${names.length > 5 ? ", …" : ""}`;
    },
    retype(node, kind) {
      if (!(holds(kind) && holds(node.kind))) node.children = [];
      else if (kind !== "M" && kind !== "L") for (const each of node.children) Object.assign(each, {kind: kind[0], children: [], name: ""});
      if (kind === "BOOL") node.text = node.text === "true" ? "true" : "false";
      Object.assign(node, {kind, open: holds(kind)});
      this.changed();
    },
    add() {
      this.nodes.push(nodeOf("", {[inside(this.kind)]: ""}, false));
      this.most = Math.max(this.most, this.nodes.length);
      this.changed();
    },
  },
};
Rows.components = {"tree-rows": Rows};
export default {
  components: {"tree-rows": Rows},
  template: `<div class="tree"><tree-rows :nodes="nodes" kind="M" :depth="0" :changed="changed"></tree-rows></div>`,
  props: {item: {default: () => ({})}, first: {default: () => []}},
  emits: ["edit"],
  data: () => ({nodes: []}),
  watch: {item(item) { this.take(item); }},
  created() { this.take(this.item); },
  methods: {
    // The keys stand first; what was open stays open.
    take(item) {
      if (JSON.stringify(item) === JSON.stringify(membersOf(this.nodes))) return;
      const opened = new Set(), path = (above, node, at) => above + "/" + (node.name || at);
      const note = (nodes, above) => nodes.forEach((node, at) => {
        if (node.open) { opened.add(path(above, node, at)); note(node.children, path(above, node, at)); }
      });
      note(this.nodes, "");
      const names = [...this.first.filter((name) => name in item), ...Object.keys(item).filter((name) => !this.first.includes(name))];
      const restore = (nodes, above) => nodes.forEach((node, at) => {
        node.open = opened.has(path(above, node, at));
        if (node.open) restore(node.children, path(above, node, at));
      });
      this.nodes = names.map((name) => nodeOf(name, item[name], false));
      restore(this.nodes, "");
    },
    changed() { this.$emit("edit", {item: membersOf(this.nodes), twice: twice(this.nodes)}); },
  },
};

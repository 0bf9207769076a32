// The palette: any page, table or action by a few letters, with arrows and Enter. Opened by the event "palette".
// The pages of tables are listed when it opens: a thousand tables have six thousand.
export default {
  template: `
    <dialog ref="box" class="palette" aria-label="Go to" @click.self="close" @close="text = ''; open = false">
      <input ref="field" v-model="text" placeholder="Page, table or action" aria-label="Page or table" role="combobox"
        aria-expanded="true" aria-controls="palette-list" :aria-activedescendant="'palette-' + at"
        @keydown.down.prevent="move(1)" @keydown.up.prevent="move(-1)" @keydown.enter.prevent="pick(found[at])"
        @keydown.esc.prevent="close">
      <div v-if="open" id="palette-list" role="listbox" aria-label="Found">
        <div v-for="(entry, n) in found" :key="entry.name" :id="'palette-' + n" role="option" :aria-selected="n === at"
          :class="n === at ? 'palette-entry on' : 'palette-entry'" @mousemove="at = n" @click="pick(entry)">
          <span>{{ entry.name }}</span><span class="soft">{{ entry.kind }}</span>
        </div>
        <div v-if="!found.length" class="soft palette-entry">Nothing has these letters</div>
      </div>
    </dialog>`,
  props: {entries: {default: () => []}, tables: {default: () => []}, tabs: {default: () => ({})}},
  emits: ["pick"],
  data: () => ({text: "", at: 0, open: false}),
  computed: {
    all() {
      const pages = (table) => Object.entries(this.tabs).map(([name, end]) => ({
        name: `${table} / ${name}`, target: `/tables/${encodeURIComponent(table)}` + (end && "/" + end), kind: "table",
      }));
      return [...this.entries, ...this.tables.flatMap(pages)];
    },
    found() {
      const wanted = this.text.toLowerCase().replace(/\s+/g, "");
      if (!wanted) return this.all.slice(0, 12);
      const scored = [];
      for (const entry of this.all) {
        const score = this.score(entry.name.toLowerCase(), wanted);
        if (score !== null) scored.push([score, entry]);
      }
      return scored.sort((a, b) => a[0] - b[0] || a[1].name.length - b[1].name.length).slice(0, 12).map((pair) => pair[1]);
    },
  },
  watch: {text() { this.at = 0; }},
  mounted() { document.addEventListener("palette", this.show); },
  unmounted() { document.removeEventListener("palette", this.show); },
  methods: {
    // Letters in order; the smaller the gaps and the earlier the start, the better. null: they do not occur.
    score(name, wanted) {
      const whole = name.replace(/\s+/g, "").indexOf(wanted);
      if (whole >= 0) return whole;
      let place = -1, gaps = 0;
      for (const letter of wanted) {
        const next = name.indexOf(letter, place + 1);
        if (next < 0) return null;
        gaps += place < 0 ? next : next - place - 1;
        place = next;
      }
      return 100 + gaps;
    },
    show() { this.$refs.box.showModal(); this.open = true; this.at = 0; this.$nextTick(() => this.$refs.field.focus()); },
    close() { this.$refs.box.close(); },
    move(step) { this.at = (this.at + step + this.found.length) % Math.max(this.found.length, 1); },
    pick(entry) {
      if (!entry) return;
      this.close();
      if (entry.target) emitEvent("go", {path: entry.target, how: "push"});
      else this.$emit("pick", entry.action);
    },
  },
};

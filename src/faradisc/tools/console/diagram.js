// A drawing: cards in columns, arrows between them. Arrows inside one column bend to its left. Texts are text.
export default {
  template: `
    <div ref="box" class="diagram" :class="{bent}" role="group" :aria-label="label">
      <svg class="diagram-arrows" aria-hidden="true">
        <template v-for="(path, n) in paths" :key="n">
          <path :d="path.d" :class="['arrow', path.style, dim(path) ? 'dim' : '']" marker-end="url(#arrow-head)"></path>
          <text v-if="path.label" :x="path.x" :y="path.y" :class="['arrow-label', dim(path) ? 'dim' : '']" text-anchor="middle">{{ path.label }}</text>
        </template>
        <defs><marker id="arrow-head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">
          <path d="M0 0 8 4 0 8z" fill="context-stroke"></path></marker></defs>
      </svg>
      <div v-for="column in columns" :key="column.title" class="diagram-column">
        <div class="side-title">{{ column.title }}</div>
        <div v-for="card in column.cards" :key="card.id" :data-card="card.id" class="diagram-card" :class="card.style" tabindex="0"
          @mouseenter="over = card.id" @mouseleave="over = null" @focus="over = card.id" @blur="over = null">
          <div class="diagram-head">
            <span v-if="card.chip" class="entity" :class="card.style.replace('c-', '')">{{ card.title }}</span>
            <span v-else class="mono diagram-title">{{ card.title }}</span>
            <span class="soft number">{{ card.count }}</span>
          </div>
          <div v-for="line in card.lines" class="diagram-line"><span class="fact-name">{{ line[0] }}</span><span class="mono">{{ line[1] }}</span></div>
          <div v-if="card.note" class="soft">{{ card.note }}</div>
        </div>
      </div>
      <ul class="diagram-said"><li v-for="each in arrows">{{ title(each.from) }} → {{ title(each.to) }}{{ each.label ? ": " + each.label : "" }}</li></ul>
    </div>`,
  props: {columns: {default: () => []}, arrows: {default: () => []}, label: {default: ""}},
  data: () => ({paths: [], over: null}),
  // Arrows inside a column need room at its left.
  computed: {bent() {
    const column = (id) => this.columns.findIndex((each) => each.cards.some((card) => card.id === id));
    return this.arrows.some((each) => column(each.from) === column(each.to));
  }},
  watch: {columns() { this.$nextTick(this.measure); }, arrows() { this.$nextTick(this.measure); }},
  mounted() { this.sizes = new ResizeObserver(() => this.measure()); this.sizes.observe(this.$el); this.measure(); },
  unmounted() { this.sizes.disconnect(); },
  methods: {
    dim(path) { return this.over !== null && path.from !== this.over && path.to !== this.over; },
    title(id) { return this.columns.flatMap((column) => column.cards).find((card) => card.id === id)?.title ?? id; },
    measure() {
      const frame = this.$el.getBoundingClientRect(), boxes = new Map(), ends = new Map();
      for (const each of this.$el.querySelectorAll("[data-card]")) {
        const box = each.getBoundingClientRect();
        boxes.set(each.dataset.card, {left: box.left - frame.left, right: box.right - frame.left, top: box.top - frame.top, height: box.height});
      }
      // Arrows at one side of a card are spread over its height.
      const known = this.arrows.filter((each) => boxes.has(each.from) && boxes.has(each.to));
      for (const each of known) for (const end of ["from", "to"]) {
        const key = end + each[end];
        ends.set(key, [...(ends.get(key) || []), each]);
      }
      const y = (each, end) => {
        const box = boxes.get(each[end]), mine = ends.get(end + each[end]);
        return box.top + box.height * (mine.indexOf(each) + 1) / (mine.length + 1);
      };
      this.paths = known.map((each) => {
        const a = boxes.get(each.from), b = boxes.get(each.to), ya = y(each, "from"), yb = y(each, "to");
        const same = Math.abs(a.left - b.left) < 4, x1 = same ? a.left : a.right, x2 = b.left, bend = same ? -26 : Math.max(20, (x2 - x1) / 2);
        const d = `M${x1} ${ya} C${x1 + bend} ${ya} ${same ? x2 + bend : x2 - bend} ${yb} ${x2} ${yb}`;
        const x = same ? x1 - 18 : x1 + (x2 - x1) * 0.42, at = ya + (yb - ya) * (same ? 0.5 : 0.36);
        return {...each, d, x, y: at - 4, label: x2 - x1 > 120 ? each.label : ""};
      });
    },
  },
};

// The heat map: time to the right, the key space upwards, a child beside its parent from the moment of the split.
// Drawn on a canvas; a click chooses a partition, the wheel does nothing, Replay runs the hour in twelve seconds.
const RAMP = ["--u0", "--u2", "--u4", "--u6", "--u8", "--u9"];  // of the plan's report, as is the colour of throttles
export default {
  template: `
    <div class="heatmap">
      <canvas ref="canvas" role="img" :aria-label="label" tabindex="0" @mousemove="hover" @mouseleave="leave" @click="choose"
        @keydown.left.prevent="step(-1)" @keydown.right.prevent="step(1)"></canvas>
      <div v-if="tip" class="heat-tip" :class="{fixed: tip.fixed}" :style="tip.style"><div v-for="line in tip.lines" :key="line">{{ line }}</div>
        <template v-if="tip.fixed">
          <button v-if="tip.key" type="button" class="heat-button" @click="$emit('open', tip.name); tip = null">Open the key</button>
          <button v-if="tip.key" type="button" class="heat-button" @click="$emit('fix', tip.name); tip = null">Fix</button>
          <button type="button" class="heat-button" aria-label="Close" @click="tip = null">✕</button>
        </template></div>
      <div class="heat-legend">
        <span>0 %</span><span v-for="colour in ramp" :key="colour" class="heat-swatch" :style="{background: colour}"></span>
        <span>100 % of the limit</span><span class="heat-swatch" :style="{background: hot}"></span><span>throttled</span>
        <span class="grow"></span>
        <button type="button" class="heat-button" @click="replay">{{ playing ? "Stop" : "Replay" }}</button>
        <button type="button" class="heat-button" @click="save">Save as picture</button>
      </div>
    </div>`,
  props: {rows: {default: () => []}, slots: {default: 0}, slotS: {default: 10}, endMs: {default: 0}, picked: {default: null}, name: {default: ""}},
  emits: ["pick", "open", "fix"],
  data: () => ({tip: null, dark: false, upto: null, playing: false}),
  computed: {
    ramp() { return RAMP.map((name) => this.colourOf(name)); },
    hot() { return this.colourOf("--no"); },
    throttled() { return this.rows.reduce((sum, row) => sum + row.throttled.reduce((a, b) => a + b, 0), 0); },
    label() {
      return `Heat of ${this.rows.length} partitions in the last ${Math.round(this.slots * this.slotS / 60)} minutes; `
        + `${this.throttled} requests were throttled`;
    },
  },
  watch: {rows() { this.draw(); }, picked() { this.draw(); }, dark() { this.draw(); }},
  mounted() {
    const colours = () => { this.dark = document.body.classList.contains("body--dark"); };
    this.bodies = new MutationObserver(colours);
    this.bodies.observe(document.body, {attributes: true, attributeFilter: ["class"]});
    this.sizes = new ResizeObserver(() => this.draw());
    this.sizes.observe(this.$el);
    colours();
    this.draw();
  },
  unmounted() { this.bodies.disconnect(); this.sizes.disconnect(); clearInterval(this.timer); },
  methods: {
    // The style of the body follows dark and light, which `dark` makes this depend on.
    colourOf(name) { return this.dark !== null && getComputedStyle(document.body).getPropertyValue(name).trim(); },
    // Rows that live at the same time lie beside each other; a parent spans the lanes of its children.
    lanes() {
      const children = new Map();
      for (const row of this.rows) if (row.parent) children.set(row.parent, [...(children.get(row.parent) || []), row]);
      const known = new Set(this.rows.map((row) => row.name));
      const placed = [];
      let lane = 0;
      const place = (row) => {
        const mine = children.get(row.name) || [];
        const first = lane;
        if (mine.length) for (const child of mine) place(child); else lane++;
        placed.push({row, first, count: lane - first});
      };
      for (const row of this.rows) if (!row.parent || !known.has(row.parent)) place(row);
      return {placed, count: Math.max(lane, 1)};
    },
    shape() {
      const wide = this.$el.clientWidth > 600;
      const left = wide ? 128 : 64, width = Math.max(this.$el.clientWidth - left - 8, 50);
      const {placed, count} = this.lanes();
      const height = Math.max(40, Math.min(count * 40, 420));
      // The last hour at most, and at least six minutes, so that little history is not one broad block.
      const span = Math.max(this.slots, 36);
      return {left, width, height, placed, count, span, from: span - this.slots, lane: height / count, cell: width / span};
    },
    colour(percent) {
      if (percent < 0) return null;
      const at = Math.min(percent, 100) / 100 * (this.ramp.length - 1), low = Math.floor(at);
      const mix = (a, b, share) => Math.round(a + (b - a) * share);
      const parse = (text) => [1, 3, 5].map((place) => parseInt(text.slice(place, place + 2), 16));
      const [a, b] = [parse(this.ramp[low]), parse(this.ramp[Math.min(low + 1, this.ramp.length - 1)])];
      return `rgb(${a.map((each, n) => mix(each, b[n], at - low)).join(",")})`;
    },
    draw() {
      const canvas = this.$refs.canvas;
      if (!canvas || !this.$el.clientWidth) return;
      const s = this.shape(), ratio = window.devicePixelRatio || 1, full = s.height + 22;
      canvas.width = this.$el.clientWidth * ratio;
      canvas.height = full * ratio;
      canvas.style.height = full + "px";
      const pen = canvas.getContext("2d");
      pen.scale(ratio, ratio);
      const ink = getComputedStyle(this.$el).getPropertyValue("--soft"), paper = getComputedStyle(this.$el).getPropertyValue("--panel");
      pen.fillStyle = paper;
      pen.fillRect(0, 0, canvas.width, full);
      pen.font = "11px ui-monospace, Menlo, Consolas, 'Liberation Mono', monospace";
      for (const {row, first, count} of s.placed) {
        const top = s.height - (first + count) * s.lane, tall = count * s.lane - 1;
        row.used.forEach((percent, n) => {
          const slot = row.first + n, colour = row.throttled[n] > 0 ? this.hot : this.colour(percent);
          if (!colour || (this.upto !== null && slot > this.upto)) return;
          pen.fillStyle = colour;
          pen.fillRect(s.left + (s.from + slot) * s.cell, top, Math.ceil(s.cell), tall);
        });
        if (row.name === this.picked) {
          pen.strokeStyle = ink;
          pen.lineWidth = 2;
          pen.strokeRect(s.left + (s.from + row.first) * s.cell + 1, top + 1, row.used.length * s.cell - 2, tall - 2);
        }
        const isLast = row.first + row.used.length >= this.slots;
        if (isLast && tall > 9) {
          pen.fillStyle = ink;
          pen.textAlign = "right";
          pen.textBaseline = "middle";
          pen.fillText(s.left > 100 ? row.label : row.label.slice(0, 8), s.left - 8, top + tall / 2, s.left - 10);
        }
      }
      pen.fillStyle = ink;
      pen.textBaseline = "top";
      const every = Math.max(1, Math.ceil(s.span / Math.max(Math.floor(s.width / 110), 1) / 6)) * 6;
      for (let slot = s.span - 1; slot >= 0; slot -= every) {
        pen.textAlign = slot === s.span - 1 ? "right" : "center";
        const at = s.left + (slot + 1) * s.cell;
        if (at > s.left + 24) pen.fillText(this.clock(slot - s.from), at, s.height + 6);
      }
    },
    clock(slot) {
      const at = new Date(this.endMs - (this.slots - 1 - slot) * this.slotS * 1000);
      return at.toLocaleTimeString("en-GB");
    },
    at(event) {
      const s = this.shape(), box = this.$refs.canvas.getBoundingClientRect();
      const x = event.clientX - box.left, y = event.clientY - box.top;
      const slot = Math.floor((x - s.left) / s.cell) - s.from, lane = (s.height - y) / s.lane;
      const inLane = s.placed.filter(({first, count}) => lane >= first && lane < first + count);
      const found = inLane.find(({row}) => slot >= row.first && slot < row.first + row.used.length)
        || (x < s.left ? inLane.find(({row}) => row.first + row.used.length >= this.slots) : undefined);
      return {x, y, slot, row: found?.row};
    },
    hover(event) { if (!this.tip?.fixed) this.tip = this.tipAt(event, false); },
    leave() { if (!this.tip?.fixed) this.tip = null; },
    tipAt(event, fixed) {
      const {x, y, slot, row} = this.at(event);
      if (!row || slot < row.first) return null;
      const n = slot - row.first, percent = row.used[n], count = row.throttled[n];
      const lines = [`${this.clock(slot)}  partition ${row.short}`, percent < 0 ? "not known" : `${percent} % of its limit`];
      if (count) lines.push(`${count.toLocaleString("en")} requests throttled`);
      if (row.key) lines.push(`hottest key now: ${row.key}`);
      if (!fixed) lines.push("click for its keys");
      const right = x > this.$el.clientWidth / 2;
      const style = {top: y + 14 + "px", [right ? "right" : "left"]: (right ? this.$el.clientWidth - x : x) + 10 + "px"};
      return {lines, style, fixed, key: row.key, name: row.name};
    },
    choose(event) {
      const {row} = this.at(event);
      this.tip = row ? this.tipAt(event, true) : null;
      if (row) this.$emit("pick", row.name);
    },
    step(by) {
      const at = this.rows.findIndex((row) => row.name === this.picked);
      const next = this.rows[(at + by + this.rows.length) % this.rows.length];
      if (next) this.$emit("pick", next.name);
    },
    replay() {
      clearInterval(this.timer);
      this.playing = !this.playing;
      this.upto = this.playing ? 0 : null;
      if (this.playing) this.timer = setInterval(() => {
        this.upto += Math.max(1, Math.round(this.slots / 120));
        if (this.upto >= this.slots) { clearInterval(this.timer); this.upto = null; this.playing = false; }
        this.draw();
      }, 100);
      this.draw();
    },
    save() {
      const link = document.createElement("a");
      link.download = `${this.name}-heat.png`;
      link.href = this.$refs.canvas.toDataURL("image/png");
      link.click();
    },
  },
};

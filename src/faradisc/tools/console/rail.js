// The tables in the rail: filter, those opened last, groups by prefix. Names are text, never markup.
export default {
  template: `
    <nav class="rail" aria-label="Tables">
      <div class="side-title">Tables <span v-if="total" class="soft">{{ total }}</span></div>
      <input v-if="total > 8" class="rail-filter" v-model="text" placeholder="Filter" aria-label="Filter the rail">
      <template v-if="text">
        <a v-for="name in found" :key="name" v-bind="link(name)">{{ name }}</a>
        <div v-if="!found.length" class="soft rail-note">No table has this in its name</div>
      </template>
      <template v-else>
        <template v-if="total > 12 && recent.length">
          <div class="side-title">Opened last</div>
          <a v-for="name in recent" :key="'r' + name" v-bind="link(name)">{{ name }}</a>
          <div class="side-title">All</div>
        </template>
        <template v-for="group in groups" :key="'g' + group[0]">
          <details v-if="group[0]" :open="group[1].includes(current)">
            <summary>{{ group[0] }} <span class="soft">{{ group[1].length }}</span></summary>
            <a v-for="name in group[1].slice(0, most)" :key="name" v-bind="link(name)">{{ name }}</a>
            <div v-if="group[1].length > most" class="soft rail-note">and {{ group[1].length - most }} more: filter</div>
          </details>
          <a v-else v-for="name in group[1].slice(0, most)" :key="name" v-bind="link(name)">{{ name }}</a>
        </template>
      </template>
    </nav>`,
  props: {groups: {default: () => []}, recent: {default: () => []}, current: String, tab: String},
  data: () => ({text: "", most: 200}),
  computed: {
    names() { return this.groups.flatMap((group) => group[1]); },
    total() { return this.names.length; },
    found() {
      const text = this.text.toLowerCase();
      return this.names.filter((name) => name.toLowerCase().includes(text)).slice(0, this.most);
    },
  },
  methods: {
    link(name) {
      const on = name === this.current;
      return {href: "/tables/" + encodeURIComponent(name) + (this.tab || ""), class: on ? "side-link on" : "side-link",
              title: name, "aria-current": on ? "page" : null};
    },
  },
};

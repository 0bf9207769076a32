// Completes words in the PartiQL editor: keywords, tables, indexes and attributes that the console knows.
// The words are in window.faradiscWords; `editor` is the component of NiceGUI.
async (editor) => {
  const CM = await import("nicegui-codemirror");
  await editor.editorPromise;
  const complete = (context) => {
    const word = context.matchBefore(/"?[\w.#-]*/);
    if (!word || (word.from === word.to && !context.explicit)) return null;
    const bare = word.text.replace(/^"/, "");
    const closed = context.state.sliceDoc(word.to, word.to + 1) === '"' ? 1 : 0;
    const options = (window.faradiscWords || []).filter((each) => !word.text.startsWith('"') || each.type !== "keyword").map((each) => ({
      label: each.label, detail: each.detail, type: each.type, boost: each.type === "keyword" ? -1 : 1,
      apply: (view, option, from, to) => {
        const text = each.quoted ? '"' + each.label.replaceAll('"', '""') + '"' : each.label;
        const end = to + (each.quoted ? closed : 0);
        view.dispatch({changes: {from, to: end, insert: text}, selection: {anchor: from + text.length}});
      },
    }));
    return {from: word.from, options, filter: false, validFor: undefined, ...matching(options, bare, word.from)};
  };
  const matching = (options, bare, from) => {
    const wanted = bare.toLowerCase();
    return {from, options: options.filter((each) => each.label.toLowerCase().startsWith(wanted) && each.label !== bare).slice(0, 40)};
  };
  editor.editor.dispatch({effects: CM.StateEffect.appendConfig.of(
    CM.EditorState.languageData.of(() => [{autocomplete: complete}]))});
}

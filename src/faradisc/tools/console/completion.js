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
  // The place of an error is underlined until the text changes.
  const wrong = CM.StateEffect.define();
  const marks = CM.StateField.define({
    create: () => CM.Decoration.none,
    update: (now, change) => change.effects.reduce((found, each) => each.is(wrong)
      ? CM.Decoration.set([CM.Decoration.mark({class: "cm-wrong"}).range(each.value.from, each.value.to)]) : found,
      change.docChanged ? CM.Decoration.none : now),
    provide: (field) => CM.EditorView.decorations.from(field),
  });
  editor.editor.dispatch({effects: CM.StateEffect.appendConfig.of(
    [marks, CM.EditorState.languageData.of(() => [{autocomplete: complete}])])});
  window.faradiscWrong = (from, to) => {
    const view = editor.editor, length = view.state.doc.length, end = Math.min(Math.max(to, from + 1), length);
    const begin = Math.min(from, Math.max(end - 1, 0));
    view.focus();
    // Not selected: a selection would hide the colour of the line.
    view.dispatch({selection: {anchor: begin}, scrollIntoView: true,
                   effects: end > begin ? [wrong.of({from: begin, to: end})] : []});
  };
}

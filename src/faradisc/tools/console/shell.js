// Links change the page inside the shell: clicks, Back and Forward go to the server as the event "go".
(() => {
  const here = () => location.pathname + location.search;
  addEventListener("click", (event) => {
    const link = event.target.closest?.("a[href^='/']");
    if (!link || link.target === "_blank" || link.hasAttribute("download") || event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    emitEvent("go", {path: link.getAttribute("href"), how: "push"});
  }, true);
  addEventListener("popstate", () => emitEvent("go", {path: here(), how: "back"}));
  addEventListener("beforeunload", (event) => { if (window.faradiscStaged) event.preventDefault(); });
  addEventListener("keydown", (event) => {
    const typing = event.target.closest?.("input, textarea, [contenteditable=true]");
    if ((event.ctrlKey || event.metaKey) && event.key === "k") {
      event.preventDefault();
      document.dispatchEvent(new CustomEvent("palette"));
    } else if (event.key === "?" && !typing) {
      emitEvent("keys");
    } else if (event.key === "/" && !typing) {
      const field = document.querySelector("[data-quick] input, input[data-quick]");
      if (field) { event.preventDefault(); field.focus(); }
    }
  });
  // Lets the keyboard scroll tables that are wider than the page.
  new MutationObserver(() => {
    for (const box of document.querySelectorAll(".q-table__middle:not([tabindex])")) box.tabIndex = 0;
  }).observe(document, {childList: true, subtree: true});
})();

// Copy buttons at code, and one language at a time where Python stands beside R. Without scripts all code is shown.
(function () {
  "use strict";
  const LANGUAGES = { python: "Python", r: "R" };
  const STORED = "fairstats-language";

  function languageOf(block) {
    for (const name of Object.keys(LANGUAGES)) {
      if (block.classList.contains("highlight-" + name)) return name;
    }
    return null;
  }

  function addCopyButton(block) {
    const code = block.querySelector("pre");
    if (!code || !navigator.clipboard) return;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.textContent = "Copy";
    button.setAttribute("aria-label", "Copy this code");
    button.addEventListener("click", function () {
      navigator.clipboard.writeText(code.textContent).then(
        function () { button.textContent = "Copied"; },
        function () { button.textContent = "Not copied"; }
      ).then(function () {
        setTimeout(function () { button.textContent = "Copy"; }, 1500);
      });
    });
    block.classList.add("has-copy");
    block.appendChild(button);
  }

  // Python, its output if any, and R directly after it are two tellings of one thing.
  function pairsOfLanguages() {
    const pairs = [];
    document.querySelectorAll(".highlight-python").forEach(function (first) {
      let next = first.nextElementSibling;
      const ofPython = [first];
      if (next && next.classList.contains("highlight-text")) {
        ofPython.push(next);
        next = next.nextElementSibling;
      }
      if (!next || languageOf(next) !== "r") return;
      const ofR = [next];
      const after = next.nextElementSibling;
      if (after && (after.classList.contains("highlight-rout") || after.classList.contains("highlight-text"))) {
        ofR.push(after);
      }
      pairs.push({ python: ofPython, r: ofR });
    });
    return pairs;
  }

  function addSwitch(pairs) {
    const groups = [];

    function show(language) {
      pairs.forEach(function (pair) {
        Object.keys(LANGUAGES).forEach(function (name) {
          pair[name].forEach(function (block) { block.hidden = name !== language; });
        });
      });
      groups.forEach(function (group) {
        Array.from(group.children).forEach(function (button) {
          button.setAttribute("aria-pressed", String(button.dataset.language === language));
        });
      });
      try { localStorage.setItem(STORED, language); } catch (problem) { /* a private window keeps nothing */ }
    }

    pairs.forEach(function (pair) {
      const group = document.createElement("div");
      group.className = "languages";
      group.setAttribute("role", "group");
      group.setAttribute("aria-label", "Language of the code");
      Object.keys(LANGUAGES).forEach(function (name) {
        const button = document.createElement("button");
        button.type = "button";
        button.dataset.language = name;
        button.textContent = LANGUAGES[name];
        button.addEventListener("click", function () { show(name); });
        group.appendChild(button);
      });
      pair.python[0].before(group);
      groups.push(group);
    });
    let wanted = null;
    try { wanted = localStorage.getItem(STORED); } catch (problem) { wanted = null; }
    show(wanted in LANGUAGES ? wanted : "python");
  }

  document.addEventListener("DOMContentLoaded", function () {
    document.querySelectorAll("div[class*='highlight-']").forEach(addCopyButton);
    const pairs = pairsOfLanguages();
    if (pairs.length) addSwitch(pairs);
  });
})();

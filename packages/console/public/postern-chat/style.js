/** Defines the styles of `<postern-chat>`, which apply only in its shadow tree. */
export const style = `
:host { display: flex; flex-direction: column; min-height: 280px; font: 14px/1.5 system-ui, sans-serif; color-scheme: light dark;
  --chat-accent: light-dark(#2f5bd7, #8aa6f6); --chat-line: light-dark(#d8d7d3, #35393f); --chat-soft: light-dark(#f1f1ef, #24272b);
  --chat-quiet: light-dark(#5d5f64, #a3a6ac); --chat-bad: light-dark(#b4232a, #ff7a80);
  color: light-dark(#1d1e20, #e8e8e6); background: light-dark(#fff, #191b1e); border: 1px solid var(--chat-line); border-radius: 8px; overflow: hidden; }
:host([hidden]) { display: none; }
* { box-sizing: border-box; }
button[hidden] { display: none; }
.log { flex: 1; overflow-y: auto; padding: 16px; display: flex; flex-direction: column; gap: 10px; min-height: 0; }
.message { max-width: 85%; padding: 8px 12px; border-radius: 12px; background: var(--chat-soft); white-space: pre-wrap; overflow-wrap: anywhere; align-self: start; }
.message.markdown, .plain { white-space: normal; }
.plain { white-space: pre-wrap; }
.markdown > *, .markdown li > *, .markdown blockquote > * { margin: 0 0 .6em; }
.markdown > :last-child, .markdown li > :last-child, .markdown blockquote > :last-child { margin-bottom: 0; }
.markdown :is(h3, h4, h5, h6) { font-size: 1.1em; line-height: 1.3; }
.markdown h3 { font-size: 1.25em; }
.markdown :is(ul, ol) { padding-inline-start: 1.6em; }
.markdown blockquote { padding-inline-start: 10px; border-inline-start: 3px solid var(--chat-line); color: var(--chat-quiet); }
.markdown code { font: .92em/1.5 ui-monospace, monospace; }
.markdown :not(pre) > code { background: var(--chat-line); border-radius: 4px; padding: 1px 4px; }
.markdown pre { overflow-x: auto; padding: 8px 10px; border: 1px solid var(--chat-line); border-radius: 6px; }
.markdown .table { overflow-x: auto; }
.markdown table { border-collapse: collapse; }
.markdown :is(th, td) { border: 1px solid var(--chat-line); padding: 3px 8px; text-align: start; overflow-wrap: normal; }
.markdown .center { text-align: center; }
.markdown .right { text-align: right; }
.markdown hr { border: 0; border-top: 1px solid var(--chat-line); }
.own { align-self: end; background: color-mix(in oklab, var(--chat-accent) 16%, transparent); }
.note { color: var(--chat-quiet); font-size: 12px; align-self: start; overflow-wrap: anywhere; max-width: 100%; }
.bad { color: var(--chat-bad); }
.ask { border: 1px solid var(--chat-line); border-radius: 10px; padding: 12px; display: grid; gap: 8px; }
.ask textarea { font: 12px/1.5 ui-monospace, monospace; width: 100%; flex: none; }
.ask pre { margin: 0; font-size: 12px; white-space: pre-wrap; overflow-wrap: anywhere; color: var(--chat-quiet); }
.row { display: flex; gap: 8px; flex-wrap: wrap; align-items: center; }
form { display: flex; gap: 8px; padding: 10px; border-top: 1px solid var(--chat-line); align-items: end; flex-wrap: wrap; }
textarea { flex: 1 1 140px; font: inherit; color: inherit; background: transparent; border: 1px solid var(--chat-quiet); border-radius: 6px; padding: 7px 9px; resize: none; min-height: 38px; max-height: 160px; field-sizing: content; }
button, .file { font: inherit; min-height: 38px; padding: 0 14px; border-radius: 6px; border: 1px solid var(--chat-line); background: transparent; color: inherit; cursor: pointer; display: inline-flex; align-items: center; }
button.main { background: var(--chat-accent); color: light-dark(#fff, #10131a); border-color: transparent; }
button:disabled { opacity: .55; cursor: default; }
a { color: var(--chat-accent); }
:focus-visible, .file:focus-within { outline: 2px solid var(--chat-accent); outline-offset: 1px; }
.file input { position: absolute; width: 1px; height: 1px; opacity: 0; }
.chips { flex-basis: 100%; font-size: 12px; color: var(--chat-quiet); }
.chips:empty { display: none; }
`

// Renders simple Markdown in previews of answers.
import { html } from '../../lib/html.js'

const most = 20_000
const inline =
  /(\*\*|__)(?=\S)([^*_]{1,500})\1|(\*|_)(?=\S)([^*_]{1,500})\3|`([^`]{1,500})`|\[([^\]]{1,300})\]\((https?:\/\/[^\s)]{1,1000})\)/g

/** Shows paragraphs, lists, emphasis, code and links of Markdown, which is enough for a preview. Other syntax appears as written. @param {{ text: string }} props */
export function Markdown({ text }) {
  const blocks = text.slice(0, most).split(/\n{2,}/)
  return html`${blocks.map((block, at) => html`<div key=${at} class="block">${writeBlock(block)}</div>`)}`
}

/** @param {string} block */
function writeBlock(block) {
  return block.split('\n').map((line, at) => {
    const item = /^\s{0,3}[-*] (.*)$/.exec(line)
    const heading = /^#{1,6} (.*)$/.exec(line)
    const words = item ? ['• ', ...writeInline(item[1] ?? '')] : writeInline(heading?.[1] ?? line)
    return html`${at > 0 && '\n'}${heading ? html`<strong>${words}</strong>` : words}`
  })
}

/** @param {string} line */
function writeInline(line) {
  const found = []
  let at = 0
  for (const match of line.matchAll(inline)) {
    found.push(line.slice(at, match.index), writeMatch(match))
    at = match.index + match[0].length
  }
  return [...found, line.slice(at)]
}

/** @param {RegExpMatchArray} match */
function writeMatch([, , strong, , em, code, words, url]) {
  if (strong !== undefined) return html`<strong>${strong}</strong>`
  if (em !== undefined) return html`<em>${em}</em>`
  if (code !== undefined) return html`<code>${code}</code>`
  return html`<a class="link" href=${url} target="_blank" rel="noopener noreferrer nofollow">${words}</a>`
}

/** Returns the text of an answer. @param {readonly any[]} parts */
export function wordsOf(parts) {
  return parts
    .map(part => {
      if (part.kind === 'text') return part.content
      if (part.kind === 'link') return part.url
      if (part.kind === 'policy') return part.policy?.message ?? ''
      if (part.kind === 'data') return JSON.stringify(part.data ?? part.content, null, 2)
      return `[${part.kind}${part.name ? ` ${part.name}` : ''}]`
    })
    .filter(Boolean)
    .join('\n\n')
}

import { createRequire } from 'node:module'

// Loaded with the first text: a start that waits for it is a tenth longer.
const require = createRequire(import.meta.url)

/** Longer text is shown as it is: reading it would hold up everybody else. */
export const maxMarkdown = 100_000
/** Blocks in blocks. */
export const maxNesting = 20

/** CommonMark with the tables and strikethrough of GFM. No HTML passes through; line ends are kept. */
export function createMarkdownParser() {
  const MarkdownIt = require('markdown-it') as typeof import('markdown-it').default
  const parser = new MarkdownIt({ html: false, linkify: true, breaks: true })
  parser.set({ maxNesting: maxNesting + 1 })
  parser.linkify.set({ fuzzyLink: false, fuzzyEmail: false, fuzzyIP: false })
  parser.validateLink = address => /^(?:https?:\/\/|mailto:)/i.test(address)
  return parser
}

import { createRequire } from 'node:module'
import { parseUrl } from '@postern/core/web-url'

// Loaded with the first text: a start that waits for it is a tenth longer.
const require = createRequire(import.meta.url)

/** Longer text is shown as it is: reading it would hold up everybody else. */
export const maxMarkdown = 100_000
/** Blocks in blocks. */
export const maxNesting = 20

/** CommonMark with the tables and strikethrough of GFM. No HTML passes through; line ends are kept. */
export function createMarkdownParser(protocols: readonly string[] = ['https:', 'http:', 'mailto:']) {
  const MarkdownIt = require('markdown-it') as typeof import('markdown-it').default
  const parser = new MarkdownIt({ html: false, linkify: true, breaks: true })
  parser.set({ maxNesting: maxNesting + 1 })
  parser.linkify.set({ fuzzyLink: false, fuzzyEmail: false, fuzzyIP: false })
  // No link of ours begins so; and a text of many of them takes a second to look through.
  parser.linkify.add('//', null).add('ftp:', null)
  // An address shows as it is written: decoded it could look like another one.
  parser.normalizeLinkText = address => address
  parser.normalizeLink = address => {
    const url = parseUrl(address)
    return url && protocols.includes(url.protocol) ? url.href : ''
  }
  parser.validateLink = address => address !== ''
  return parser
}

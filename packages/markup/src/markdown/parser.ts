// Creates the Markdown parser: CommonMark with tables and strikethrough, without HTML.
import { createRequire } from 'node:module'
import { parseUrl } from '@postern/message/web-url'

// The parser is loaded with the first text, because a start that waits for it takes a tenth longer.
const require = createRequire(import.meta.url)

/** The longest text that is parsed, in characters. Longer text is shown unchanged, because parsing it would delay all other work. */
export const maxMarkdownChars = 100_000
/** The deepest nesting of blocks. */
export const maxNesting = 20

/** Creates a parser of CommonMark with the tables and strikethrough of GFM. HTML is text, and line ends stay. */
export function createMarkdownParser(protocols: readonly string[] = ['https:', 'http:', 'mailto:']) {
  const MarkdownIt = require('markdown-it') as typeof import('markdown-it').default
  const parser = new MarkdownIt({ html: false, linkify: true, breaks: true })
  parser.set({ maxNesting: maxNesting + 1 })
  parser.linkify.set({ fuzzyLink: false, fuzzyEmail: false, fuzzyIP: false })
  // No link begins with these schemas, and searching a text with many of them takes a second.
  parser.linkify.add('//', null).add('ftp:', null)
  // An address is shown in its written form, because a decoded address could look like another one.
  parser.normalizeLinkText = address => address
  parser.normalizeLink = address => {
    const url = parseUrl(address)
    return url && protocols.includes(url.protocol) ? url.href : ''
  }
  parser.validateLink = address => address !== ''
  return parser
}

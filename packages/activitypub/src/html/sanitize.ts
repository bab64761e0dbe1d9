import { decodeEntities, escapeHtml } from '@postern/core'
import { findWebAddress } from '../format/document.ts'
import type { HtmlToken } from './visible-length.ts'
import { readHtml } from './visible-length.ts'

/** The elements that servers of this network show. All others are dropped, and their text stays. */
const allowed: ReadonlySet<string> = new Set(
  'p br a span strong b em i u del s code pre blockquote ul ol li h1 h2 h3 h4 h5 h6'.split(' '),
)
const maxOpen = 64

/** HTML with known elements only, closed in order, without attributes but the http(s) address of a link. */
export function sanitizeHtml(html: string): string {
  const out: string[] = []
  const open: string[] = []
  for (const token of readHtml(html)) writeToken(token, out, open)
  closeDownTo(0, out, open)
  return out.join('')
}

function writeToken(token: HtmlToken, out: string[], open: string[]): void {
  if (token.kind === 'text') out.push(escapeHtml(decodeEntities(token.text)))
  else if (!allowed.has(token.name)) return
  else if (token.kind === 'close') closeElement(token.name, out, open)
  else if (token.isEmpty) out.push(`<${token.name}>`)
  else if (open.length < maxOpen) {
    open.push(token.name)
    out.push(startTag(token.name, token.attributes))
  }
}

function startTag(name: string, attributes: string): string {
  const href = name === 'a' ? findWebAddress(readAttributes(attributes).get('href')) : undefined
  return href ? `<a href="${escapeHtml(href)}" rel="nofollow noopener noreferrer">` : `<${name}>`
}

function closeElement(name: string, out: string[], open: string[]): void {
  const at = open.lastIndexOf(name)
  if (at >= 0) closeDownTo(at, out, open)
}

function closeDownTo(depth: number, out: string[], open: string[]): void {
  while (open.length > depth) out.push(`</${open.pop()}>`)
}

const attributePattern = /([^\s"'<>/=]+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'=<>`]+)))?/g
const maxAttributes = 32

/** Attributes of a start tag, names in lower case; of repeated ones the first counts, as in browsers. */
function readAttributes(text: string): ReadonlyMap<string, string> {
  const attributes = new Map<string, string>()
  if (!text) return attributes
  for (const [, name = '', double, single, bare] of text.slice(0, 8_192).matchAll(attributePattern)) {
    if (attributes.size === maxAttributes) break
    const key = name.toLowerCase()
    if (!attributes.has(key)) attributes.set(key, decodeEntities(double ?? single ?? bare ?? ''))
  }
  return attributes
}

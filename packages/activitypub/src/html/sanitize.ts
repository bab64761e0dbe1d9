import { escapeHtml } from '@postern/core'
import type { HtmlAttributes } from '@postern/markup/html'
import { tokenizeHtml } from '@postern/markup/html'
import { findWebAddress } from '../format/document.ts'

const listNames = (names: string): ReadonlySet<string> => new Set(names.split(' '))

/** The elements that servers of this network show. All others are dropped, and their text stays. */
const allowed = listNames('p br a span strong b em i u del s code pre blockquote ul ol li h1 h2 h3 h4 h5 h6')
/** Their content is no text for people: it is dropped up to their end tag. */
const skipped = listNames(
  'script style template noscript noembed noframes iframe object svg math head title textarea select audio video canvas',
)
/** Of each kind; each tag looks through those that are open. */
const maxOpen = 64

/** HTML with known elements only, closed in order, without attributes but the http(s) address of a link. */
export function sanitizeHtml(html: string): string {
  const out: string[] = []
  const open: string[] = []
  const skipping: string[] = []

  function closeDownTo(depth: number): void {
    while (open.length > depth) out.push(`</${open.pop()}>`)
  }

  tokenizeHtml(html, {
    text(text) {
      if (skipping.length === 0) out.push(escapeHtml(text))
    },
    open(name, attributes) {
      if (skipped.has(name) && skipping.length < maxOpen) skipping.push(name)
      if (skipping.length > 0 || !allowed.has(name)) return
      if (name === 'br') out.push('<br>')
      else if (open.length < maxOpen) {
        open.push(name)
        out.push(startTag(name, attributes))
      }
    },
    close(name) {
      const at = (skipping.length > 0 ? skipping : open).lastIndexOf(name)
      if (at < 0) return
      if (skipping.length > 0) skipping.length = at
      else closeDownTo(at)
    },
    isForeign: () => skipping.includes('svg') || skipping.includes('math'),
  })
  closeDownTo(0)
  return out.join('')
}

function startTag(name: string, attributes: HtmlAttributes): string {
  const href = name === 'a' ? findWebAddress(attributes.get('href')) : undefined
  return href ? `<a href="${escapeHtml(href)}" rel="nofollow noopener noreferrer">` : `<${name}>`
}

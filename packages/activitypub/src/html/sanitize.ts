// Sanitizes HTML to the elements that servers of the fediverse show.
import { sanitizeHtml } from '@postern/markup/html'
import { findWebUrl } from '../format/iri.ts'

/** The elements that servers keep. They drop all others, and show no tables: Mastodon joins the cells of a table in one row. */
const allowedElements: ReadonlySet<string> = new Set(
  'p br a span strong b em i u del s code pre blockquote ul ol li h1 h2 h3 h4 h5 h6'.split(' '),
)

/** Returns HTML as servers show it, with known elements, http(s) links, and tables as text with even columns. */
export function sanitizePost(html: string): string {
  return sanitizeHtml(html, { allowedElements: allowedElements, findAddress: findWebUrl })
}

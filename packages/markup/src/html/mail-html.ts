// Writes an agent's HTML in the form that mail programs can show.
import { parseUrl } from '@postern/message/web-url'
import { sanitizeHtml } from './sanitize.ts'

const allowedElements: ReadonlySet<string> = new Set(
  'p br hr a span strong b em i u s del ins sub sup small mark code pre blockquote ul ol li dl dt dd h1 h2 h3 h4 h5 h6 table caption thead tbody tfoot tr th td ruby rt'.split(
    ' ',
  ),
)
/** Blocks whose direction follows their own text, because one mail may contain several scripts. */
const autoDirectionElements: ReadonlySet<string> = new Set(
  'p h1 h2 h3 h4 h5 h6 blockquote ul ol li dt dd th td'.split(' '),
)
/** The attributes of table elements. Mail programs show tables without lines, and drop style sheets. */
const tableAttributes: Readonly<Record<string, string>> = {
  table: ' style="border-collapse:collapse"',
  th: ' style="border:1px solid #ccc;padding:4px 8px"',
  td: ' style="border:1px solid #ccc;padding:4px 8px"',
}

/** Returns HTML with its structure, and without anything that runs, loads or hides. */
export function htmlToMailHtml(html: string): string {
  return sanitizeHtml(html, {
    allowedElements,
    findAddress: sanitizeHref,
    formatAttributes: name => (autoDirectionElements.has(name) ? ' dir="auto"' : '') + (tableAttributes[name] ?? ''),
  })
}

function sanitizeHref(href: string | undefined): string | undefined {
  const url = href ? parseUrl(href) : undefined
  return url && /^(?:https?|mailto):$/.test(url.protocol) ? url.href : undefined
}

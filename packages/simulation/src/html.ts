const entities: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: ' ' }

/** What a person reads of a small piece of HTML: tags gone, paragraphs and breaks as lines. */
export function readHtmlText(html: string): string {
  return html
    .replace(/<br\s*\/?>/gi, '\n')
    .replace(/<\/(p|div|li|h[1-6]|pre|blockquote)>\s*/gi, '\n\n')
    .replace(/<[^>]*>/g, '')
    .replace(/&(?:#(\d+)|#x([0-9a-f]+)|([a-z]+));/gi, (whole, decimal, hex, name) =>
      readEntity(whole, decimal, hex, name),
    )
    .replace(/\n{3,}/g, '\n\n')
    .trim()
}

function readEntity(whole: string, decimal?: string, hex?: string, name?: string): string {
  if (decimal) return String.fromCodePoint(Number(decimal))
  if (hex) return String.fromCodePoint(Number.parseInt(hex, 16))
  return entities[name ?? ''] ?? whole
}

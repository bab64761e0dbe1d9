import type { Mentioned } from './render.ts'

/** What is not read as text: a link leads somewhere already, and code is shown as it is. */
const closed: ReadonlySet<string> = new Set(['a', 'code', 'pre'])
const handlePattern = /(?<![\w@/.+-])@[\w.-]+@[a-z0-9.-]*[a-z0-9]/gi

/**
 * The text with the names in it linked that belong to somebody who is mentioned, and who of them is named nowhere. Names of others stay
 * text: who is only talked about is not called. Pure.
 */
export function linkMentions(
  html: string,
  mentioned: readonly Mentioned[],
  write: (mentioned: Mentioned) => string,
): { readonly html: string; readonly missing: readonly Mentioned[] } {
  // Long texts are read many times: who is not in them at all is not looked for piece by piece.
  const lower = mentioned.length > 0 ? html.toLowerCase() : ''
  if (!mentioned.some(({ name }) => lower.includes(name.toLowerCase()))) return { html, missing: mentioned }
  const byName = new Map(mentioned.map(each => [each.name.toLowerCase(), each]))
  const named = new Set<Mentioned>()
  const link = (name: string): string => {
    const found = byName.get(name.toLowerCase())
    if (found) named.add(found)
    return found ? write(found) : name
  }
  const linked = mapText(html, text => text.replace(handlePattern, link))
  return { html: linked, missing: mentioned.filter(each => !named.has(each)) }
}

/** HTML of ours: tags are whole, and close in order. */
function mapText(html: string, map: (text: string) => string): string {
  let depth = 0
  return html
    .split(/(<[^>]*>)/)
    .map((piece, at) => {
      if (at % 2 === 0) return depth === 0 ? map(piece) : piece
      const [, slash, name = ''] = /^<(\/?)([a-z0-9]+)/i.exec(piece) ?? []
      if (closed.has(name.toLowerCase())) depth += slash ? -1 : 1
      return piece
    })
    .join('')
}

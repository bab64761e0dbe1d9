import { readPassages } from '../prose/passages.ts'

/** The anchors of a page: its headings, as GitHub and the site make them, and ids that are written as HTML. */
export function listAnchors(markdown: string): ReadonlySet<string> {
  const anchors = new Set<string>()
  for (const { kind, text, codes } of readPassages(markdown)) {
    if (kind !== 'heading') continue
    const anchor = slugify(text.replace(/[\uE000-\uF8FF]/g, character => codes[character.charCodeAt(0) - 0xe000] ?? ''))
    let unique = anchor
    for (let count = 1; anchors.has(unique); count += 1) unique = `${anchor}-${count}`
    anchors.add(unique)
  }
  for (const [, id = ''] of markdown.matchAll(/<[a-z][^>]*\b(?:id|name)="([^"]+)"/g)) anchors.add(id)
  return anchors
}

/** As GitHub makes the anchor of a heading; the site is set to do the same. */
export function slugify(heading: string): string {
  return heading
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}\p{Pc}\- ]/gu, '')
    .replaceAll(' ', '-')
}

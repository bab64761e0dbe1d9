/** A tag that begins a script, with its attributes, or one that ends it. Bounded, so that a page full of beginnings costs linear time. */
const scriptMark = /<script\b([^<>]{0,1000})>|<\/script/gi
const isData = /\btype\s{0,9}=\s{0,9}["']?application\/ld\+json\b/i
const maxBlocks = 16

/** The texts of a page's JSON-LD blocks, in order: 16 at most. */
export function listDataBlocks(html: string): readonly string[] {
  const texts: string[] = []
  let script: { readonly start: number; readonly isData: boolean } | undefined
  for (const { 0: mark, 1: attributes, index } of html.matchAll(scriptMark)) {
    if (attributes === undefined) {
      if (script?.isData) texts.push(html.slice(script.start, index))
      if (texts.length === maxBlocks) break
      script = undefined
    } else script ??= { start: index + mark.length, isData: isData.test(attributes) }
  }
  return texts
}

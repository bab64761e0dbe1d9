// Reads the JSON-LD blocks of a web page.
import { parseJsonText } from '@postern/message'
import type { FetchedObject } from '../view/peer-fetch.ts'
import { listOrEmpty, objectOrUndefined } from '../view/peer-fetch.ts'

/** Returns the JSON objects of a page’s JSON-LD blocks. Leaves out blocks that are not JSON. */
export function readDataBlocks(html: string): readonly FetchedObject[] {
  return listDataBlocks(html).flatMap(text => {
    try {
      const data: unknown = parseJsonText(text)
      return listOrEmpty(Array.isArray(data) ? data : [data])
        .map(objectOrUndefined)
        .filter(block => block !== undefined)
    } catch {
      return []
    }
  })
}

/** Matches the start tag of a script with its attributes, or an end tag. The limit keeps the time linear for a page full of start tags. */
const scriptTagPattern = /<script\b([^<>]{0,1000})>|<\/script/gi
const dataTypePattern = /\btype\s{0,9}=\s{0,9}["']?application\/ld\+json\b/i
const maxBlocks = 16

/** Returns the texts of a page’s JSON-LD blocks in order, at most 16. */
export function listDataBlocks(html: string): readonly string[] {
  const texts: string[] = []
  let script: { readonly start: number; readonly isData: boolean } | undefined
  for (const { 0: mark, 1: attributes, index } of html.matchAll(scriptTagPattern)) {
    if (attributes === undefined) {
      if (script?.isData) texts.push(html.slice(script.start, index))
      if (texts.length === maxBlocks) break
      script = undefined
    } else script ??= { start: index + mark.length, isData: dataTypePattern.test(attributes) }
  }
  return texts
}

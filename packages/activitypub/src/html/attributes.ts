import { decodeEntities } from '@postern/core'

const attributePattern = /([^\s"'<>/=]+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'=<>`]+)))?/g
const maxAttributes = 32

/** Attributes of a start tag, names in lower case; of repeated ones the first counts, as in browsers. */
export function readAttributes(text: string): ReadonlyMap<string, string> {
  const attributes = new Map<string, string>()
  if (!text) return attributes
  for (const [, name = '', double, single, bare] of text.slice(0, 8_192).matchAll(attributePattern)) {
    if (attributes.size === maxAttributes) break
    const key = name.toLowerCase()
    if (!attributes.has(key)) attributes.set(key, decodeEntities(double ?? single ?? bare ?? ''))
  }
  return attributes
}

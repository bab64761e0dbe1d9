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

const hidingStyle =
  /(display\s*:\s*none|visibility\s*:\s*(hidden|collapse)|font-size\s*:\s*0|opacity\s*:\s*0(\.0*)?\s*(;|$)|clip(-path)?\s*:|text-indent\s*:\s*-\d{3}|(left|top)\s*:\s*-\d{3}|(^|;)\s*(width|height)\s*:\s*0|color\s*:\s*transparent)/i
const hidingClasses: ReadonlySet<string> = new Set(['invisible', 'hidden', 'sr-only', 'visually-hidden', 'd-none'])

/** Whether a reader of the page would not see this element. */
export function isHidden(attributes: ReadonlyMap<string, string>): boolean {
  if (attributes.size === 0) return false
  return (
    attributes.has('hidden') ||
    hidingStyle.test(attributes.get('style') ?? '') ||
    classesOf(attributes).some(name => hidingClasses.has(name))
  )
}

export function classesOf(attributes: ReadonlyMap<string, string>): readonly string[] {
  return (attributes.get('class') ?? '').split(/\s+/)
}

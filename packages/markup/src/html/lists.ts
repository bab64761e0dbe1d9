import type { HtmlAttributes } from '../elements/tokenize-html.ts'

/** A list that text stands in. */
export interface OpenList {
  /** The next number; undefined where items are not numbered. */
  number: number | undefined
  /** From 1, for a list in no other. */
  readonly depth: number
}

/** Deeper ones are not indented further. */
const maxDepth = 16

/** The list inside of an element. */
export function openList(name: string, attributes: HtmlAttributes, outer: OpenList | undefined): OpenList | undefined {
  if (name !== 'ul' && name !== 'ol') return outer
  const depth = Math.min((outer?.depth ?? 0) + 1, maxDepth)
  return { number: name === 'ol' ? readStart(attributes.get('start')) : undefined, depth }
}

/** What stands before the next item. */
export function nextMark(list: OpenList | undefined): string {
  if (list?.number === undefined) return '- '
  list.number += 1
  return `${list.number - 1}. `
}

function readStart(text: string | undefined): number {
  return text && /^\d{1,6}$/.test(text) ? Number(text) : 1
}

// Reads mathematics in HTML (MathML) as text.
import type { HtmlAttributes } from '../elements/elements.ts'

/** A reader of one `math` element. `toString` returns its TeX annotation, or else its text. */
export interface MathReader {
  open(name: string, attributes: HtmlAttributes): void
  close(name: string): void
  text(text: string): void
  toString(): string
}

/** The signs between the first and the second child of an element (MathML Core §3.3, §3.4). */
const signs: ReadonlyMap<string, string> = new Map([
  ['msup', '^'],
  ['msub', '_'],
  ['mfrac', '/'],
])
const isTex = (encoding = '') => /^(?:application\/x-tex|text\/x-?tex|latex|tex)$/i.test(encoding.trim())
/** The deepest nesting of signs. Deeper elements are read as plain text. */
const maxDepth = 64

interface OpenNode {
  readonly name: string
  readonly isGrouped: boolean
  children: number
}

/** Returns a reader for the content of a `math` element with these attributes. */
export function createMathReader(attributes: HtmlAttributes): MathReader {
  const openNodes: OpenNode[] = []
  const tex: string[] = []
  const visibleText: string[] = []
  let annotation: 'tex' | 'other' | undefined

  function close(name: string): void {
    if (name.startsWith('annotation')) annotation = undefined
    const nodeIndex = openNodes.findLastIndex(node => node.name === name)
    for (const { isGrouped } of nodeIndex < 0 ? [] : openNodes.splice(nodeIndex).reverse())
      if (isGrouped) visibleText.push(')')
  }

  /** Counts a child, and writes the sign before a second child. Returns true if the parent has a sign. */
  function enterChild(): boolean {
    const parent = openNodes.at(-1)
    if (!parent) return false
    const sign = signs.get(parent.name)
    parent.children += 1
    if (sign !== undefined && parent.children === 2) visibleText.push(sign)
    return sign !== undefined
  }

  return {
    open(name, elementAttributes) {
      if (name.startsWith('annotation')) annotation = isTex(elementAttributes.get('encoding')) ? 'tex' : 'other'
      const isGrouped = enterChild() && name === 'mrow'
      if (openNodes.length >= maxDepth) return
      if (isGrouped) visibleText.push('(')
      openNodes.push({ name, isGrouped, children: 0 })
    },
    close,
    text(text) {
      if (annotation === 'tex') tex.push(text)
      else if (annotation === undefined) visibleText.push(text.replace(/\s+/g, ' '))
    },
    toString() {
      const source = tex.join('').trim() || attributes.get('alttext')?.trim() || visibleText.join('').trim()
      // Wikipedia sets all of its formulas in the style `\\displaystyle`, so the style is left out.
      const [, inner] = /^\{\\displaystyle\s([\s\S]*)\}$/.exec(source) ?? []
      return (inner ?? source).trim()
    },
  }
}

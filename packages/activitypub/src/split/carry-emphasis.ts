import type { Fragment } from './cut.ts'

/** Code, which is passed over; where bold text may begin; where it may end. */
const boldMark = /`[^`\n]*`|(?<begin>(?<![^\s("'])\*\*(?=[^\s*]))|(?<end>(?<=[^\s*])\*\*)/g

/** Bold text that is cut ends in its piece and begins again in the next. A mark without its like stays what it is. */
export function carryEmphasis(fragments: readonly Fragment[]): readonly Fragment[] {
  if (isBoldAfter(fragments.map(({ text }) => text).join(''), false)) return fragments
  let isBold = false
  return fragments.map(({ text, length }) => {
    const begin = isBold && text ? '**' : ''
    isBold = isBoldAfter(text, isBold)
    const end = isBold && text ? '**' : ''
    const words = begin ? text.trim() : text.trimEnd()
    return { text: text && `${begin}${words}${end} `, length }
  })
}

function isBoldAfter(text: string, before: boolean): boolean {
  let isBold = before
  for (const { groups } of text.matchAll(boldMark)) {
    if (isBold ? groups?.end : groups?.begin) isBold = !isBold
  }
  return isBold
}

import { heading } from './block-marks.ts'
import type { Fragment, PieceLimits } from './cut.ts'
import { countMarkdown, gaps } from './length/markdown-length.ts'

/** A heading at the end of a piece moves to the text below it, if that piece has limit. */
export function carryHeadings(fragments: readonly Fragment[], limits: PieceLimits): readonly Fragment[] {
  const carried = fragments.map(fragment => ({ ...fragment }))
  for (const [at, fragment] of carried.entries()) {
    const next = carried[at + 1]
    const line = lastLineOf(fragment.text)
    if (!next || !heading.test(line)) continue
    const length = countMarkdown(line, Number.POSITIVE_INFINITY) + gaps.block
    if (next.length + length > limits(at + 1) || (at > 0 && fragment.length <= length)) continue
    Object.assign(fragment, { text: fragment.text.trimEnd().slice(0, -line.length), length: fragment.length - length })
    Object.assign(next, { text: `${line}\n\n${next.text}`, length: next.length + length })
  }
  return carried
}

function lastLineOf(text: string): string {
  const trimmed = text.trimEnd()
  return trimmed.slice(trimmed.lastIndexOf('\n') + 1)
}

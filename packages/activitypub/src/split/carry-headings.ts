import { heading } from '../markdown/block-marks.ts'
import type { Fragment, OperationDeps } from './cut.ts'
import { countMarkdown, gaps } from './length/markdown-length.ts'

/** A heading at the end of a piece goes to what it stands above, where there is room for it. */
export function carryHeadings(fragments: readonly Fragment[], deps: OperationDeps): readonly Fragment[] {
  const carried = fragments.map(fragment => ({ ...fragment }))
  for (const [at, fragment] of carried.entries()) {
    const next = carried[at + 1]
    const line = lastLineOf(fragment.text)
    if (!next || !heading.test(line)) continue
    const length = countMarkdown(line, Number.POSITIVE_INFINITY) + gaps.block
    if (next.length + length > deps(at + 1) || (at > 0 && fragment.length <= length)) continue
    Object.assign(fragment, { text: fragment.text.trimEnd().slice(0, -line.length), length: fragment.length - length })
    Object.assign(next, { text: `${line}\n\n${next.text}`, length: next.length + length })
  }
  return carried
}

function lastLineOf(text: string): string {
  const trimmed = text.trimEnd()
  return trimmed.slice(trimmed.lastIndexOf('\n') + 1)
}

import { fence } from './block-marks.ts'
import type { Fragment, PieceLimits } from './cut.ts'
import { createCut } from './cut.ts'
import { cutPlain } from './cut-text.ts'
import { countText } from './length/visible-length.ts'
import { readLines } from './source-blocks.ts'

/** Each piece of code is fenced like the whole. */
export function cutFence(source: string, limits: PieceLimits): readonly Fragment[] {
  const [opening = '', ...lines] = readLines(source)
  const mark = fence.exec(opening)?.[1] ?? ''
  const isClosed = lines.length > 0 && (lines.at(-1) ?? '').trim().startsWith(mark)
  const code = (isClosed ? lines.slice(0, -1) : lines).join('')
  return cutCode(code, limits).map(({ text, length }) => {
    if (!text) return { text, length }
    const fencing = lengthenMark(mark, text)
    const end = text.endsWith('\n') ? '' : '\n'
    return { text: `${opening.trim().replace(mark, fencing)}\n${text}${end}${fencing}`, length }
  })
}

const cutCode = createCut({ units: readLines, measure: countText, gap: 0, finer: cutPlain })

/** A line that was cut may begin with what would end the code. */
function lengthenMark(mark: string, code: string): string {
  const char = mark[0] ?? '`'
  const runs = code.match(char === '~' ? /^[ \t]*~+/gm : /^[ \t]*`+/gm) ?? []
  const longest = Math.max(0, ...runs.map(run => run.trim().length))
  return longest < mark.length ? mark : char.repeat(longest + 1)
}

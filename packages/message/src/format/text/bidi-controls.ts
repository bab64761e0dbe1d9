// Finds the bidirectional controls that belong to a text in a right-to-left script.

/** Letters of right-to-left scripts: the ranges whose unassigned characters default to R and AL (UAX #9 §3.2). */
const rightToLeftPattern = /[[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefe\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]&&\p{L}]/v

const markPattern = /[\u200e\u200f\u061c]/
/** The characters that begin an embedding or an isolate, with the character that ends it (UAX #9 §2.1, §2.4). */
const endByStart: ReadonlyMap<string, string> = new Map([
  ['\u202a', '\u202c'],
  ['\u202b', '\u202c'],
  ['\u2066', '\u2069'],
  ['\u2067', '\u2069'],
  ['\u2068', '\u2069'],
])
const closers: ReadonlySet<string> = new Set(endByStart.values())
/** The deepest level of nesting. Deeper levels have no effect (UAX #9 BD2, `max_depth`). */
const maxDepth = 125

/** Returns a function that returns true if the bidi control at a position in `text` belongs there. Positions must be in ascending order. */
export function createBidiReader(text: string): (index: number) => boolean {
  let lineEnd = -1
  let allowedPositions: ReadonlySet<number> = new Set()
  return index => {
    if (index >= lineEnd) {
      const start = text.lastIndexOf('\n', index) + 1
      const end = text.indexOf('\n', index)
      lineEnd = end < 0 ? text.length : end
      allowedPositions = listAllowedPositions(text.slice(start, lineEnd), start)
    }
    return allowedPositions.has(index)
  }
}

/**
 * Lists the positions of the controls that belong to a line. A line with a right-to-left letter may have single marks, and pairs
 * of embeddings and isolates. Overrides never belong, because they make text read differently than it is written.
 */
function listAllowedPositions(line: string, start: number): ReadonlySet<number> {
  const allowedPositions = new Set<number>()
  if (!rightToLeftPattern.test(line)) return allowedPositions
  const openControls: { readonly start: number; readonly end: string }[] = []
  for (let index = 0; index < line.length; index += 1) {
    const char = line.charAt(index)
    const end = endByStart.get(char)
    if (markPattern.test(char) && !markPattern.test(line.charAt(index - 1))) allowedPositions.add(start + index)
    else if (end !== undefined && openControls.length < maxDepth) openControls.push({ start: index, end })
    else if (closers.has(char) && openControls.at(-1)?.end === char) {
      allowedPositions.add(start + (openControls.pop()?.start ?? index))
      allowedPositions.add(start + index)
    }
  }
  return allowedPositions
}

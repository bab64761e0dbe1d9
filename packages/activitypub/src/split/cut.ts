/**
 * The number of characters that the piece with this number holds. Piece 0 is the one already begun; `Infinity` for the
 * last one.
 */
export type PieceLimits = (piece: number) => number

export interface Fragment {
  readonly text: string
  readonly length: number
}

/** Cuts a text into one fragment for each piece. The first is empty when nothing fits the rest of the first piece. */
export type Cut = (text: string, limits: PieceLimits) => readonly Fragment[]

/** How texts of one kind fall apart. */
interface Grain {
  /** Put together they are the text again. */
  units(text: string): Iterable<string>
  /** Length of a unit; counting may stop beyond `max`. */
  measure(unit: string, max: number): number
  /** The length of a separator between two units, which is part of neither. */
  readonly gap: number
  /** For a unit that fits no piece. Without it such a unit is a fragment of its own. */
  readonly finer?: Cut | undefined
}

interface Growing {
  text: string
  length: number
}

/** Units go into the current piece while they fit, else into the next one. A unit that fits neither is cut finer. */
export function createCut({ units, measure, gap, finer }: Grain): Cut {
  return function cut(text, limits) {
    const fragments: Growing[] = [{ text: '', length: 0 }]
    let from = 0
    for (const unit of units(text)) {
      const last = fragments.at(-1) as Growing
      const at = fragments.length - 1
      const taken = last.text ? last.length + gap : 0
      const left: PieceLimits = piece => limits(at + piece) - (piece === 0 ? taken : 0)
      if (left(0) === Number.POSITIVE_INFINITY) {
        grow(last, text.slice(from), 0)
        break
      }
      const [here, ...more] = placeUnit(unit, left, { measure, finer })
      if (here?.text) grow(last, here.text, taken + here.length)
      fragments.push(...more.map(fragment => ({ ...fragment })))
      from += unit.length
    }
    return fragments
  }
}

function placeUnit(text: string, limits: PieceLimits, { measure, finer }: Pick<Grain, 'measure' | 'finer'>) {
  const [here, next] = [limits(0), limits(1)]
  // The text for the last piece need not be counted to its end.
  const length = measure(text, next === Number.POSITIVE_INFINITY ? here : Math.max(here, next))
  const whole: Fragment = { text, length }
  if (length <= here) return [whole]
  return length <= next || !finer ? [{ text: '', length: 0 }, whole] : finer(text, limits)
}

function grow(fragment: Growing, text: string, length: number): void {
  fragment.text += text
  fragment.length = length
}

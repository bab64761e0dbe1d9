// Defines the bound of a figure, and checks whether the figure meets it.
/** A bound of a figure: the least or the most that it may be. */
export type Bound = { readonly atLeast: number } | { readonly atMost: number }

/** Returns true if a figure is within its bound. */
export function isMet(bound: Bound, figure: number): boolean {
  return 'atLeast' in bound ? figure >= bound.atLeast : figure <= bound.atMost
}

/** Formats a bound as the tables and `docs/explanation/performance.md` write it: `≥ 0.9`, `≥ 3,500`. */
export function formatBound(bound: Bound): string {
  const [sign, value] = 'atLeast' in bound ? ['≥', bound.atLeast] : ['≤', bound.atMost]
  return `${sign} ${value.toLocaleString('en-US')}`
}

/** Formats a bound with the verdict on a figure: `≥ 0.9 missed`. */
export function formatVerdict(bound: Bound, figure: number): string {
  return `${formatBound(bound)} ${isMet(bound, figure) ? 'met' : 'missed'}`
}

/** Something that was observed, with its time where it has one (ms since 1970 UTC). */
export interface Evidence {
  readonly at?: number | undefined
  readonly fact: string
}

/** What somebody may do about it. */
export interface Fix {
  /** One sentence or two. It names the setting, where one decides. */
  readonly text: string
  /** A command to copy. */
  readonly command?: string | undefined
}

/** Why somebody got no answer, or that they got one. */
export interface Reason {
  /** Stable, for programs: `webhook_down`. */
  readonly code: string
  /** What happened, why and since when, in one sentence of one line. It stands alone in lists. */
  readonly sentence: string
  /** Since when it is so, ms since 1970 UTC. */
  readonly since: number
  readonly evidence?: readonly Evidence[] | undefined
  /** Absent when there is nothing to fix. */
  readonly fix?: Fix | undefined
}

/** Pure. Undefined: this is not the reason. */
export type Rule<Facts> = (facts: Facts) => Reason | undefined

/** The reason of the first rule that has one. */
export function firstReason<Facts>(rules: readonly Rule<Facts>[], facts: Facts): Reason | undefined {
  for (const rule of rules) {
    const reason = rule(facts)
    if (reason) return reason
  }
  return undefined
}

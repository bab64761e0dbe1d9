export interface MentionFanoutLimits {
  /** Siblings that one answer may wake. */
  readonly maxMentions: number
  /** Asked at the same time. */
  readonly atOnce: number
  /** For all of them together, ms: who has not answered by then was not reachable. */
  readonly withinMs: number
}

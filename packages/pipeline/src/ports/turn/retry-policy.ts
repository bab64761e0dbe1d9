// Describes the times between the attempts at a turn or a delivery.

export interface RetryPolicy {
  /** The wait before the second attempt, in ms. It doubles with each further attempt. */
  readonly initialDelayMs: number
  readonly maxDelayMs: number
  /** The time after which the work fails for good, in ms since its first failure or postponement (`firstAttemptAt`). */
  readonly giveUpAfterMs: number
}

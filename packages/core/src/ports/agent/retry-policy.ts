export interface RetryPolicy {
  /** Wait before the second try, ms; doubles with each further one. */
  readonly baseMs: number
  readonly capMs: number
  /** Given up after this long, ms from when it was queued. */
  readonly giveUpAfterMs: number
}

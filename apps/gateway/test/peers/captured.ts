/** One request as it came over the wire. */
export interface CapturedRequest {
  /** ISO 8601 UTC. */
  readonly receivedAt: string
  readonly host: string
  readonly method: string
  readonly target: string
  /** Names as they were written. */
  readonly headers: readonly (readonly [string, string])[]
  readonly body: string
  readonly answer: { readonly status: number; readonly type: string; readonly body: string }
}

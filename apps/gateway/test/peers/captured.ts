/** Describes one request as it arrived. */
export interface CapturedRequest {
  /** The time in ISO 8601, UTC. */
  readonly receivedAt: string
  readonly host: string
  readonly method: string
  readonly target: string
  /** The header fields, with names in their original spelling. */
  readonly headers: readonly (readonly [string, string])[]
  readonly body: string
  readonly answer: { readonly status: number; readonly type: string; readonly body: string }
}

/** What came back: how the far side took it, and what it said. */
export interface FuzzAnswer {
  /** HTTP's status, gRPC's code, or none where the connection was closed. */
  readonly status: number | undefined
  /** Text of the answer, or its beginning. */
  readonly text: string
  /** What is wrong with it, if anything. */
  readonly fault?: string | undefined
}

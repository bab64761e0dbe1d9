/** Describes the server's answer: its status and its text. */
export interface FuzzAnswer {
  /** The status of HTTP or the code of gRPC; undefined if the connection was closed. */
  readonly status: number | undefined
  /** The text of the answer, or its beginning. */
  readonly text: string
  /** The fault of the answer; absent if it has none. */
  readonly fault?: string | undefined
}

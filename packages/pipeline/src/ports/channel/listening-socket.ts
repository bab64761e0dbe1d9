// Declares a socket that a channel opens itself.

/** A listening socket that a channel opens itself (SMTP, LMTP). */
export interface ListeningSocket {
  readonly description: string
  /** The label on the terminal, in one word: `mail`. */
  readonly label?: string | undefined
  readonly port: number
  /** Stops accepting connections, which frees the address at once. Open connections continue; it resolves once the last one has ended. */
  release?(): Promise<void>
  close(): Promise<void>
}

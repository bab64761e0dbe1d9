export type Binding = 'JSONRPC' | 'HTTP+JSON' | 'JSONRPC 0.3'

/** The members of a card that a call needs. Other text of the card is a stranger's and is not used. */
export interface AgentInterface {
  readonly url: string
  readonly binding: Binding
  /** Echoed in every request. It says nothing about us (A2A §8.3). */
  readonly tenant: string | undefined
  readonly canStream: boolean
  /** Whether callers must authenticate. */
  readonly needsCredential: boolean
}

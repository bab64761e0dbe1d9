export type Binding = 'JSONRPC' | 'HTTP+JSON' | 'JSONRPC 0.3'

/** What calling needs of a card. All other words of it are a stranger's and go nowhere. */
export interface AgentInterface {
  readonly url: string
  readonly binding: Binding
  /** Echoed in every request; says nothing of who we are (A2A §8.3). */
  readonly tenant: string | undefined
  readonly canStream: boolean
  /** Whether callers have to prove who they are. */
  readonly needsCredential: boolean
}

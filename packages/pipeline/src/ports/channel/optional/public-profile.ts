// Describes the public profile of an agent on a channel, and its links.

/** A link that a channel adds to the WebFinger answer of an agent. */
export interface WebLink {
  readonly rel: string
  readonly type?: string | undefined
  readonly href: string
}

/** The facts that an agent's page shows beside its profile. The HTML is safe to show as it is. */
export interface PublicProfile {
  /** The description as HTML, with its addresses as links. */
  readonly bio: string
  readonly followers: number
  /** The people who may follow: everybody, those whom the operator accepts, or nobody. */
  readonly follows: 'open' | 'manual' | 'closed'
  /** Recent public posts as HTML, newest first. */
  readonly posts: readonly string[]
  /** Address of an Atom feed of these posts. */
  readonly feed?: string | undefined
}

// Describes the public facts about an agent.

import type { ProfileField } from '@postern/message'

/** The members of an agent's card besides its profile. */
export interface AgentCardDetails {
  readonly skills?: readonly AgentSkill[] | undefined
  readonly provider?: { readonly organization: string; readonly url: string } | undefined
  readonly documentationUrl?: string | undefined
  readonly iconUrl?: string | undefined
  /** Extensions that the agent itself understands. */
  readonly extensions?: readonly AgentExtension[] | undefined
}

export interface AgentSkill {
  readonly id: string
  readonly name: string
  readonly description: string
  readonly tags: readonly string[]
  readonly examples?: readonly string[] | undefined
  readonly inputModes?: readonly string[] | undefined
  readonly outputModes?: readonly string[] | undefined
}

interface AgentExtension {
  readonly uri: string
  readonly description?: string | undefined
  /** True if callers have to activate the extension. */
  readonly required?: boolean | undefined
}

/** The public facts about an agent. */
export interface AgentProfile {
  /** The local part of its address, in lower case. */
  readonly name: string
  readonly displayName: string
  readonly description: string
  readonly version: string
  readonly iconUrl?: string | undefined
  /** The media type of the icon; absent if it is unknown. */
  readonly iconType?: string | undefined
  /** The fields that profiles show beside the description. */
  readonly fields?: readonly ProfileField[] | undefined
  readonly card?: AgentCardDetails | undefined
  /** The longest time for one answer, in ms. */
  readonly deadlineMs?: number | undefined
  /** True if the agent gets a turn (a message of the kind `cancel`) when a person closes its question or cancels the task of the question. */
  readonly hearsCancels?: true | undefined
  /** True if directories may list it; default: false. */
  readonly isDiscoverable?: boolean | undefined
  /** True if its public posts may be searched; default: false. */
  readonly isIndexable?: boolean | undefined
  /** The IRIs of the actors of its other accounts. */
  readonly alsoKnownAs?: readonly string[] | undefined
}

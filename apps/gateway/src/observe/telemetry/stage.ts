import type { ChannelName, Turn } from '@postern/core'

/** In the order in which a message passes them; `verify` is each check on the way in, `deliver` each attempt. */
type StageName = 'receive' | 'verify' | 'admit' | 'queue' | 'turn' | 'commit' | 'deliver'

/** A stage of a message that is over. Instants are ms since 1970-01-01 UTC, and may have fractions. */
export interface MessageStage {
  readonly name: StageName
  readonly via: ChannelName
  /** What all stages of one message have in common. */
  readonly correlationId: string
  readonly startAt: number
  readonly endAt: number
  /** Called for traces only: every message has ten stages, and most gateways just count them. */
  describe(): StageDetails
}

export interface StageDetails {
  /** Tells it apart from others of the same name and message. */
  readonly key: string
  /** For the operator alone. No words of anybody, no address of a person. */
  readonly attributes: Readonly<Record<string, string | number | boolean>>
  /** Why it failed, as a short code; absent when it did not. */
  readonly fault?: string | undefined
  /** The `traceparent` of the caller, who is proven. */
  readonly caller?: string | undefined
}

export type StageListener = (stage: MessageStage) => void

/** A turn that is taken up again is another stage. */
export function turnKey({ message, token }: Pick<Turn, 'message' | 'token'>): string {
  return `turn ${message} ${token}`
}

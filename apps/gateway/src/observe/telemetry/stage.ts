// Defines the stages of a message, and the spans that show them in a trace.
import type { ChannelName } from '@postern/message'
import type { Turn } from '@postern/pipeline'

/** The stages of a message in order. Each check is a `verify`, and each attempt is a `deliver`. */
type StageName = 'receive' | 'verify' | 'admit' | 'queue' | 'turn' | 'commit' | 'deliver'

/** An ended part of a message’s processing. Instants are ms since 1970-01-01 UTC, and may have fractions. */
export interface TracedSpan {
  readonly name: string
  readonly via: ChannelName
  /** The id that all stages of one message share. */
  readonly correlationId: string
  readonly startAt: number
  readonly endAt: number
  /** Describes the span. It is a function, because only traces need the details and most gateways only count their stages. */
  describe(): SpanDetails
}

/** An ended stage of a message. */
export interface MessageStage extends TracedSpan {
  readonly name: StageName
}

export interface SpanDetails {
  /** Distinguishes spans of the same name and message. */
  readonly key: string
  /** The key of the parent span; default: that of `receive`. */
  readonly parentKey?: string | undefined
  /** The title of the span. Absent for the name of the stage. */
  readonly title?: string | undefined
  /** The kind of span; absent for work within the process. */
  readonly kind?: 'server' | 'client' | undefined
  /** Attributes for the operator, without texts or addresses of people. */
  readonly attributes: Readonly<Record<string, string | number | boolean>>
  /** Attributes with names of the semantic conventions of OpenTelemetry. */
  readonly semanticAttributes?: Readonly<Record<string, string | number | readonly string[]>> | undefined
  /** The key of the span that caused this one; absent if there is none. */
  readonly causeKey?: string | undefined
  /** The code of the failure; absent on success. */
  readonly errorCode?: string | undefined
  /** The `traceparent` of a proven caller. */
  readonly callerTraceparent?: string | undefined
}

export type StageListener = (stage: MessageStage) => void

/** Returns the key of a turn. A retried turn has another key. */
export function formatTurnKey({ message, token }: Pick<Turn, 'message' | 'token'>): string {
  return `turn ${message} ${token}`
}

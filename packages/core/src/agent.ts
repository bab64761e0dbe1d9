import type { HistoryView } from './history.ts'
import type { Json } from './json.ts'
import type { NormalizedMessage } from './message.ts'
import type { ArtifactPart, FilePart, Part } from './part.ts'
import type { NormalizedResponse, PartialResponse } from './response.ts'
import type { Log } from './world.ts'

/** What the world may know about an agent. */
export interface AgentProfile {
  /** The local half of its address; lower case. */
  readonly name: string
  readonly displayName: string
  readonly description: string
  readonly version: string
  readonly iconUrl?: string | undefined
}

/** JSON that an agent keeps per thread; written together with its answer, or not at all. */
export interface AgentState {
  get(): Promise<Json | undefined>
  set(value: Json): void
}

export interface AttachmentBytes {
  readonly bytes: Uint8Array
  readonly mime?: string | undefined
  readonly name?: string | undefined
}

export interface AgentContext {
  /** Aborts at the deadline, on cancel and on shutdown. */
  readonly signal: AbortSignal
  /** The trimmed history and where its stable head ends; `message.history` holds the same turns. */
  history(): HistoryView
  /** The bytes of a file or artifact, checked against their digest. */
  attachment(part: FilePart | ArtifactPart): Promise<AttachmentBytes>
  readonly state: AgentState
  readonly log: Log
  /** Follows this message through every log line. */
  readonly correlationId: string
}

export type AgentChunk = string | Part | PartialResponse
export type AgentAnswer = string | PartialResponse | NormalizedResponse | undefined

/** Who answers. `undefined` says nothing; a string is one markdown text; an iterable streams. */
export interface Agent {
  handle(
    message: NormalizedMessage,
    context: AgentContext,
  ): AgentAnswer | AsyncIterable<AgentChunk> | Promise<AgentAnswer | AsyncIterable<AgentChunk>>
}

/** The agents of this gateway. */
export interface AgentDirectory {
  /** Host of every `@agent@domain`. */
  readonly domain: string
  /** https origin, without a slash at the end. */
  readonly origin: string
  readonly defaultAgent: string | undefined
  find(name: string): AgentProfile | undefined
  list(): readonly AgentProfile[]
}

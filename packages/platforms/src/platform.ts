// Declares the facts and functions by which one platform differs from another.
import type { GuardedFetch, Json, Log, Part, Sender } from '@postern/message'
import type { Adapter } from 'chat'
import type { HeardEvent, HeardRequest } from './adapters/host.ts'
import type { PlatformConfig } from './config.ts'

/** The strength of a platform's statement about a person: a member or a guest of its workspace, somebody of another one, or a program. */
type PlatformAssurance = 'member' | 'guest' | 'external' | 'bot'

/** A person or a program, as the platform knows them. */
export interface PlatformPerson {
  /** The platform's id, by which it opens a direct conversation. */
  readonly id: string
  /** The principal, made from ids alone: `slack:T123/U456`. */
  readonly subject: string
  /** The address, made from the same ids: `@u456@t123.slack`. */
  readonly address: string
  readonly assurance: PlatformAssurance
  /** The profile for display only, which never authorizes. */
  readonly profile: NonNullable<Sender['profile']>
}

/** The position of an event: its conversation, and the location where an answer goes. */
export interface PlatformLocation {
  /** The id of the channel or the direct conversation. */
  readonly channel: string
  /** The adapter's id of the thread in which an answer is posted. */
  readonly thread: string
  /** The key of the conversation (`thread_source`). */
  readonly conversation: string
  /** The readers of the conversation: one person, or everybody in a channel. */
  readonly scope: string
  /** True for a conversation with one person alone. */
  readonly isDirect: boolean
}

/** The common facts about everything that somebody does on a platform. */
interface PlatformFact {
  /** The platform's id of the message that it is or concerns: `slack:C1:1700000000.000100`. */
  readonly object: string
  readonly person: PlatformPerson
  readonly location: PlatformLocation
  /** The time that the platform states, ms. */
  readonly sentAt?: number | undefined
}

/** A message, with the reason why an agent is asked. */
interface PlatformMessage extends PlatformFact {
  readonly kind: 'message'
  readonly parts: readonly Part[]
  /** True if it mentions the bot, is a direct message, or is a command. Otherwise only an answered thread makes it a message to the agent. */
  readonly isForAgent: boolean
}

interface PlatformEdit extends PlatformFact {
  readonly kind: 'edit'
  readonly parts: readonly Part[]
  /** The platform's id of this version. */
  readonly version: string
}

interface PlatformDeletion extends PlatformFact {
  readonly kind: 'delete'
}

interface PlatformReaction extends PlatformFact {
  readonly kind: 'reaction'
  /** The platform's id of this event, because a person may react, take it back and react again. */
  readonly version?: string | undefined
  readonly emoji: string
  readonly isAdded: boolean
}

export type PlatformEvent = PlatformMessage | PlatformEdit | PlatformDeletion | PlatformReaction

/** A request of a platform, whose bytes nobody has verified yet. */
export interface PlatformRequest {
  readonly url: string
  readonly headers: Headers
  readonly body: Uint8Array
}

/** The content of a verified request, in the platform's own form. */
export interface PlatformDocument {
  /** The document without its credentials, for the store. */
  readonly stored: Json
  /** The id of the app that the request is for, which names the key. */
  readonly app: string | undefined
  /** The document itself. */
  readonly content: Readonly<Record<string, unknown>>
}

/** A post of the bot itself, as the platform shows it. */
export interface OwnPost {
  readonly id: string
  readonly text: string
}

/** A platform that is ready to work. */
export interface OpenedPlatform {
  readonly adapter: Adapter
  /** Learns the bot's own identity, once. @throws Unavailable, Undeliverable */
  connect(): Promise<void>
  /** Hands a request to the adapter, and returns its answer with the events. */
  hear(request: Request): Promise<HeardRequest>
  /** Lists the events of a verified document that the adapter passes over. */
  listUnheard(document: PlatformDocument): readonly HeardEvent[]
  /** Reads the document of a verified request. */
  readDocument(request: PlatformRequest): PlatformDocument
  /** Returns the event in a form that all platforms share; undefined if it concerns nobody here. @throws Unavailable */
  readEvent(heard: HeardEvent, document: PlatformDocument): Promise<PlatformEvent | undefined>
  /** Lists what the bot itself has posted in a thread since a time (ms), oldest first, as plain text. */
  listOwnPosts(thread: string, since: number): Promise<readonly OwnPost[]>
  /** Returns the platform's id of a message in an adapter's thread, in the form of `PlatformEvent.object`. */
  nameObject(thread: string, messageId: string): string
  /** Returns an error of the platform's API as `Unavailable` or `Undeliverable`, and every other error as it is. */
  classify(error: unknown): unknown
  /** Returns true for the error that a post is no longer there. */
  isMissing(error: unknown): boolean
  /** Returns the text in the form in which the platform shows it and notifies nobody whom the agent did not name. */
  prepareText(markdown: string): string
}

/** The dependencies of a platform. */
export interface OpenPlatformDeps<Config extends PlatformConfig> {
  readonly config: Config
  /** The module of the adapter. */
  readonly library: unknown
  /** The fetch that reaches the platform's API. */
  readonly fetch: GuardedFetch
  readonly log: Log
  now(): number
  /** Returns true if an agent has answered in the adapter's thread. */
  hasAnswered(thread: string): Promise<boolean>
}

/** A platform of the list. */
export interface Platform<Config extends PlatformConfig> {
  readonly name: string
  /** The npm package of its adapter. */
  readonly library: string
  /** The header with the signature of a request. */
  readonly signatureHeader: string
  /** The other headers that the adapter reads. No other header reaches it. */
  readonly headers: readonly string[]
  readonly apiUrl: string
  /** The maximum number of characters of one post. */
  readonly maxPostChars: number
  open(deps: OpenPlatformDeps<Config>): OpenedPlatform
}

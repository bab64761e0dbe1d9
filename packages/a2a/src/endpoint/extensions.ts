import type { ChannelContext } from '@postern/core'
import { A2aRejection } from '../format/errors.ts'
import type { ProtocolVersion } from '../format/version.ts'
import type { Call } from './call.ts'

/** An extension of the card (A2A §4.4.4). */
export interface Extension {
  readonly uri: string
  readonly description?: string | undefined
  readonly required?: boolean | undefined
}

/** Events bear ids, and a stream that was cut off goes on behind `Last-Event-ID`. */
export const replayExtension = 'urn:postern:a2a:event-replay:v1'

/** Mentionable, PolicyParts v0.1. */
const policyExtension = 'https://mentionable.dev/ns/policy/v0.1'

/** Mentionable, A2A tool events v0.1. */
const toolEventsExtension = 'https://mentionable.dev/ns/a2a-tool-events/v0.1'

/** What we understand; a caller's others are ignored. */
export const supportedExtensions: readonly Extension[] = [
  {
    uri: replayExtension,
    description: 'Events of a stream bear ids; SubscribeToTask with Last-Event-ID goes on behind the one it names.',
  },
  {
    uri: toolEventsExtension,
    description: 'Tools that an agent ran are data parts of the types tool-call, tool-result and tool-error.',
  },
  {
    uri: policyExtension,
    description:
      'What an agent requires or refuses is a PolicyPart: a data part with metadata.mentionable.kind "policy".',
  },
]

/** With those of identity that are on. */
export function listOfferedExtensions({ identity }: Pick<ChannelContext, 'identity'>): readonly Extension[] {
  return identity && identity.extensions.length > 0
    ? [...supportedExtensions, ...identity.extensions]
    : supportedExtensions
}

const maxHeader = 8 * 1024
const maxNamed = 64

/**
 * Which of our extensions the caller switched on; the answer echoes these. Unknown ones are ignored, and so is what
 * lies beyond the bounds (A2A §4.6).
 * @throws A2aRejection `extensionSupportRequired`
 */
export function negotiateExtensions(
  header: string | null,
  supported: readonly Extension[] = supportedExtensions,
): readonly string[] {
  if (header === null && !supported.some(({ required }) => required)) return []
  const named = new Set(
    (header ?? '')
      .slice(0, maxHeader)
      .split(',', maxNamed)
      .map(uri => uri.trim()),
  )
  const missing = supported.find(({ uri, required }) => required && !named.has(uri))
  if (missing) {
    throw new A2aRejection('extensionSupportRequired', `Cannot take request: extension "${missing.uri}" is required`)
  }
  return supported.map(({ uri }) => uri).filter(uri => named.has(uri))
}

/** What the header is called in which the caller names extensions, and we those that are on. */
export const extensionHeaders: Readonly<Record<ProtocolVersion, string>> = {
  '1.0': 'a2a-extensions',
  '0.3': 'x-a2a-extensions',
}

/** Where a caller who was cut off wants to go on; only for callers who know of it. */
export function readReplay(headers: Headers, extensions: readonly string[]): Pick<Call, 'lastEventId' | 'canReplay'> {
  const canReplay = extensions.includes(replayExtension)
  return { canReplay, lastEventId: canReplay ? (headers.get('last-event-id') ?? undefined) : undefined }
}

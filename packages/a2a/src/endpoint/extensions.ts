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

/** Events have ids, and an interrupted stream continues after `Last-Event-ID`. */
export const replayExtension = 'urn:postern:a2a:event-replay:v1'

/** Mentionable, PolicyParts v0.1. */
const policyExtension = 'https://mentionable.dev/ns/policy/v0.1'

/** Mentionable, A2A tool events v0.1. */
const toolEventsExtension = 'https://mentionable.dev/ns/a2a-tool-events/v0.1'

/** The extensions we understand. Others are ignored. */
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

/** All of these, with the enabled extensions of identity. */
export function listOfferedExtensions({ identity }: Pick<ChannelContext, 'identity'>): readonly Extension[] {
  return identity && identity.extensions.length > 0
    ? [...supportedExtensions, ...identity.extensions]
    : supportedExtensions
}

const maxHeader = 8 * 1024
const maxNamed = 64

/**
 * The extensions that the caller activated; the answer echoes them. Unknown ones, and those beyond the bounds, are ignored (A2A §4.6).
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

/** The header in which callers name extensions and the gateway names the active ones. */
export const extensionHeaders: Readonly<Record<ProtocolVersion, string>> = {
  '1.0': 'a2a-extensions',
  '0.3': 'x-a2a-extensions',
}

/** Where the interrupted caller continues, if it activated replay. */
export function readReplay(headers: Headers, extensions: readonly string[]): Pick<Call, 'lastEventId' | 'canReplay'> {
  const canReplay = extensions.includes(replayExtension)
  return { canReplay, lastEventId: canReplay ? (headers.get('last-event-id') ?? undefined) : undefined }
}

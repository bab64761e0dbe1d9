// Negotiates extensions (A2A §4.6).
import type { HeaderFields } from '@postern/http'
import type { AgentProfile, ChannelContext } from '@postern/pipeline'
import { A2aRejection } from '../format/errors.ts'
import type { ProtocolVersion } from '../format/wire.ts'
import type { Call } from './call.ts'

/** An extension of the card (A2A §4.4.4). */
export interface Extension {
  readonly uri: string
  readonly description?: string | undefined
  readonly required?: boolean | undefined
}

/** The extension for the replay of events. Events have ids, and an interrupted stream continues after `Last-Event-ID`. */
export const replayExtension = 'urn:postern:a2a:event-replay:v1'

/** The extension of Mentionable for policy parts, v0.1. */
const policyExtension = 'https://mentionable.dev/ns/policy/v0.1'

/** The extension of Mentionable for tool events in A2A, v0.1. */
const toolEventsExtension = 'https://mentionable.dev/ns/a2a-tool-events/v0.1'

/** The extensions that the gateway supports. It ignores others. */
export const supportedExtensions: readonly Extension[] = [
  {
    uri: replayExtension,
    description:
      'Events of a stream have ids. SubscribeToTask with Last-Event-ID continues after the event with that id.',
  },
  {
    uri: toolEventsExtension,
    description: 'The tool calls of an agent are data parts of the types tool-call, tool-result and tool-error.',
  },
  {
    uri: policyExtension,
    description:
      'An agent states a requirement or a refusal as a PolicyPart: a data part with metadata.mentionable.kind "policy".',
  },
]

/** Lists all extensions of an agent: the supported ones, the enabled ones of identity and its own. */
export function listOfferedExtensions(
  { identity }: Pick<ChannelContext, 'identity'>,
  { card }: Pick<AgentProfile, 'card'>,
): readonly Extension[] {
  const [enabledExtensions, cardExtensions] = [identity?.extensions ?? [], card?.extensions ?? []]
  return enabledExtensions.length + cardExtensions.length > 0
    ? [...supportedExtensions, ...enabledExtensions, ...cardExtensions]
    : supportedExtensions
}

const maxHeaderChars = 8 * 1024

const maxExtensions = 64

/**
 * Returns the extensions that the caller activated. The response repeats them. Unknown extensions, and extensions beyond the bounds,
 * are ignored (A2A §4.6).
 * @throws A2aRejection `extensionSupportRequired`
 */
export function negotiateExtensions(
  header: string | null,
  offeredExtensions: readonly Extension[] = supportedExtensions,
): readonly string[] {
  if (header === null && !offeredExtensions.some(({ required }) => required)) return []
  const requestedUris = new Set(
    (header ?? '')
      .slice(0, maxHeaderChars)
      .split(',', maxExtensions)
      .map(uri => uri.trim()),
  )
  const missingExtension = offeredExtensions.find(({ uri, required }) => required && !requestedUris.has(uri))
  if (missingExtension) {
    throw new A2aRejection(
      'extensionSupportRequired',
      `Cannot take request: extension "${missingExtension.uri}" is required`,
    )
  }
  return offeredExtensions.map(({ uri }) => uri).filter(uri => requestedUris.has(uri))
}

/** The header in which callers name extensions and the gateway names the active ones. */
export const extensionHeaders: Readonly<Record<ProtocolVersion, string>> = {
  '1.0': 'a2a-extensions',
  '0.3': 'x-a2a-extensions',
}

/** Reads the event after which an interrupted caller continues, if it activated replay. */
export function readReplay(
  headers: HeaderFields,
  extensions: readonly string[],
): Pick<Call, 'lastEventId' | 'canReplay'> {
  const canReplay = extensions.includes(replayExtension)
  return { canReplay, lastEventId: canReplay ? (headers.get('last-event-id') ?? undefined) : undefined }
}

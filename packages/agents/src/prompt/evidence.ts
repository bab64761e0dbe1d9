// Describes senders, files, links and data to a model, clipped to fixed lengths.
import type { HistoricalSender, Json, NormalizedMessage, Part } from '@postern/message'
import { isQuoted } from '@postern/message'
import { clipText } from './data-block.ts'

/** The limits: the number of items of each kind, and the characters of each member. */
const most = { count: 20, name: 200, title: 300, url: 2_000, description: 2_000, quote: 4_000, json: 8_000 }

type Facts = { readonly [name: string]: Json | undefined }

/** Describes the current sender, the proof of their identity, and the channel. */
export function describeSpeaker(message: NormalizedMessage, flags: readonly string[]): Facts {
  const { sender, received_via, received_at, kind = 'message' } = message
  const displayName = sender.display_name ?? sender.profile?.display_name
  return {
    from: clipText(sender.address, most.title),
    ...(displayName && { name: clipText(displayName, most.name) }),
    verified: sender.verified,
    auth_method: sender.auth_method,
    ...describeVouched(message),
    via: received_via,
    at: received_at,
    ...(kind !== 'message' && { kind }),
    ...(flags.length > 0 && { flags: [...flags] }),
  }
}

/** Describes an earlier sender and the proof of their identity at that time. */
export function describeWriter({ address, verified, auth_method }: HistoricalSender): Facts {
  return { from: clipText(address, most.title), verified, auth_method }
}

/** Describes the attestations of third parties that the operator trusts. The proof by the transport is stated separately. */
function describeVouched({ sender: { identities = [] } }: NormalizedMessage): Facts {
  const vouched = identities.filter(({ proof }) => proof.type !== 'transport').slice(0, most.count)
  if (vouched.length === 0) return {}
  const clip = (text: string) => clipText(text, most.name)
  return {
    vouched_for: vouched.map(({ subject, issuer, method, assurance, on_behalf_of }) => ({
      subject: clip(subject),
      by: clip(issuer),
      method: clip(method),
      assurance: clip(assurance),
      ...(on_behalf_of && { on_behalf_of: on_behalf_of.slice(0, most.count).map(clip) }),
    })),
  }
}

/** Describes the files, data, links and quotations that accompany the text. */
export function describeThings(parts: readonly Part[]): Facts {
  const quoted = parts.filter(isQuote).map(part => clipText(part.content, most.quote))
  return {
    ...readSubject(parts),
    ...(quoted.length > 0 && { quoted: quoted.slice(0, most.count) }),
    ...listThings('files', parts, describeFile),
    ...listThings('data', parts, describeData),
    ...listThings('links', parts, describeLink),
  }
}

/** Reads the subject of a mail, which is in a separate part. */
function readSubject(parts: readonly Part[]): Facts {
  const details: { readonly kind: string; readonly subject?: unknown } | undefined = parts.find(
    part => (part.kind as string) === 'email',
  )
  return typeof details?.subject === 'string' ? { subject: clipText(details.subject, most.title) } : {}
}

export function isQuote(part: Part): part is Part & { readonly kind: 'text' } {
  return part.kind === 'text' && isQuoted(part)
}

function listThings(name: string, parts: readonly Part[], describe: (part: Part) => Facts | undefined): Facts {
  const things = parts.map(describe).filter(thing => thing !== undefined)
  return things.length > 0 ? { [name]: things.slice(0, most.count) } : {}
}

/** Describes a value as JSON text, so that it can be clipped. */
function describeData(part: Part): Facts | undefined {
  if (part.kind !== 'artifact' || part.data === undefined) return undefined
  return {
    ...(part.name && { name: clipText(part.name, most.name) }),
    ...(part.artifact_type && part.artifact_type !== 'data' && { type: clipText(part.artifact_type, most.name) }),
    ...(part.description && { description: clipText(part.description, most.description) }),
    json: clipText(JSON.stringify(part.data), most.json),
  }
}

function describeFile(part: Part): Facts | undefined {
  if (part.kind !== 'file' && part.kind !== 'artifact') return undefined
  if (part.kind === 'artifact' && part.data !== undefined) return undefined
  return {
    name: clipText(part.name ?? 'unnamed', most.name),
    ...(part.description && { description: clipText(part.description, most.description) }),
    ...(part.mime && { type: clipText(part.mime, most.name) }),
    ...(part.size !== undefined && { size: part.size }),
  }
}

function describeLink(part: Part): Facts | undefined {
  if (part.kind !== 'link') return undefined
  return {
    url: clipText(part.url, most.url),
    ...(part.title && { title: clipText(part.title, most.title) }),
    ...(part.description && { description: clipText(part.description, most.title) }),
  }
}

// Describes senders, files, links and data to a model, clipped to fixed lengths.
import type { HistoricalSender, Json, NormalizedMessage, Part } from '@postern/message'
import { isQuoted } from '@postern/message'
import { clipText } from './data-block.ts'

/** The limits: the number of items of each kind, and the characters of each member. */
const limits = { count: 20, name: 200, title: 300, url: 2_000, description: 2_000, quote: 4_000, json: 8_000 }

type EvidenceMembers = { readonly [name: string]: Json | undefined }

/** Describes the current sender, the proof of their identity, and the channel. */
export function describeCurrentSender(message: NormalizedMessage, flags: readonly string[]): EvidenceMembers {
  const { sender, received_via, received_at, kind = 'message' } = message
  const displayName = sender.display_name ?? sender.profile?.display_name
  return {
    from: clipText(sender.address, limits.title),
    ...(displayName && { name: clipText(displayName, limits.name) }),
    verified: sender.verified,
    auth_method: sender.auth_method,
    ...describeAttestedIdentities(message),
    via: received_via,
    at: received_at,
    ...(kind !== 'message' && { kind }),
    ...(flags.length > 0 && { flags: [...flags] }),
  }
}

/** Describes an earlier sender and the proof of their identity at that time. */
export function describeWriter({ address, verified, auth_method }: HistoricalSender): EvidenceMembers {
  return { from: clipText(address, limits.title), verified, auth_method }
}

/** Describes the attestations of third parties that the operator trusts. The proof by the transport is stated separately. */
function describeAttestedIdentities({ sender: { identities = [] } }: NormalizedMessage): EvidenceMembers {
  const attestedIdentities = identities.filter(({ proof }) => proof.type !== 'transport').slice(0, limits.count)
  if (attestedIdentities.length === 0) return {}
  const clipName = (text: string) => clipText(text, limits.name)
  return {
    vouched_for: attestedIdentities.map(({ subject, issuer, method, assurance, on_behalf_of }) => ({
      subject: clipName(subject),
      by: clipName(issuer),
      method: clipName(method),
      assurance: clipName(assurance),
      ...(on_behalf_of && { on_behalf_of: on_behalf_of.slice(0, limits.count).map(clipName) }),
    })),
  }
}

/** Describes the files, data, links and quotations that accompany the text. */
export function describeAttachments(parts: readonly Part[]): EvidenceMembers {
  const quotes = parts.filter(isQuote).map(part => clipText(part.content, limits.quote))
  return {
    ...readSubject(parts),
    ...(quotes.length > 0 && { quoted: quotes.slice(0, limits.count) }),
    ...listAttachments('files', parts, describeFile),
    ...listAttachments('data', parts, describeData),
    ...listAttachments('links', parts, describeLink),
  }
}

/** Reads the subject of a mail, which is in a separate part. */
function readSubject(parts: readonly Part[]): EvidenceMembers {
  const details: { readonly kind: string; readonly subject?: unknown } | undefined = parts.find(
    part => (part.kind as string) === 'email',
  )
  return typeof details?.subject === 'string' ? { subject: clipText(details.subject, limits.title) } : {}
}

export function isQuote(part: Part): part is Part & { readonly kind: 'text' } {
  return part.kind === 'text' && isQuoted(part)
}

function listAttachments(
  name: string,
  parts: readonly Part[],
  describe: (part: Part) => EvidenceMembers | undefined,
): EvidenceMembers {
  const descriptions = parts.map(describe).filter(fact => fact !== undefined)
  return descriptions.length > 0 ? { [name]: descriptions.slice(0, limits.count) } : {}
}

/** Describes a value as JSON text, so that it can be clipped. */
function describeData(part: Part): EvidenceMembers | undefined {
  if (part.kind !== 'artifact' || part.data === undefined) return undefined
  return {
    ...(part.name && { name: clipText(part.name, limits.name) }),
    ...(part.artifact_type && part.artifact_type !== 'data' && { type: clipText(part.artifact_type, limits.name) }),
    ...(part.description && { description: clipText(part.description, limits.description) }),
    json: clipText(JSON.stringify(part.data), limits.json),
  }
}

function describeFile(part: Part): EvidenceMembers | undefined {
  if (part.kind !== 'file' && part.kind !== 'artifact') return undefined
  if (part.kind === 'artifact' && part.data !== undefined) return undefined
  return {
    name: clipText(part.name ?? 'unnamed', limits.name),
    ...(part.description && { description: clipText(part.description, limits.description) }),
    ...(part.mime && { type: clipText(part.mime, limits.name) }),
    ...(part.size !== undefined && { size: part.size }),
  }
}

function describeLink(part: Part): EvidenceMembers | undefined {
  if (part.kind !== 'link') return undefined
  return {
    url: clipText(part.url, limits.url),
    ...(part.title && { title: clipText(part.title, limits.title) }),
    ...(part.description && { description: clipText(part.description, limits.title) }),
  }
}

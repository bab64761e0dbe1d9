import type { AgentDirectory, IdentityEvidence, Intake, Sender, SenderProfile, Visibility } from '@postern/core'
import { isoTime, mentionRelays, mintTransportEvidence } from '@postern/core'
import { actsOn } from './activity.ts'
import type { ReadNote } from './note-reading.ts'
import { readNote } from './note-reading.ts'
import type { JsonObject } from './reading.ts'
import { asObject, idOf, idsOf, listOf, textOf } from './reading.ts'
import type { ReplyTarget } from './reply-target.ts'
import { toJson } from './reply-target.ts'
import type { ProvenActivity, VerifiedDelivery } from './verify.ts'
import { narrower, readVisibility } from './visibility.ts'

/** One intake per agent of ours that a post is addressed to or mentions. Pure. */
export function normalizeDelivery(verified: VerifiedDelivery, agents: AgentDirectory): readonly Intake[] {
  if (verified === 'nothing' || !actsOn(verified.activity)) return []
  const post = asObject(verified.activity.json.object)
  const names = post ? findAddressed(verified.activity.json, post, agents) : []
  if (!post || names.length === 0) return []
  const note = readNote(post, {
    isOwnMention: href => findAgentName(href, agents) !== undefined,
    addresses: names.map(name => `@${name}@${agents.domain}`),
  })
  return names.map(name => toIntake({ proven: verified, post, note, name, domain: agents.domain }))
}

/** By `to`, `cc` and the like of activity and object, or by a mention. */
function findAddressed(activity: JsonObject, post: JsonObject, agents: AgentDirectory): readonly string[] {
  const addressed = [activity, post].flatMap(json =>
    ['to', 'cc', 'bto', 'bcc', 'audience'].flatMap(field => idsOf(json[field])),
  )
  const mentions = listOf(post.tag)
    .map(asObject)
    .flatMap(tag => (tag?.type === 'Mention' ? (textOf(tag.href) ?? []) : []))
  const names = [...addressed, ...mentions].flatMap(iri => findAgentName(iri, agents) ?? [])
  return [...new Set(names)]
}

/** The agent whose actor this is. */
export function findAgentName(iri: string, agents: Pick<AgentDirectory, 'origin' | 'find'>): string | undefined {
  const prefix = `${agents.origin}/agents/`
  return iri.startsWith(prefix) ? agents.find(iri.slice(prefix.length))?.name : undefined
}

interface Addressed {
  readonly proven: ProvenActivity
  readonly post: JsonObject
  readonly note: ReadNote
  readonly name: string
  readonly domain: string
}

function toIntake({ proven, post, note, name, domain }: Addressed): Intake {
  const { activity, proofs, bytes, receivedAt } = proven
  const object = idOf(post) ?? activity.id
  const inReplyTo = idOf(post.inReplyTo)
  const visibility = visibilityOf(proven, post)
  const recipient = `@${name}@${domain}`
  return {
    agent: name,
    message: {
      id: activity.id,
      thread_id: idOf(post.context) ?? idOf(post.conversation) ?? inReplyTo ?? object,
      ...(inReplyTo && { in_reply_to: inReplyTo }),
      sender: toSender(proven, recipient, note.language),
      recipient,
      parts: [...note.parts],
      recipient_capabilities: { mention_relay: mentionRelays.activitypub },
      received_via: 'activitypub',
      received_at: isoTime(receivedAt),
      kind: 'message',
    },
    // The id lies on its actor's origin (it would not have been proven otherwise), so it carries the origin in itself.
    duplicateKey: activity.id,
    thread: {
      scope: visibility === 'public' || visibility === 'unlisted' ? 'public' : proven.actor.id,
      references: inReplyTo ? [inReplyTo] : [],
    },
    aliases: [object],
    proofs,
    raw: { bytes, form: 'json' },
    target: toJson(toReplyTarget({ proven, post, note, object, visibility })),
    disposition: 'answer',
    ...(note.hadHidden && { flags: ['hidden_text'] }),
  }
}

/** Of the activity's and the object's addressing the narrower counts. */
function visibilityOf({ activity, actor }: ProvenActivity, post: JsonObject): Visibility {
  const outer = readVisibility(activity.json, actor.followers)
  const inner = readVisibility(post, actor.followers)
  return narrower(outer ?? inner ?? 'direct', inner ?? outer ?? 'direct')
}

/** A host that does not confirm the name gets this one, which no confirmed name can be; the actor's IRI is in the evidence. */
function addressOf({ address, actor }: ProvenActivity): string {
  return address ?? `@~unconfirmed@${actor.host}`
}

function toSender(proven: ProvenActivity, recipient: string, language: string | undefined): Sender {
  const { actor, keyId } = proven
  return {
    address: addressOf(proven),
    ...(actor.name && { display_name: actor.name }),
    profile: toProfile(proven, language),
    auth_method: 'ap-http-signature',
    verified: true,
    key_id: keyId,
    identities: toEvidence(proven, recipient),
  }
}

/** One piece for the request, and a second for the document when it carries a proof of its own. */
function toEvidence({ actor, keyId, objectKeyId, receivedAt }: ProvenActivity, audience: string): IdentityEvidence[] {
  const said = {
    subject: actor.id,
    issuer: actor.host,
    assurance: 'address',
    audience,
    issuedAt: isoTime(receivedAt),
  } as const
  const byRequest = mintTransportEvidence({ ...said, method: 'ap-http-signature', keyId })
  if (!objectKeyId) return [byRequest]
  return [byRequest, mintTransportEvidence({ ...said, method: 'ap-object-integrity-proof', keyId: objectKeyId })]
}

function toProfile({ actor, address }: ProvenActivity, language: string | undefined): SenderProfile {
  const { name, username, url, icon } = actor
  return {
    ...(name && { display_name: name }),
    ...(username && address && { username }),
    ...(url && { url }),
    ...(icon && { avatar: { url: icon.url, ...(icon.mediaType && { mime_type: icon.mediaType }) } }),
    ...(language && { locale: language }),
    provider: actor.host,
    provider_subject: actor.id,
  }
}

interface Answerable extends Pick<Addressed, 'proven' | 'post' | 'note'> {
  readonly object: string
  readonly visibility: Visibility
}

function toReplyTarget({ proven, post, note, object, visibility }: Answerable): ReplyTarget {
  const { actor, address } = proven
  return {
    actor: actor.id,
    address,
    url: actor.url,
    inbox: actor.inbox,
    sharedInbox: actor.sharedInbox,
    object,
    context: idOf(post.context),
    conversation: idOf(post.conversation),
    visibility,
    summary: note.summary,
    sensitive: note.isSensitive || undefined,
    language: note.language,
  }
}

import type {
  AgentDirectory,
  IdentityEvidence,
  Intake,
  KnownMessage,
  Part,
  Sender,
  SenderProfile,
  Visibility,
  Withdrawal,
} from '@postern/core'
import { agentFlag, isoTime, mintTransportEvidence } from '@postern/core'
import type { JsonObject } from './format/document.ts'
import {
  asObject,
  findAgentName,
  idOf,
  idsOf,
  isOpen,
  isPublic,
  isReadablePost,
  listOf,
  narrower,
  readReplyTarget,
  readVisibility,
  textOf,
  toJson,
  typeOf,
} from './format/document.ts'
import type { ReplyTarget } from './format/post-data.ts'
import type { NoteReading } from './html/note-reading.ts'
import { readNote } from './html/note-reading.ts'
import type { ActivityKind, ResolvedActivity, ResolvedDelivery } from './inbox/activity-kind.ts'
import { isBlockedPart } from './peers/known-peers.ts'
import type { NamedActivity, ProvenActivity } from './proofs/proven-activity.ts'
import { activityPubDescriptor } from './speaker.ts'

/** The messages for the agents concerned, and the notices for the operator. Pure. */
export function normalizeDelivery(understood: ResolvedDelivery): readonly Intake[] {
  return understood === 'nothing' || 'gone' in understood ? [] : understood.kind.read(understood.resolved)
}

/** What the author withdraws. An actor that is gone withdraws everything. Pure. */
export function readWithdrawals(understood: ResolvedDelivery): readonly Withdrawal[] {
  if (understood === 'nothing') return []
  if ('gone' in understood) return [{ kind: 'forget_peer', peer: understood.gone }]
  return understood.kind.withdraw?.(understood.resolved) ?? []
}

/** A post, to each agent it is addressed to or mentions. A second `Create` of a post is none: it cannot widen it (CVE-2024-37903). */
export const create: ActivityKind = {
  async find({ activity, actor }, { agents, store, fetchCreatedPost }) {
    const embedded = asObject(activity.json.object)
    // A post that is only named is worth a fetch when it is for an agent of this gateway.
    const isNamedHere = !embedded && findAddressed(activity.json, {}, agents).length > 0
    const createdPost = isNamedHere ? await fetchCreatedPost(activity) : undefined
    const post = createdPost ?? (isReadablePost(embedded) ? embedded : undefined)
    const object = idOf(post)
    if (!post || !object) return undefined
    const addressed = findAddressed(activity.json, post, agents)
    if (addressed.length === 0) return undefined
    const known = await store.findAuthored('activitypub', { author: actor.id, object })
    const told = known.filter(({ id }) => id !== activity.id).map(({ agent }) => agent)
    return { agents: addressed.filter(name => !told.includes(name)), createdPost }
  },
  read: resolved => resolved.agents.map(agent => readPost(resolved, agent)),
}

/** Agents named by `to`, `cc` and the like of activity and object, or by a mention. */
export function findAddressed(activity: JsonObject, post: JsonObject, agents: AgentDirectory): readonly string[] {
  const names = findAudience(activity, post).flatMap(iri => findAgentName(iri, agents) ?? [])
  return [...new Set(names)]
}

function findAudience(activity: JsonObject, post: JsonObject): readonly string[] {
  const addressed = [activity, post].flatMap(json =>
    ['to', 'cc', 'bto', 'bcc', 'audience'].flatMap(field => idsOf(json[field])),
  )
  const mentions = listOf(post.tag)
    .map(asObject)
    .flatMap(tag => (tag?.type === 'Mention' ? (idOf(tag.href) ?? []) : []))
  return [...addressed, ...mentions]
}

/**
 * A post as a message to an agent; the post must have an id. `earlier` is the stored post when this one changes it.
 * Pure.
 */
export function readPost(resolved: ResolvedActivity, agent: string, earlier?: KnownMessage): Intake {
  const { activity } = resolved.named
  const post = resolved.createdPost ?? asObject(activity.json.object) ?? {}
  const note = readNote(post, namesHere(resolved))
  const object = idOf(post) ?? activity.id
  const visibility = visibilityOf(resolved, post, earlier)
  const flags = [...(note.hadHidden ? ['hidden_text'] : []), ...(isForMany(resolved, post) ? ['mass_mention'] : [])]
  return toIntake(resolved, {
    agent,
    // Quoted posts, links and files of blocked hosts are left out.
    parts: note.parts.filter(part => !isBlockedPart(part, resolved.gateway.isBlocked)),
    object,
    audience: visibility,
    target: toReplyTarget({ resolved, post, note, object, visibility }),
    language: note.language,
    ...(!earlier && { sentAt: Date.parse(textOf(post.published) ?? '') }),
    ...(earlier ? placeEdit(earlier, object) : placeNew(resolved, post, { object, visibility })),
    ...(flags.length > 0 && { flags }),
    ...(flags.includes('mass_mention') && { disposition: 'keep' }),
  })
}

type Place = Pick<IntakeDraft, 'kind' | 'thread_id' | 'in_reply_to' | 'thread'>

function placeNew(
  resolved: ResolvedActivity,
  post: JsonObject,
  { object, visibility }: { readonly object: string; readonly visibility: Visibility },
): Place {
  const inReplyTo = idOf(post.inReplyTo)
  // A chat has no threads: all of it is one conversation.
  if (!inReplyTo && typeOf(post) === 'ChatMessage') return { kind: 'message', ...inThreadWith(resolved) }
  return {
    kind: 'message',
    thread_id: idOf(post.context) ?? idOf(post.conversation) ?? inReplyTo ?? object,
    in_reply_to: inReplyTo,
    thread: {
      ...(isOpen(visibility)
        ? { scope: 'public', begunBy: resolved.named.actor.id }
        : { scope: resolved.named.actor.id }),
      references: inReplyTo ? [inReplyTo] : [],
    },
  }
}

/** It stays in its thread, whatever it declares now; `in_reply_to` names the changed post. */
function placeEdit(earlier: KnownMessage, object: string): Place {
  return { kind: 'edit', in_reply_to: object, ...inThreadOf(earlier, object) }
}

function namesHere({ agents: names, gateway: { agents } }: ResolvedActivity) {
  return {
    isOwnMention: (href: string) => findAgentName(href, agents) !== undefined,
    addresses: names.flatMap(name => [...hostsOf(agents)].map(host => `@${name}@${host}`)),
  }
}

/** An agent is known by the domain of its handle and by the host of its actor. */
function hostsOf({ domain, origin }: AgentDirectory): ReadonlySet<string> {
  return new Set([domain, new URL(origin).hostname])
}

/** A post that mentions many people at once mentions nobody in particular. */
function isForMany(
  { named: { activity, actor }, gateway: { maxMentions } }: ResolvedActivity,
  post: JsonObject,
): boolean {
  const people = new Set(findAudience(activity.json, post).filter(iri => !isPublic(iri) && iri !== actor.followers))
  return people.size > maxMentions
}

/** The narrowest of three audiences counts: the activity's, the object's and the earlier one. */
function visibilityOf(
  { named: { activity, actor } }: ResolvedActivity,
  post: JsonObject,
  earlier?: KnownMessage,
): Visibility {
  const outer = readVisibility(activity.json, actor.followers)
  const inner = readVisibility(post, actor.followers)
  const now = narrower(outer ?? inner ?? 'direct', inner ?? outer ?? 'direct')
  return earlier ? narrower(readReplyTarget(earlier.target).visibility, now) : now
}

interface Answerable {
  readonly resolved: ResolvedActivity
  readonly post: JsonObject
  readonly note: NoteReading
  readonly object: string
  readonly visibility: Visibility
}

function toReplyTarget({ resolved, post, note, object, visibility }: Answerable): ReplyTarget {
  const { actor, address } = resolved.named
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
    quote: note.quote,
  }
}

/** The message for one agent. */
interface IntakeDraft
  extends Pick<Intake, 'agent' | 'audience' | 'flags' | 'deliveries' | 'effects'>,
    Partial<Pick<Intake, 'disposition'>> {
  readonly kind: NonNullable<Intake['message']['kind']>
  readonly parts: readonly Part[]
  readonly thread_id: string
  readonly in_reply_to?: string | undefined
  readonly thread: Intake['thread']
  /** The object of the message: its IRI, or the IRI of the activity itself. */
  readonly object: string
  readonly target: ReplyTarget
  /** When its author published it, ms. */
  readonly sentAt?: number | undefined
  readonly language?: string | undefined
}

/** Pure. */
export function toIntake(resolved: ResolvedActivity, intakeDraft: IntakeDraft): Intake {
  const { activity, actor, proofs, bytes, arrival, receivedAt } = resolved.named
  const { agent, kind, parts, thread_id, in_reply_to, thread, object, target, language, ...rest } = intakeDraft
  const recipient = `@${agent}@${resolved.gateway.agents.domain}`
  return {
    agent,
    message: {
      id: activity.id,
      thread_id,
      ...(in_reply_to && { in_reply_to }),
      sender: toSender(resolved.named, recipient, language),
      recipient,
      parts: [...parts],
      recipient_capabilities: { mention_relay: activityPubDescriptor.mentionRelay },
      received_via: 'activitypub',
      received_at: isoTime(receivedAt),
      kind,
    },
    // The id lies on its actor's origin (it would not have been proven otherwise), so it carries the origin in itself.
    duplicateKey: activity.id,
    thread,
    aliases: object === activity.id ? [] : [object],
    authorship: { author: actor.id, object },
    proofs,
    arrival,
    raw: { bytes, form: 'json' },
    target: toJson(target),
    disposition: 'answer',
    quota: actor.isAutomated ? resolved.gateway.quotas.machines : resolved.gateway.quotas.people,
    ...rest,
    ...(actor.isAutomated && { flags: [...(rest.flags ?? []), agentFlag] }),
  }
}

/** Something that happened, in one sentence, and what it is about. */
export function tellEvent(sentence: string, about?: { readonly url: string; readonly title: string }): readonly Part[] {
  const said: Part = { kind: 'text', mime: 'text/plain', content: sentence }
  return about ? [said, { kind: 'link', ...about }] : [said]
}

/**
 * The target for an answer to an activity that is no post: its sender alone, as an answer to `object` if there is one.
 */
export function targetActor({ named: { actor, address } }: ResolvedActivity, object?: string): ReplyTarget {
  const { id, url, inbox, sharedInbox } = actor
  return { actor: id, address, url, inbox, sharedInbox, object, visibility: 'direct' }
}

/** In the thread of an earlier message. */
export function inThreadOf({ thread_id, scope }: Pick<KnownMessage, 'thread_id' | 'scope'>, reference: string) {
  return { thread_id, thread: { scope, references: [reference] } }
}

/** What an actor does outside of any conversation, as far as it is the same for all acts. */
export function draftAct(resolved: ResolvedActivity, agent: string): Omit<IntakeDraft, 'kind' | 'parts'> {
  return { agent, ...inThreadWith(resolved), object: resolved.named.activity.id, target: targetActor(resolved) }
}

/** What the operator sees, once for each agent, and the agents do not. */
export function keepForAgents(
  resolved: ResolvedActivity,
  draft: (agent: string) => Omit<Partial<IntakeDraft>, 'kind' | 'parts'> & Pick<IntakeDraft, 'kind' | 'parts'>,
): Intake[] {
  return resolved.agents.map(agent =>
    toIntake(resolved, { ...draftAct(resolved, agent), disposition: 'keep', ...draft(agent) }),
  )
}

/** Between this actor and an agent, outside of any conversation. */
function inThreadWith({ named: { actor } }: ResolvedActivity) {
  return { thread_id: actor.id, thread: { scope: actor.id, references: [] } }
}

/** The verified actor as the sender of a message to `recipient`. `language` (BCP 47) is what the message is written in. */
function toSender(named: NamedActivity, recipient: string, language: string | undefined): Sender {
  const { actor, address, keyId, objectKeyId = '' } = named
  return {
    // A host that does not confirm the name gets this one, which no confirmed name can be; the actor's IRI is in the evidence.
    address: address ?? `@~unconfirmed@${actor.host}`,
    ...(actor.name && { display_name: actor.name }),
    profile: toProfile(named, language),
    auth_method: keyId ? 'ap-http-signature' : 'ap-object-integrity-proof',
    verified: true,
    key_id: keyId ?? objectKeyId,
    identities: toEvidence(named, recipient),
  }
}

/** A piece for the request, unless another server signed it, and one for the document when it carries a proof of its own. */
function toEvidence({ actor, keyId, objectKeyId, receivedAt }: ProvenActivity, audience: string): IdentityEvidence[] {
  const said = {
    subject: actor.id,
    issuer: actor.host,
    assurance: 'address',
    audience,
    issuedAt: isoTime(receivedAt),
  } as const
  const mint = (method: 'ap-http-signature' | 'ap-object-integrity-proof', id: string | undefined) =>
    id ? [mintTransportEvidence({ ...said, method, keyId: id })] : []
  return [...mint('ap-http-signature', keyId), ...mint('ap-object-integrity-proof', objectKeyId)]
}

function toProfile({ actor, address }: NamedActivity, language: string | undefined): SenderProfile {
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

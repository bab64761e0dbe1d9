// Normalizes proven activities into messages for agents and notices for the operator.
import type { IdentityEvidence, Part, Sender, SenderProfile, Visibility } from '@postern/message'
import { agentFlag, createTransportEvidence, isoTime } from '@postern/message'
import type { AgentDirectory, AuthoredMessage, Intake, Withdrawal } from '@postern/pipeline'
import { isBlockedPart } from './domains/blocklist.ts'
import { isReadablePost } from './format/check-post.ts'
import type { JsonObject } from './format/json-object.ts'
import { asObject, idOf, idsOf, listOf, textOf, typeOf } from './format/json-object.ts'
import { findAgentName } from './format/own-iris.ts'
import type { ReplyTarget } from './format/post-data.ts'
import { readReplyTarget, toStoredJson } from './format/targets.ts'
import { chooseNarrower, isReadableByEveryone, readVisibility } from './format/visibility.ts'
import { isPublicCollection } from './format/vocabulary.ts'
import type { NormalizedNote } from './html/read-note.ts'
import { normalizeNote } from './html/read-note.ts'
import type { ActivityKind, ResolvedActivity, ResolvedInboxRequest } from './inbox/activity-kind.ts'
import { isUnderstood } from './inbox/activity-kind.ts'
import type { NamedActivity, ProvenActivity } from './proofs/proven-activity.ts'
import { activityPubDescriptor } from './speaker.ts'

/** Returns the messages for the agents concerned, and the notices for the operator. It is pure. */
export function normalizeInboxRequest(request: ResolvedInboxRequest): readonly Intake[] {
  return isUnderstood(request) ? request.kind.toIntakes(request.resolved) : []
}

/** Lists the withdrawals of the author. A deleted actor withdraws everything. It is pure. */
export function readWithdrawals(request: ResolvedInboxRequest): readonly Withdrawal[] {
  if (request === 'ignored' || 'unused' in request) return []
  if ('deletedActor' in request) return [{ kind: 'forget_peer', peer: request.deletedActor }]
  return request.kind.listWithdrawals?.(request.resolved) ?? []
}

/**
 * Handles a new post, which goes to each agent that it addresses or mentions. A second `Create` of a post has no effect, so it cannot widen the
 * audience (CVE-2024-37903).
 */
export const create: ActivityKind = {
  async find({ activity, actor }, { agents, store, fetchCreatedPost }) {
    const embedded = asObject(activity.json.object)
    // A post that is only named by its IRI is fetched only if it is for an agent of this gateway.
    const isReferenceForAgents = !embedded && findAddressedAgents(activity.json, {}, agents).length > 0
    const createdPost = isReferenceForAgents ? await fetchCreatedPost(activity) : undefined
    const post = createdPost ?? (isReadablePost(embedded) ? embedded : undefined)
    const object = idOf(post)
    if (!post || !object) return undefined
    const addressedAgents = findAddressedAgents(activity.json, post, agents)
    if (addressedAgents.length === 0) return undefined
    const messages = await store.findAuthored('activitypub', { author: actor.id, object })
    const notifiedAgents = messages.filter(({ id }) => id !== activity.id).map(({ agent }) => agent)
    return { agents: addressedAgents.filter(name => !notifiedAgents.includes(name)), createdPost }
  },
  toIntakes: resolved => resolved.agents.map(agent => toPostIntake(resolved, agent)),
}

/** Finds the agents that an activity and its object address (`to`, `cc` and the like) or mention. */
export function findAddressedAgents(activity: JsonObject, post: JsonObject, agents: AgentDirectory): readonly string[] {
  const names = listAudience(activity, post).flatMap(iri => findAgentName(iri, agents) ?? [])
  return [...new Set(names)]
}

/** Lists the IRIs that an activity and its post are for, and those that the post mentions. */
export function listAudience(activity: JsonObject, post: JsonObject): readonly string[] {
  const audience = [activity, post].flatMap(json =>
    ['to', 'cc', 'bto', 'bcc', 'audience'].flatMap(field => idsOf(json[field])),
  )
  const mentions = listOf(post.tag)
    .map(asObject)
    .flatMap(tag => (tag?.type === 'Mention' ? (idOf(tag.href) ?? []) : []))
  return [...audience, ...mentions]
}

/** Reads a post as a message to an agent. The post must have an id. `earlierMessage` is the stored post that this one changes. It is pure. */
export function toPostIntake(resolved: ResolvedActivity, agent: string, earlierMessage?: AuthoredMessage): Intake {
  const { activity } = resolved.proven
  const post = resolved.createdPost ?? asObject(activity.json.object) ?? {}
  const note = normalizeNote(post, listOwnMentions(resolved))
  const object = idOf(post) ?? activity.id
  const visibility = chooseVisibility(resolved, post, earlierMessage)
  const flags = [
    ...(note.hasHiddenText ? ['hidden_text'] : []),
    ...(mentionsTooMany(resolved, post) ? ['mass_mention'] : []),
  ]
  return toIntake(resolved, {
    agent,
    // Quoted posts, links and files of blocked hosts are left out.
    parts: note.parts.filter(part => !isBlockedPart(part, resolved.gateway.isBlocked)),
    object,
    audience: visibility,
    target: toReplyTarget({ resolved, post, note, object, visibility }),
    language: note.language,
    ...(!earlierMessage && { sentAt: Date.parse(textOf(post.published) ?? '') }),
    ...(earlierMessage ? keepThread(earlierMessage, object) : createThread(resolved, post, { object, visibility })),
    ...(flags.length > 0 && { flags }),
    ...(flags.includes('mass_mention') && { disposition: 'keep' }),
  })
}

type ThreadFields = Pick<IntakeDraft, 'kind' | 'thread_source' | 'in_reply_to' | 'thread'>

function createThread(
  resolved: ResolvedActivity,
  post: JsonObject,
  { object, visibility }: { readonly object: string; readonly visibility: Visibility },
): ThreadFields {
  const inReplyTo = idOf(post.inReplyTo)
  // A chat has no threads, because all its messages are one conversation.
  if (!inReplyTo && typeOf(post) === 'ChatMessage') return { kind: 'message', ...joinActorThread(resolved) }
  return {
    kind: 'message',
    thread_source: idOf(post.context) ?? idOf(post.conversation) ?? inReplyTo ?? object,
    in_reply_to: inReplyTo,
    thread: {
      ...(isReadableByEveryone(visibility)
        ? { scope: 'public', begunBy: resolved.proven.actor.id }
        : { scope: resolved.proven.actor.id }),
      references: inReplyTo ? [inReplyTo] : [],
    },
  }
}

/** Keeps an edited post in its thread, regardless of the thread that it declares now. `in_reply_to` names the changed post. */
function keepThread(earlierMessage: AuthoredMessage, object: string): ThreadFields {
  return { kind: 'edit', in_reply_to: object, ...joinThread(earlierMessage, object) }
}

function listOwnMentions({ agents: names, gateway: { agents } }: ResolvedActivity) {
  return {
    isOwnMention: (href: string) => findAgentName(href, agents) !== undefined,
    addresses: names.flatMap(name => [...listHosts(agents)].map(host => `@${name}@${host}`)),
  }
}

/** Returns the hosts by which an agent is known: the domain of its handle and the host of its actor. */
function listHosts({ domain, origin }: AgentDirectory): ReadonlySet<string> {
  return new Set([domain, new URL(origin).hostname])
}

/** Returns true if a post mentions so many people at once that it is for no one in particular. */
function mentionsTooMany(
  { proven: { activity, actor }, gateway: { maxMentions } }: ResolvedActivity,
  post: JsonObject,
): boolean {
  const people = new Set(
    listAudience(activity.json, post).filter(iri => !isPublicCollection(iri) && iri !== actor.followers),
  )
  return people.size > maxMentions
}

/** Returns the narrowest of three audiences: the activity's, the object's and the earlier one. */
function chooseVisibility(
  { proven: { activity, actor } }: ResolvedActivity,
  post: JsonObject,
  earlierMessage?: AuthoredMessage,
): Visibility {
  const activityVisibility = readVisibility(activity.json, actor.followers)
  const postVisibility = readVisibility(post, actor.followers)
  const declaredVisibility = chooseNarrower(
    activityVisibility ?? postVisibility ?? 'direct',
    postVisibility ?? activityVisibility ?? 'direct',
  )
  return earlierMessage
    ? chooseNarrower(readReplyTarget(earlierMessage.target).visibility, declaredVisibility)
    : declaredVisibility
}

interface ReplyTargetSource {
  readonly resolved: ResolvedActivity
  readonly post: JsonObject
  readonly note: NormalizedNote
  readonly object: string
  readonly visibility: Visibility
}

function toReplyTarget({ resolved, post, note, object, visibility }: ReplyTargetSource): ReplyTarget {
  const { actor, address } = resolved.proven
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

/** The content of the message for one agent. */
interface IntakeDraft
  extends Pick<Intake, 'agent' | 'audience' | 'flags' | 'deliveries' | 'effects'>,
    Partial<Pick<Intake, 'disposition'>> {
  readonly kind: NonNullable<Intake['message']['kind']>
  readonly parts: readonly Part[]
  readonly thread_source: string
  readonly in_reply_to?: string | undefined
  readonly thread: Intake['thread']
  /** The object of the message, by its IRI or by the IRI of the activity itself. */
  readonly object: string
  readonly target: ReplyTarget
  /** The time at which the author published it, in ms since the epoch. Absent if unknown. */
  readonly sentAt?: number | undefined
  readonly language?: string | undefined
}

/** Completes a draft to an intake. It is pure. */
export function toIntake(resolved: ResolvedActivity, draft: IntakeDraft): Intake {
  const { activity, actor, proofs, bytes, arrival, receivedAt } = resolved.proven
  const { agent, kind, parts, thread_source, in_reply_to, thread, object, target, language, ...otherFields } = draft
  const recipient = `@${agent}@${resolved.gateway.agents.domain}`
  return {
    agent,
    message: {
      id: activity.id,
      thread_source,
      ...(in_reply_to && { in_reply_to }),
      sender: toSender(resolved.proven, recipient, language),
      recipient,
      parts: [...parts],
      recipient_capabilities: { mention_relay: activityPubDescriptor.mentionRelay },
      received_via: 'activitypub',
      received_at: isoTime(receivedAt),
      kind,
    },
    // The id contains its origin, which is the actor's origin, or the activity would not have been proven.
    duplicateKey: activity.id,
    thread,
    aliases: object === activity.id ? [] : [object],
    authorship: { author: actor.id, object },
    proofs,
    arrival,
    raw: { bytes, form: 'json' },
    target: toStoredJson(target),
    disposition: 'answer',
    quota: actor.isAutomated ? resolved.gateway.quotas.machines : resolved.gateway.quotas.people,
    ...otherFields,
    ...(actor.isAutomated && { flags: [...(otherFields.flags ?? []), agentFlag] }),
  }
}

/** Returns the parts that report an event in one sentence, with a link to its subject. */
export function createEventParts(
  sentence: string,
  subject?: { readonly url: string; readonly title: string },
): readonly Part[] {
  const textPart: Part = { kind: 'text', mime: 'text/plain', content: sentence }
  return subject ? [textPart, { kind: 'link', ...subject }] : [textPart]
}

/** Creates the target for an answer to an activity that is not a post. Only the sender reads the answer, which refers to `object` if there is one. */
export function createActorTarget({ proven: { actor, address } }: ResolvedActivity, object?: string): ReplyTarget {
  const { id, url, inbox, sharedInbox } = actor
  return { actor: id, address, url, inbox, sharedInbox, object, visibility: 'direct' }
}

/** Places a message in the thread of an earlier message. */
export function joinThread(
  { thread_source, scope }: Pick<AuthoredMessage, 'thread_source' | 'scope'>,
  reference: string,
) {
  return { thread_source, thread: { scope, references: [reference] } }
}

/** Drafts the members that all messages about an event outside of any conversation share. */
export function draftEvent(resolved: ResolvedActivity, agent: string): Omit<IntakeDraft, 'kind' | 'parts'> {
  return {
    agent,
    ...joinActorThread(resolved),
    object: resolved.proven.activity.id,
    target: createActorTarget(resolved),
  }
}

/** Returns one intake for each agent. The operator sees it, and the agent does not. */
export function createHiddenIntakes(
  resolved: ResolvedActivity,
  draftFor: (agent: string) => Omit<Partial<IntakeDraft>, 'kind' | 'parts'> & Pick<IntakeDraft, 'kind' | 'parts'>,
): Intake[] {
  return resolved.agents.map(agent =>
    toIntake(resolved, { ...draftEvent(resolved, agent), disposition: 'keep', ...draftFor(agent) }),
  )
}

/** Places a message in the thread between this actor and an agent, outside of any conversation. */
function joinActorThread({ proven: { actor } }: ResolvedActivity) {
  return { thread_source: actor.id, thread: { scope: actor.id, references: [] } }
}

/** Returns the verified actor as the sender of a message to `recipient`. `language` (BCP 47) is the language of the message. */
function toSender(activity: NamedActivity, recipient: string, language: string | undefined): Sender {
  const { actor, address, keyId, objectKeyId = '' } = activity
  return {
    // If the host does not confirm the name, the address has a name that can never be confirmed. The evidence contains the actor's IRI.
    address: address ?? `@~unconfirmed@${actor.host}`,
    ...(actor.name && { display_name: actor.name }),
    profile: toProfile(activity, language),
    auth_method: keyId ? 'ap-http-signature' : 'ap-object-integrity-proof',
    verified: true,
    key_id: keyId ?? objectKeyId,
    identities: toEvidence(activity, recipient),
  }
}

/** Returns the evidence: one item for the request, unless another server signed it, and one for the document if it has a proof of its own. */
function toEvidence({ actor, keyId, objectKeyId, receivedAt }: ProvenActivity, audience: string): IdentityEvidence[] {
  const evidenceFields = {
    subject: actor.id,
    issuer: actor.host,
    assurance: 'address',
    audience,
    issuedAt: isoTime(receivedAt),
  } as const
  const createEvidence = (method: 'ap-http-signature' | 'ap-object-integrity-proof', id: string | undefined) =>
    id ? [createTransportEvidence({ ...evidenceFields, method, keyId: id })] : []
  return [...createEvidence('ap-http-signature', keyId), ...createEvidence('ap-object-integrity-proof', objectKeyId)]
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

import type { AgentDirectory, Intake, KnownMessage, Visibility } from '@postern/core'
import type { JsonObject } from '../../format/reading.ts'
import { asObject, idOf, idsOf, listOf, textOf, typeOf } from '../../format/reading.ts'
import type { ReplyTarget } from '../../format/reply-target.ts'
import { readReplyTarget } from '../../format/reply-target.ts'
import { isOpen, narrower, readVisibility } from '../../format/visibility.ts'
import { isPublic } from '../../format/vocabulary.ts'
import { isBlockedPart } from '../../peers/blocklist.ts'
import type { NoteReading } from '../../posts/note-reading.ts'
import { readNote } from '../../posts/note-reading.ts'
import type { ResolvedActivity } from '../activity-kind.ts'
import type { IntakeDraft } from '../intake.ts'
import { inThreadOf, inThreadWith, toIntake } from '../intake.ts'
import { findAgentName } from '../own-post.ts'

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

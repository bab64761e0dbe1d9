import type { Intake, KnownMessage, RelationEffect, RelationKind } from '@postern/core'
import { asObject, findAgentName, idOf, isOnOrigin, onlyOf, readReplyTarget, typeOf } from '../../format/document.ts'
import { draftAct, inThreadOf, targetActor, tellEvent, toIntake } from '../../normalize.ts'
import type { ProvenActivity } from '../../proofs/proven-activity.ts'
import type { ActivityKind, Findings, Lookups, ResolvedActivity } from '../activity-kind.ts'
import { endRelation } from './follow.ts'

/**
 * An actor reverses an earlier activity toward an agent, embedded or by its id. Only remembered activities can be
 * undone.
 */
export const undo: ActivityKind = {
  async find(proven, lookups) {
    const undone = readUndone(proven)
    if (!undone) return undefined
    return (await findById(undone.id, proven, lookups)) ?? (await findByRelation(undone, proven, lookups))
  },
  read(resolved) {
    const { agents, known, undone } = resolved
    const tell = undone && intakeDrafts.get(undone)
    if (!tell) return []
    return agents.map(agent =>
      tell(
        resolved,
        agent,
        known.find(message => message.agent === agent),
      ),
    )
  },
}

/** An actor can undo only its own activities (CVE-2025-30741). `type`: only where it is embedded. */
function readUndone({ activity, actor }: ProvenActivity) {
  const embedded = asObject(activity.json.object)
  const id = idOf(activity.json.object)
  const isOwn = embedded?.actor === undefined || idOf(onlyOf(embedded.actor)) === actor.id
  if (!isOwn || (id && !isOnOrigin(id, activity.actor.origin))) return undefined
  return { id, type: typeOf(embedded), object: idOf(embedded?.object) }
}

async function findById(
  id: string | undefined,
  { actor }: ProvenActivity,
  { store }: Lookups,
): Promise<Findings | undefined> {
  const known = id ? await store.findAuthored('activitypub', { author: actor.id, object: id }) : []
  const undone = known[0] && readReplyTarget(known[0].target).event
  return undone ? { known, undone, agents: [...new Set(known.map(({ agent }) => agent))] } : undefined
}

/** Some servers forget the id of an activity but still describe it. */
async function findByRelation(
  { type, object }: NonNullable<ReturnType<typeof readUndone>>,
  { actor }: ProvenActivity,
  { agents, store }: Lookups,
): Promise<Findings | undefined> {
  const agent = findAgentName(object ?? '', agents)
  if (!type || !agent) return undefined
  const key = { via: 'activitypub', agent, peer: actor.id } as const
  const found = await Promise.all(
    (relationsBy.get(type) ?? []).map(relation => store.findRelation({ ...key, relation })),
  )
  return found.some(Boolean) ? { agents: [agent], undone: type } : undefined
}

const relationsBy: ReadonlyMap<string, readonly RelationKind[]> = new Map([
  ['Follow', ['follower', 'pending']],
  ['Block', ['blocked_by']],
])

type Tell = (resolved: ResolvedActivity, agent: string, earlier: KnownMessage | undefined) => Intake

const intakeDrafts: ReadonlyMap<string, Tell> = new Map([
  ['Follow', tellUnfollow],
  ['Block', tellUnblock],
  ['Like', tellTakenBack],
  ['EmojiReact', tellTakenBack],
  ['Announce', tellTakenBack],
])

function tellUnfollow(resolved: ResolvedActivity, agent: string, earlier: KnownMessage | undefined): Intake {
  return toIntake(resolved, {
    ...draftAct(resolved, agent),
    kind: 'unfollow',
    parts: tellEvent('No longer follows you'),
    effects: [endRelation(resolved, 'follower'), endRelation(resolved, 'pending'), ...reopen(earlier)],
    ...(earlier?.isKept && { disposition: 'keep' }),
  })
}

function tellUnblock(resolved: ResolvedActivity, agent: string, earlier: KnownMessage | undefined): Intake {
  return toIntake(resolved, {
    ...draftAct(resolved, agent),
    kind: 'message',
    parts: tellEvent('Lifts the block'),
    disposition: 'keep',
    flags: ['unblocked'],
    effects: [{ kind: 'unrelate', relation: 'blocked_by', peer: resolved.named.actor.id }, ...reopen(earlier)],
  })
}

function tellTakenBack(resolved: ResolvedActivity, agent: string, earlier: KnownMessage | undefined): Intake {
  const post = earlier && readReplyTarget(earlier.target).object
  return toIntake(resolved, {
    ...draftAct(resolved, agent),
    kind: 'reaction',
    parts: tellEvent('Took back the reaction', post ? { url: post, title: 'Post' } : undefined),
    ...(earlier && post && { in_reply_to: post, ...inThreadOf(earlier, post) }),
    target: targetActor(resolved, post),
    effects: reopen(earlier),
  })
}

/** Some servers give the same id to what is done again (Misskey's follows). */
function reopen(earlier: KnownMessage | undefined): readonly RelationEffect[] {
  return earlier ? [{ kind: 'reopen', author: earlier.author, object: earlier.object }] : []
}

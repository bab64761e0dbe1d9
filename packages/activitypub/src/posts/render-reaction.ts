import { hash } from 'node:crypto'
import type { Json, Reaction } from '@postern/core'
import { agentIris } from '../format/own-iris.ts'
import type { ReplyTarget } from '../format/reply-target.ts'
import { activityStreams, publicCollection } from '../format/vocabulary.ts'

export interface Reacted {
  readonly origin: string
  readonly agent: string
  readonly target: ReplyTarget & { readonly object: string }
  /** ISO 8601 UTC. */
  readonly at: string
}

type ActivityMembers = { readonly [name: string]: Json }

/** The activity of a reaction. Its id follows from what it is to, so that doing it twice is doing it once. Pure. */
export function renderReaction(reaction: Reaction, reacted: Reacted): Json {
  return { '@context': activityStreams, ...renderers[reaction](reacted) }
}

const renderers: { readonly [R in Reaction]: (reacted: Reacted) => ActivityMembers } = {
  like: renderLike,
  boost: renderBoost,
  unlike: reacted => undo(renderLike(reacted), reacted),
  unboost: reacted => undo(renderBoost(reacted), reacted),
}

function renderLike({ origin, agent, target }: Reacted): ActivityMembers {
  const { actor } = agentIris(origin, agent)
  return {
    id: `${actor}/likes/${nameOf(target.object)}`,
    type: 'Like',
    actor,
    to: [target.actor],
    object: target.object,
  }
}

function renderBoost({ origin, agent, target, at }: Reacted): ActivityMembers {
  const { actor, followers } = agentIris(origin, agent)
  const id = `${actor}/boosts/${nameOf(target.object)}`
  const audience = { to: [publicCollection], cc: [followers, target.actor] }
  return { id, type: 'Announce', actor, published: at, ...audience, object: target.object }
}

/** Servers that have forgotten the id can find it by its members. */
function undo({ '@context': _, ...done }: ActivityMembers, { at }: Reacted): ActivityMembers {
  const { id, actor = null, to = [], cc = [] } = done
  return { id: `${String(id)}/undo/${Date.parse(at)}`, type: 'Undo', actor, to, cc, object: done }
}

function nameOf(object: string): string {
  return hash('sha256', object).slice(0, 32)
}

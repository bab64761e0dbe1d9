// Renders an agent's reaction as an activity: `Like`, `Announce`, or the `Undo` of one of them.
import { hash } from 'node:crypto'
import type { Json, Reaction } from '@postern/message'
import { agentIris } from '../format/own-iris.ts'
import type { ReplyTarget } from '../format/post-data.ts'
import { activityStreams, publicCollection } from '../format/vocabulary.ts'

/** A reaction to a post, and the agent that reacts. */
interface ReactionContext {
  readonly origin: string
  readonly agent: string
  readonly target: ReplyTarget & { readonly object: string }
  /** The time of the reaction, ISO 8601 UTC. */
  readonly at: string
}

type ActivityMembers = { readonly [name: string]: Json }

/** Renders the activity of a reaction. Its id follows from its object, so that a repeated reaction is the same activity. It is pure. */
export function renderReaction(reaction: Reaction, context: ReactionContext): Json {
  return { '@context': activityStreams, ...renderersByReaction[reaction](context) }
}

const renderersByReaction: { readonly [R in Reaction]: (context: ReactionContext) => ActivityMembers } = {
  like: renderLike,
  boost: renderBoost,
  unlike: context => renderUndo(renderLike(context), context),
  unboost: context => renderUndo(renderBoost(context), context),
}

function renderLike({ origin, agent, target }: ReactionContext): ActivityMembers {
  const { actor } = agentIris(origin, agent)
  return {
    id: `${actor}/likes/${digestObject(target.object)}`,
    type: 'Like',
    actor,
    to: [target.actor],
    object: target.object,
  }
}

function renderBoost({ origin, agent, target, at }: ReactionContext): ActivityMembers {
  const { actor, followers } = agentIris(origin, agent)
  const id = `${actor}/boosts/${digestObject(target.object)}`
  const audience = { to: [publicCollection], cc: [followers, target.actor] }
  return { id, type: 'Announce', actor, published: at, ...audience, object: target.object }
}

/** Renders the `Undo` of an activity with all its members, so that servers that have lost its id can still find it. */
function renderUndo({ '@context': _, ...activity }: ActivityMembers, { at }: ReactionContext): ActivityMembers {
  const { id, actor = null, to = [], cc = [] } = activity
  return { id: `${String(id)}/undo/${Date.parse(at)}`, type: 'Undo', actor, to, cc, object: activity }
}

function digestObject(object: string): string {
  return hash('sha256', object).slice(0, 32)
}

// Tracks follows between actors and agents, because a server passes its shared inbox on to the followers among its actors.
import type { SentActivity } from './actors/activity.ts'
import type { SimActor } from './actors/actor.ts'
import type { ReceivedActivity } from './inbox.ts'

export interface Follows {
  /** Records an activity that an actor has sent, if it is a follow or undoes one. */
  note(follower: SimActor, activity: SentActivity): void
  /** Returns true if the agent has accepted the follow with this id. */
  isAccepted(follow: string): boolean
  /** Returns true if an activity that a host received belongs in this actor's inbox. */
  reaches(received: ReceivedActivity, actor: SimActor): boolean
}

/** Creates the record of follows. `received` holds everything that arrived at an inbox. */
export function createFollows(received: readonly ReceivedActivity[]): Follows {
  /** The ids of follows, by the follower's address. */
  const sent = new Map<string, Set<string>>()
  const isAnswer = (type: string, id: string, { verified, activity }: ReceivedActivity) =>
    verified && activity.type === type && idOf(activity.object) === id
  const isAccepted = (id: string) => received.some(each => isAnswer('Accept', id, each))
  const isFollowing = (actor: SimActor, author: unknown) =>
    [...(sent.get(actor.address) ?? [])].some(id =>
      received.some(each => isAnswer('Accept', id, each) && each.activity.actor === author),
    )
  return {
    note({ address }, { type, id, object }) {
      const own = sent.get(address) ?? new Set()
      if (type === 'Follow') own.add(id)
      else if (type === 'Undo') own.delete(idOf(object) ?? '')
      sent.set(address, own)
    },
    isAccepted,
    reaches({ host, inbox, activity }, actor) {
      if (host !== actor.host) return false
      if (inbox === new URL(`${actor.id}/inbox`).pathname) return true
      return listAudience(activity).includes(actor.id) || isFollowing(actor, activity.actor)
    },
  }
}

function idOf(object: unknown): string | undefined {
  const id = typeof object === 'object' && object !== null && 'id' in object ? object.id : object
  return typeof id === 'string' ? id : undefined
}

function listAudience({ to, cc }: ReceivedActivity['activity']): readonly unknown[] {
  return [to, cc].flat()
}

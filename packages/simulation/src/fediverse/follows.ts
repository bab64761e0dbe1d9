// Tracks which actors follow which agents, because a server passes its shared inbox on to the followers among its actors.
import type { SimActivity } from './actors/activity.ts'
import type { SimActor } from './actors/actor.ts'
import type { ReceivedActivity } from './inbox.ts'

export interface Follows {
  /** Records an activity of an actor, if it is a follow or undoes a follow. */
  record(follower: SimActor, activity: SimActivity): void
  /** Returns true if the agent has accepted the follow with this id. */
  isAccepted(follow: string): boolean
  /** Returns true if an activity that a host received belongs in this actor's inbox. */
  reaches(receivedActivity: ReceivedActivity, actor: SimActor): boolean
}

/** Creates the record of follows. `receivedActivities` holds everything that arrived at an inbox. */
export function createFollows(receivedActivities: readonly ReceivedActivity[]): Follows {
  /** The ids of follows, by the follower's address. */
  const followIds = new Map<string, Set<string>>()
  const isAnswer = (type: string, id: string, { verified, activity }: ReceivedActivity) =>
    verified && activity.type === type && idOf(activity.object) === id
  const isAccepted = (id: string) => receivedActivities.some(answer => isAnswer('Accept', id, answer))
  const isFollowing = (actor: SimActor, author: unknown) =>
    [...(followIds.get(actor.address) ?? [])].some(id =>
      receivedActivities.some(answer => isAnswer('Accept', id, answer) && answer.activity.actor === author),
    )
  return {
    record({ address }, { type, id, object }) {
      const ids = followIds.get(address) ?? new Set()
      if (type === 'Follow') ids.add(id)
      else if (type === 'Undo') ids.delete(idOf(object) ?? '')
      followIds.set(address, ids)
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

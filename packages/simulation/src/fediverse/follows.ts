// Follows between actors and agents: servers hand what comes to their shared inbox on to their own followers.
import type { SentActivity } from './actors/activity.ts'
import type { SimActor } from './actors/actor.ts'
import type { ReceivedActivity } from './inbox.ts'

export interface Follows {
  /** Notes what an actor has sent, if it is a follow or takes one back. */
  note(follower: SimActor, activity: SentActivity): void
  /** Returns true if the follow of this actor, by its id, is accepted. */
  isAccepted(follow: string): boolean
  /** Returns true if an activity that came to a host belongs into the inbox of this actor. */
  reaches(received: ReceivedActivity, actor: SimActor): boolean
}

/** Creates the follows. `received`: everything that came to an inbox. */
export function createFollows(received: readonly ReceivedActivity[]): Follows {
  /** Ids of follows, by the address of who follows. */
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

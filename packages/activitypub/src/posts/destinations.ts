// Lists the inboxes and people that a post goes to, and plans a delivery to each.

import type { PlannedDelivery } from '@postern/pipeline'
import { activityIri, pieceId } from '../format/own-iris.ts'
import type { DeliveryDestination, DeliveryTarget, ReplyTarget } from '../format/post-data.ts'
import { toStoredJson } from '../format/targets.ts'
import type { ChosenMentions } from '../text/select-mentions.ts'

/** The destination of one post. */
export interface Destination {
  readonly to: string
  readonly peer?: string | undefined
  readonly target: DeliveryDestination
}

/** Returns the destinations of a response: its author's inbox, and the people it mentions. */
export function listReplyDestinations(
  reply: ReplyTarget,
  mentions: ChosenMentions,
  { isPublic }: { readonly isPublic: boolean },
): readonly Destination[] {
  // The shared inbox is for posts that everyone on that server may see.
  const inbox = (isPublic ? reply.sharedInbox : undefined) ?? reply.inbox
  const authorDestinations: Destination[] = inbox
    ? [{ to: inbox, peer: reply.actor, target: { inbox, peer: reply.actor } }]
    : []
  return [...authorDestinations, ...listMentionDestinations(mentions)]
}

export function listMentionDestinations({
  chosenMentions: chosen,
  textMentions: named,
}: ChosenMentions): readonly Destination[] {
  return [
    ...chosen.map(mention => ({ to: mention, target: { mention } })),
    ...named.map(mention => ({ to: mention, target: { mention, isNamed: true } as const })),
  ]
}

/**
 * Plans the deliveries of the pieces to each destination in order, so that the server already knows the post that the next piece answers.
 * `overrides` are further members of each delivery target.
 */
export function planPieceDeliveries(
  pieces: number,
  destinations: readonly Destination[],
  overrides: Partial<DeliveryTarget> = {},
): readonly PlannedDelivery[] {
  return Array.from({ length: pieces }, (_, piece) =>
    destinations.map(({ to, peer, target }) => {
      const json = toStoredJson({ ...target, ...(piece > 0 && { piece }), ...overrides } as DeliveryTarget)
      return { to, ...(peer && { peer }), target: json }
    }),
  ).flat()
}

export function listPostAliases(post: string, pieces: number): readonly string[] {
  const posts = Array.from({ length: pieces }, (_, piece) => pieceId(post, piece))
  return posts.flatMap(iri => [iri, activityIri(iri)])
}

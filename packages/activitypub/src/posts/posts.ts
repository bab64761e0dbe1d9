// Finds the posts of an agent by their ids, and decides whom each was addressed to.
import type { ShowRequirement, Visibility } from '@postern/message'
import { Rejection } from '@postern/message'
import type { FoundResponse, LookupStore } from '@postern/pipeline'
import { parsePieceId } from '../format/own-iris.ts'
import { readRendering } from '../format/targets.ts'
import type { RemoteActor } from '../peers/actor-document.ts'
import { ignoreFaults } from '../peers/peer-faults.ts'
import { findCalled, ownNames } from '../text/called-people.ts'
import type { Handles } from '../webfinger/handles.ts'
import { partsOfPiece } from './pieces.ts'
import { presentPost } from './present-post.ts'
import type { Answered } from './render-post.ts'

export interface PostsDeps {
  readonly store: Pick<LookupStore, 'findResponse'>
  readonly handles: Pick<Handles, 'recall' | 'confirm'>
  readonly origin: string
  readonly fileAddress: Answered['fileAddress']
  readonly showRequirement?: ShowRequirement | undefined
}

/** An own post and the check of its readers. */
export interface FoundPost {
  readonly answered: Answered
  readonly visibility: Visibility
  /** The time at which the post was withdrawn, ISO 8601 UTC. Undefined if it was not. */
  readonly retractedAt: string | undefined
  /** Returns true if the post was addressed to this actor. */
  isFor(reader: RemoteActor): Promise<boolean>
}

export async function findPost(
  agent: string,
  id: string,
  { store, handles, ...gateway }: PostsDeps,
): Promise<FoundPost | undefined> {
  const { responseId, piece } = parsePieceId(id)
  const stored = await store.findResponse(responseId)
  if (!stored || stored.agent !== agent || stored.via !== 'activitypub') return undefined
  const { message, editedAt, retractedAt } = stored
  const answered = toAnswered(stored, gateway)
  const { response, rendering } = answered
  const { reply, visibility } = rendering
  if (piece >= rendering.pieces) return undefined
  const reached = { own: ownNames(agent, message.recipient, gateway.origin), author: reply?.address }
  const { chosen, named } = findCalled(response, rendering, reached)
  const recipients = [...chosen, ...named]
  const mentions = recipients.flatMap(name => {
    const href = handles.recall(name)
    return href ? [{ href, name, url: href }] : []
  })
  const isLeft = partsOfPiece(response.parts, rendering, piece) !== undefined
  return {
    answered: { ...answered, piece, mentions },
    visibility,
    retractedAt: retractedAt ?? (isLeft ? undefined : editedAt),
    async isFor(reader) {
      if (reader.id === reply?.actor) return true
      if (recipients.length === 0) return false
      // The reader is compared by name, because the look-up of the mentioned people is lost when the process ends. An actor with a name on a blocked
      // domain is no addressee.
      const address = await ignoreFaults([Rejection], () => handles.confirm(reader))
      return address !== undefined && recipients.includes(address)
    },
  }
}

/** Returns a response as it is published. */
export function toAnswered(
  { response, message, target, agent, rendering: json, editedAt }: FoundResponse,
  { origin, fileAddress, showRequirement }: Pick<PostsDeps, 'origin' | 'fileAddress' | 'showRequirement'>,
): Answered {
  const rendering = readRendering(json, target, response)
  const shown = presentPost(response, message, rendering, showRequirement)
  return { origin, agent, response: shown, rendering, editedAt, fileAddress }
}

// Finds the posts of an agent by their ids, and checks whether a reader is an addressee.
import type { ShowRequirement, Visibility } from '@postern/message'
import { Rejection } from '@postern/message'
import type { LookupStore, ResponseRecord } from '@postern/pipeline'
import { parsePieceId } from '../format/own-iris.ts'
import { readRendering } from '../format/targets.ts'
import type { RemoteActor } from '../peers/actor-document.ts'
import { ignoreFaults } from '../peers/peer-faults.ts'
import { listOwnAddresses, selectMentions } from '../text/select-mentions.ts'
import type { Handles } from '../webfinger/handles.ts'
import { findPartsOfPiece } from './pieces.ts'
import { presentPost } from './present-post.ts'
import type { PublishedResponse } from './render-post.ts'

export interface PostsDeps {
  readonly store: Pick<LookupStore, 'findResponse'>
  readonly handles: Pick<Handles, 'findResolved' | 'confirm'>
  readonly origin: string
  readonly fileAddress: PublishedResponse['fileAddress']
  readonly showRequirement?: ShowRequirement | undefined
}

/** A post of an agent, and the check of its readers. */
export interface OwnPostView {
  readonly publishedResponse: PublishedResponse
  readonly visibility: Visibility
  /** The time at which the post was withdrawn, ISO 8601 UTC. Undefined if it was not. */
  readonly retractedAt: string | undefined
  /** Returns true if the post was addressed to this actor. */
  isAddressedTo(reader: RemoteActor): Promise<boolean>
}

export async function findPost(
  agent: string,
  id: string,
  { store, handles, ...renderDeps }: PostsDeps,
): Promise<OwnPostView | undefined> {
  const { responseId, piece } = parsePieceId(id)
  const storedResponse = await store.findResponse(responseId)
  if (!storedResponse || storedResponse.agent !== agent || storedResponse.via !== 'activitypub') return undefined
  const { message, editedAt, retractedAt } = storedResponse
  const publishedResponse = toPublishedResponse(storedResponse, renderDeps)
  const { response, rendering } = publishedResponse
  const { reply, visibility } = rendering
  if (piece >= rendering.pieces) return undefined
  const reachedPeople = {
    ownAddresses: listOwnAddresses(agent, message.recipient, renderDeps.origin),
    author: reply?.address,
  }
  const { chosenMentions: chosen, textMentions: named } = selectMentions(response, rendering, reachedPeople)
  const recipients = [...chosen, ...named]
  const mentions = recipients.flatMap(name => {
    const href = handles.findResolved(name)
    return href ? [{ href, name, url: href }] : []
  })
  const pieceExists = findPartsOfPiece(response.parts, rendering, piece) !== undefined
  return {
    publishedResponse: { ...publishedResponse, piece, mentions },
    visibility,
    retractedAt: retractedAt ?? (pieceExists ? undefined : editedAt),
    async isAddressedTo(reader) {
      if (reader.id === reply?.actor) return true
      if (recipients.length === 0) return false
      // The reader is compared by name, because the lookup of the mentioned people is lost when the process ends. An actor with a name on a blocked
      // domain is no addressee.
      const address = await ignoreFaults([Rejection], () => handles.confirm(reader))
      return address !== undefined && recipients.includes(address)
    },
  }
}

/** Returns a response as it is published. */
export function toPublishedResponse(
  { response, message, target, agent, rendering: storedRendering, editedAt }: ResponseRecord,
  { origin, fileAddress, showRequirement }: Pick<PostsDeps, 'origin' | 'fileAddress' | 'showRequirement'>,
): PublishedResponse {
  const rendering = readRendering(storedRendering, target, response)
  const presentedResponse = presentPost(response, message, rendering, showRequirement)
  return { origin, agent, response: presentedResponse, rendering, editedAt, fileAddress }
}

import type { FoundResponse, LookupStore, ShowRequirement, Visibility } from '@postern/core'
import { Rejection } from '@postern/core'
import { parsePieceId, readRendering } from '../format/document.ts'
import type { RemoteActor } from '../peers/actor-document.ts'
import type { Handles } from '../peers/known-peers.ts'
import { unless } from '../peers/look-ups.ts'
import { findCalled, ownNames } from '../words/words.ts'
import type { Answered } from './answers.ts'
import { partsOfPiece, presentPost } from './answers.ts'

export interface PostsDeps {
  readonly store: Pick<LookupStore, 'findResponse'>
  readonly handles: Pick<Handles, 'recall' | 'confirm'>
  readonly origin: string
  readonly fileAddress: Answered['fileAddress']
  readonly showRequirement?: ShowRequirement | undefined
}

/** An own post, and its readers. */
export interface FoundPost {
  readonly answered: Answered
  readonly visibility: Visibility
  /** ISO 8601 UTC: when it was withdrawn. */
  readonly retractedAt: string | undefined
  /** Whether it was addressed to this actor. */
  isFor(reader: RemoteActor): Promise<boolean>
}

export async function findPost(
  agent: string,
  id: string,
  { store, handles, ...gateway }: PostsDeps,
): Promise<FoundPost | undefined> {
  const { responseId, piece } = parsePieceId(id)
  const found = await store.findResponse(responseId)
  if (!found || found.agent !== agent || found.via !== 'activitypub') return undefined
  const { message, editedAt, retractedAt } = found
  const answered = toAnswered(found, gateway)
  const { response, rendering } = answered
  const { reply, visibility } = rendering
  if (piece >= rendering.pieces) return undefined
  const reached = { own: ownNames(agent, message.recipient, gateway.origin), author: reply?.address }
  const { chosen, named } = findCalled(response, rendering, reached)
  const others = [...chosen, ...named]
  const mentions = others.flatMap(name => {
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
      if (others.length === 0) return false
      // By name: the look-up of whom an answer mentioned is forgotten with the process. One on a blocked domain belongs to nobody.
      const address = await unless([Rejection], () => handles.confirm(reader))
      return address !== undefined && others.includes(address)
    },
  }
}

/** A response as it is published. */
export function toAnswered(
  { response, message, target, agent, rendering: json, editedAt }: FoundResponse,
  { origin, fileAddress, showRequirement }: Pick<PostsDeps, 'origin' | 'fileAddress' | 'showRequirement'>,
): Answered {
  const rendering = readRendering(json, target, response)
  const shown = presentPost(response, message, rendering, showRequirement)
  return { origin, agent, response: shown, rendering, editedAt, fileAddress }
}

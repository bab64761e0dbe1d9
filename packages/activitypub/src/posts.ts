import type { LookupDesk, Visibility } from '@postern/core'
import { Rejection } from '@postern/core'
import { othersMentioned } from './address-answer.ts'
import type { RemoteActor } from './remote-actor.ts'
import type { Answered } from './render.ts'
import { readReplyTarget } from './reply-target.ts'
import { replyVisibility } from './visibility.ts'
import type { Handles } from './webfinger.ts'

export interface PostsParts {
  readonly desk: Pick<LookupDesk, 'findResponse'>
  readonly handles: Pick<Handles, 'recall' | 'confirm'>
  readonly origin: string
}

/** A post of ours, and who may read it. */
export interface FoundPost {
  readonly answered: Answered
  readonly visibility: Visibility
  /** Whether it was addressed to this actor. */
  isFor(reader: RemoteActor): Promise<boolean>
}

export async function findPost(
  agent: string,
  id: string,
  { desk, handles, origin }: PostsParts,
): Promise<FoundPost | undefined> {
  const found = await desk.findResponse(id)
  if (!found || found.agent !== agent || found.message.received_via !== 'activitypub') return undefined
  const { response, message } = found
  const target = readReplyTarget(found.target)
  const others = othersMentioned(response.mentions, [target.address, message.recipient])
  const mentions = others.flatMap(name => {
    const href = handles.recall(name)
    return href ? [{ href, name, url: href }] : []
  })
  return {
    answered: { origin, agent, response, target, mentions },
    visibility: replyVisibility(target.visibility, response.visibility),
    async isFor(reader) {
      if (reader.id === target.actor) return true
      // By name: the look-up of whom an answer mentioned is forgotten with the process.
      const address = others.length > 0 ? await nameReader(reader, handles) : undefined
      return address !== undefined && others.includes(address)
    },
  }
}

/** A name on a blocked domain is nobody's. */
async function nameReader(reader: RemoteActor, handles: Pick<Handles, 'confirm'>): Promise<string | undefined> {
  try {
    return await handles.confirm(reader)
  } catch (error) {
    if (error instanceof Rejection) return undefined
    throw error
  }
}

import type { LookupDesk } from '@postern/core'
import { othersMentioned } from './address-answer.ts'
import type { Answered } from './render.ts'
import { readReplyTarget } from './reply-target.ts'
import { isOpen, replyVisibility } from './visibility.ts'
import type { Handles } from './webfinger.ts'

export interface PostsParts {
  readonly desk: Pick<LookupDesk, 'findResponse'>
  readonly handles: Pick<Handles, 'recall'>
  readonly origin: string
}

/** A post of ours that everybody may read. What is not for everybody does not exist for strangers. */
export async function findOpenPost(
  agent: string,
  id: string,
  { desk, handles, origin }: PostsParts,
): Promise<Answered | undefined> {
  const found = await desk.findResponse(id)
  if (!found || found.agent !== agent || found.message.received_via !== 'activitypub') return undefined
  const { response, message } = found
  const target = readReplyTarget(found.target)
  if (!isOpen(replyVisibility(target.visibility, response.visibility))) return undefined
  const others = othersMentioned(response.mentions, [target.address, message.recipient])
  const mentions = others.flatMap(name => {
    const href = handles.recall(name)
    return href ? [{ href, name, url: href }] : []
  })
  return { origin, agent, response, target, mentions }
}

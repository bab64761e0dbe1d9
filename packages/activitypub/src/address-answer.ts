import type { Addressing, AnsweredTurn, PlannedDelivery } from '@postern/core'
import { activityIri, postIri } from './own-iris.ts'
import type { ReplyTarget } from './reply-target.ts'
import { readReplyTarget, toJson } from './reply-target.ts'
import { isOpen, replyVisibility } from './visibility.ts'

const maxMentions = 20

/** An answer goes to the author's inbox, and to each one it mentions. Pure. */
export function addressAnswer({ turn, response }: AnsweredTurn, origin: string): Addressing {
  const reply = readReplyTarget(turn.target)
  const isListed = isOpen(replyVisibility(reply.visibility, response.visibility))
  const inbox = inboxFor(reply, isListed)
  const toAuthor: PlannedDelivery[] = inbox ? [{ to: inbox, peer: reply.actor, target: toJson({ reply, inbox }) }] : []
  const others = othersMentioned(response.mentions, [reply.address, turn.content.recipient])
  const post = postIri(origin, turn.agent, response.id)
  return {
    deliveries: [...toAuthor, ...others.map(mention => ({ to: mention, target: toJson({ reply, mention }) }))],
    aliases: [post, activityIri(post)],
    isListed,
  }
}

/** The shared inbox is for what everybody on that server may see. */
function inboxFor({ inbox, sharedInbox }: ReplyTarget, isForAll: boolean): string | undefined {
  return (isForAll ? sharedInbox : undefined) ?? inbox
}

/** Those an answer mentions, once each, without whom it goes to anyway. */
export function othersMentioned(
  mentions: readonly string[] = [],
  known: readonly (string | undefined)[],
): readonly string[] {
  const named = mentions.map(mention => `@${mention.replace(/^(acct:)?@?/i, '').toLowerCase()}`)
  return [...new Set(named)].filter(mention => !known.includes(mention)).slice(0, maxMentions)
}

// Plans a further message of an agent in a conversation, which answers no new message.

import type { ActRefusal, AgentReply, NormalizedResponse } from '@postern/message'
import { boundTextMentions, isActRefusal, isoTime, makeId, refuseAct, showNothing } from '@postern/message'
import { boundInlineParts, readInlineNames } from '../history/inline-parts.ts'
import { findChannel } from '../ports/channel/channel.ts'
import type { Intake } from '../ports/records/intake.ts'
import type { PlannedAction } from '../ports/records/work/answer.ts'
import type { Turn } from '../ports/records/work/turn.ts'
import type { AgentConversation } from '../ports/store/lookup-store.ts'
import type { ActingAgent, ActionDeps } from '../ports/turn/action-deps.ts'
import { withoutRequirements } from '../requirements/requirements.ts'
import { deliveryPlanOf, refuseBlank, storeFilesFor } from './act-plan.ts'

/** Plans a reply in a conversation. It is addressed like an answer to the last message there, over that message's channel. @throws Unavailable */
export async function planReply(
  act: AgentReply,
  { agent, address }: ActingAgent,
  deps: ActionDeps,
): Promise<PlannedAction | ActRefusal> {
  const { store, channels, system } = deps
  const errorPrefix = `Cannot reply in ${JSON.stringify(act.thread.slice(0, 200))}`
  if (showNothing(act.parts)) return refuseBlank('reply')
  const conversation = await store.findConversation(agent, act.thread)
  const turn = conversation && (await store.readTurn(conversation.message))
  if (!turn)
    return refuseAct(
      'no_recipient',
      `${errorPrefix}: nobody speaks to this agent in a conversation with this thread_id`,
    )
  const channel = findChannel(channels, turn.via)
  if (!channel) return refuseAct('unsupported', `${errorPrefix}: its channel (${turn.via}) is closed`)
  const names = readInlineNames(turn, deps)
  const givenParts = withoutRequirements(act.parts)
  const boundedParts = names ? await boundInlineParts(givenParts, names) : givenParts
  const { parts, blobs } = storeFilesFor(channel, boundedParts, deps)
  const textMentions = boundTextMentions(parts, deps.findAgent?.(agent)?.mentions)
  const response: NormalizedResponse = {
    id: act.id ?? makeId(system),
    thread_id: turn.content.thread_id,
    in_reply_to: turn.content.id,
    sender: address,
    parts,
    status: 'completed',
    ...(textMentions && { text_mentions: textMentions }),
    created_at: isoTime(system.now()),
  }
  const answeredTurn = { turn, response }
  const addressing = (await channel.actions?.addressReply?.(answeredTurn)) ?? channel.address(answeredTurn)
  if (isActRefusal(addressing)) return addressing
  const { rendering, isListed, aliases } = addressing
  const answer = { response, aliases, blobs, rendering, isListed, ...deliveryPlanOf(addressing) }
  return { kind: 'post', syntheticMessage: createReplyMessage(turn, response, conversation), answer }
}

/**
 * Creates the message that the reply formally answers, because the last message already has its answer. It belongs to the last speaker, so it is
 * deleted when they are forgotten. It names the thread by number, because peers choose message ids and one id may occur in several threads.
 */
function createReplyMessage(
  { agent, content, target, thread: id, via }: Turn,
  { id: response, created_at }: NormalizedResponse,
  { scope, key, author }: AgentConversation,
): Intake {
  const { sender, recipient, recipient_capabilities } = content
  const syntheticId = `reply:${response}`
  return {
    agent,
    message: {
      id: syntheticId,
      thread_source: key,
      in_reply_to: content.id,
      sender,
      recipient,
      parts: [],
      recipient_capabilities,
      received_via: via,
      received_at: created_at,
    },
    duplicateKey: syntheticId,
    thread: { scope, references: [], joined: { id, via, key } },
    ...(author !== undefined && { authorship: { author, object: syntheticId } }),
    aliases: [],
    proofs: [],
    raw: { bytes: new Uint8Array(), form: 'text' },
    target,
    disposition: 'keep',
    flags: ['post'],
  }
}

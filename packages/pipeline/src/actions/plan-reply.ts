// Plans further words of an agent in a conversation, without a message that they answer.

import type { ActRefusal, AgentReply, NormalizedResponse } from '@postern/message'
import { boundTextMentions, isActRefusal, isoTime, makeId, refuseAct, showNothing } from '@postern/message'
import { findChannel } from '../ports/channel/channel.ts'
import type { Intake } from '../ports/records/intake.ts'
import type { PlannedAction } from '../ports/records/work/answer.ts'
import type { Turn } from '../ports/records/work/turn.ts'
import type { KnownConversation } from '../ports/store/lookup-store.ts'
import type { ActingAgents, ActionDeps } from '../ports/turn/action-deps.ts'
import { withoutRequirements } from '../requirements/requirements.ts'
import { refuseBlank, storeFilesFor, toPlanned } from './act-plan.ts'

/** Addresses the words as an answer to the last message of the conversation, by the channel of that. @throws Unavailable */
export async function planReply(
  act: AgentReply,
  { agent, address }: ActingAgents,
  gateway: ActionDeps,
): Promise<PlannedAction | ActRefusal> {
  const { store, channels, system } = gateway
  const problem = `Cannot reply in ${JSON.stringify(act.thread.slice(0, 200))}`
  if (showNothing(act.parts)) return refuseBlank('reply')
  const conversation = await store.findConversation(agent, act.thread)
  const turn = conversation && (await store.readTurn(conversation.message))
  if (!turn)
    return refuseAct('no_recipient', `${problem}: nobody speaks to this agent in a conversation with this thread_id`)
  const channel = findChannel(channels, turn.via)
  if (!channel) return refuseAct('unsupported', `${problem}: its channel (${turn.via}) is closed`)
  const { parts, blobs } = storeFilesFor(channel, withoutRequirements(act.parts), gateway)
  const textMentions = boundTextMentions(parts, gateway.findAgent?.(agent)?.mentions)
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
  const answered = { turn, response }
  const addressing = (await channel.actions?.addressReply?.(answered)) ?? channel.address(answered)
  if (isActRefusal(addressing)) return addressing
  const { rendering, isListed, aliases } = addressing
  const answer = { response, aliases, blobs, rendering, isListed, ...toPlanned(addressing) }
  return { kind: 'post', synthetic: createReplyMessage(turn, response, conversation), answer }
}

/**
 * Stands in for the message that the words answer, since that has its answer. It is whoever spoke last that it is for: it goes when they are
 * forgotten. The conversation is named by its number: ids of messages come from peers, and may stand in several.
 */
function createReplyMessage(
  { agent, content, target, thread: id, via }: Turn,
  { id: response, created_at }: NormalizedResponse,
  { scope, key, author }: KnownConversation,
): Intake {
  const { sender, recipient, recipient_capabilities } = content
  const standIn = `reply:${response}`
  return {
    agent,
    message: {
      id: standIn,
      thread_source: key,
      in_reply_to: content.id,
      sender,
      recipient,
      parts: [],
      recipient_capabilities,
      received_via: via,
      received_at: created_at,
    },
    duplicateKey: standIn,
    thread: { scope, references: [], joined: { id, via, key } },
    ...(author !== undefined && { authorship: { author, object: standIn } }),
    aliases: [],
    proofs: [],
    raw: { bytes: new Uint8Array(), form: 'text' },
    target,
    disposition: 'keep',
    flags: ['post'],
  }
}

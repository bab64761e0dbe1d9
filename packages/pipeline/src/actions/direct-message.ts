// Plans a message of the gateway to one person, beside the answer of a turn.
import type { NormalizedResponse, Part } from '@postern/message'
import { isActRefusal, isoTime } from '@postern/message'
import type { Channel } from '../ports/channel/channel.ts'
import type { ChannelActions } from '../ports/channel/optional/channel-actions.ts'
import type { Blob } from '../ports/records/planned-delivery.ts'
import type { PlannedAction } from '../ports/records/work/answer.ts'
import type { Turn } from '../ports/records/work/turn.ts'
import type { TurnContext } from '../ports/turn/turn-context.ts'
import { deliveryPlanOf } from './act-plan.ts'
import { createSyntheticMessage } from './synthetic-message.ts'

/** A message to one address that the gateway itself sends beside the answer of a turn. */
interface PlannedDirectMessage {
  /** The id of its response. */
  readonly id: string
  readonly channel: Channel
  /** `@local@domain` */
  readonly to: string
  readonly parts: readonly Part[]
  readonly blobs?: readonly Blob[] | undefined
  readonly subject?: string | undefined
  /** The kind of the message, for the operator. */
  readonly flag: string
  /** The principal who owns the message. It is deleted together with all other data of the principal. */
  readonly author?: string | undefined
  /** The scope of the people who may reply to it; default: nobody. */
  readonly scope?: string | undefined
}

export type AddressDirectMessage = NonNullable<ChannelActions['addressDirectMessage']>

/** Plans the message for the commit of the turn's answer; undefined if the channel cannot send it. */
export function planDirectMessage(
  { id, channel, to, parts, blobs, subject, flag, author, scope }: PlannedDirectMessage,
  { agent, content }: Pick<Turn, 'agent' | 'content'>,
  address: AddressDirectMessage,
  { now }: Pick<TurnContext['system'], 'now'>,
): PlannedAction | undefined {
  const response: NormalizedResponse = {
    id,
    thread_id: id,
    in_reply_to: `post:${id}`,
    sender: content.recipient,
    parts: [...parts],
    status: 'completed',
    mentions: [to],
    visibility: 'direct',
    ...(subject !== undefined && { subject }),
    created_at: isoTime(now()),
  }
  const addressing = address({ act: 'post', agent, response })
  if (!addressing || isActRefusal(addressing)) return undefined
  const { in_reply_to, created_at } = response
  const draft = {
    agent,
    address: content.recipient,
    channel: channel.descriptor,
    scope: scope ?? in_reply_to,
    threadSource: id,
  }
  const syntheticMessage = {
    ...createSyntheticMessage({ ...draft, id: in_reply_to, at: created_at, flag }),
    ...(author !== undefined && { authorship: { author, object: in_reply_to } }),
  }
  const { aliases, rendering } = addressing
  const answer = { response, aliases, rendering, ...(blobs && { blobs }), ...deliveryPlanOf(addressing) }
  return { kind: 'post', syntheticMessage, answer }
}

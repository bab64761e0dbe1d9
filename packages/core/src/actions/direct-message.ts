import type { Part } from '../message/part.ts'
import type { NormalizedResponse } from '../message/response.ts'
import type { TurnContext } from '../ports/agent/turn-context.ts'
import type { Channel } from '../ports/channel.ts'
import { isoTime } from '../ports/platform/platform.ts'
import type { Blob } from '../ports/records/planned-delivery.ts'
import type { PlannedAction, Turn } from '../ports/records/work.ts'
import { toPlanned } from './plan-actions.ts'
import { createSyntheticMessage } from './synthetic-message.ts'

/** A message beside the answer of a turn, to one address, that the gateway sends of itself. */
interface PlannedDirectMessage {
  /** The id of its response. */
  readonly id: string
  readonly channel: Channel
  /** `@local@domain` */
  readonly to: string
  readonly parts: readonly Part[]
  readonly blobs?: readonly Blob[] | undefined
  readonly subject?: string | undefined
  /** Its kind, for the operator. */
  readonly flag: string
  /** The principal that owns the message. It is deleted when that principal withdraws their words or is forgotten. */
  readonly author?: string | undefined
  /** Who may continue it; default: nobody. */
  readonly scope?: string | undefined
}

export type AddressDirectMessage = NonNullable<Channel['addressDirectMessage']>

/** Durable with what the turn comes to. Undefined where it cannot be sent. */
export function planDirectMessage(
  { id, channel, to, parts, blobs, subject, flag, author, scope }: PlannedDirectMessage,
  { agent, content }: Pick<Turn, 'agent' | 'content'>,
  address: AddressDirectMessage,
  { now }: Pick<TurnContext['platform'], 'now'>,
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
  if (!addressing) return undefined
  const { in_reply_to, created_at } = response
  const place = {
    agent,
    address: content.recipient,
    channel: channel.descriptor,
    scope: scope ?? in_reply_to,
    threadId: id,
  }
  const synthetic = {
    ...createSyntheticMessage({ ...place, id: in_reply_to, at: created_at, flag }),
    ...(author !== undefined && { authorship: { author, object: in_reply_to } }),
  }
  const { aliases, rendering } = addressing
  const answer = { response, aliases, rendering, ...(blobs && { blobs }), ...toPlanned(addressing) }
  return { kind: 'post', synthetic, answer }
}

import type { Blob } from './intake.ts'
import type { ChannelName } from './message.ts'
import { createOccasion } from './occasion.ts'
import type { Part } from './part.ts'
import { toPlanned } from './plan-acts.ts'
import type { Channel } from './protocol.ts'
import type { NormalizedResponse } from './response.ts'
import type { PlannedAct, Turn } from './work.ts'
import type { Working } from './working.ts'
import { isoTime } from './world.ts'

/** A message beside the answer of a turn, to one address, that the gateway sends of itself. */
export interface OwnLetter {
  /** Of the response that it is. */
  readonly id: string
  readonly via: ChannelName
  /** `@local@domain` */
  readonly to: string
  readonly parts: readonly Part[]
  readonly blobs?: readonly Blob[] | undefined
  readonly subject?: string | undefined
  /** What kind of occasion it is, for the operator. */
  readonly flag: string
  /** The principal with whose words it goes when he takes them back or is forgotten. */
  readonly author?: string | undefined
  /** Who may go on with it; default: nobody. */
  readonly scope?: string | undefined
}

export type AddressLetter = NonNullable<Channel['addressLetter']>

/** Durable with what the turn comes to. Undefined where it cannot be sent. */
export function planOwnLetter(
  { id, via, to, parts, blobs, subject, flag, author, scope }: OwnLetter,
  { agent, content }: Pick<Turn, 'agent' | 'content'>,
  address: AddressLetter,
  { now }: Pick<Working['world'], 'now'>,
): PlannedAct | undefined {
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
  const place = { agent, address: content.recipient, via, scope: scope ?? in_reply_to, threadId: id }
  const occasion = {
    ...createOccasion({ ...place, id: in_reply_to, at: created_at, flag }),
    ...(author !== undefined && { authorship: { author, object: in_reply_to } }),
  }
  const { aliases, rendering } = addressing
  const answer = { response, aliases, rendering, ...(blobs && { blobs }), ...toPlanned(addressing) }
  return { kind: 'post', occasion, answer }
}

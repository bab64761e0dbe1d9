import { randomUUID } from 'node:crypto'
import type { ConnectorConfig } from '../config.ts'
import type { ConnectorKeyRing } from '../issuer/key-ring.ts'
import { vouchForPerson } from '../issuer/vouch.ts'
import type { HeldRequirement } from '../rooms/requirements.ts'
import type { Room } from '../rooms/rooms.ts'
import type { RoomPerson } from '../rooms/session.ts'
import { dropOwnName } from './find-mentions.ts'
import type { TaskSeat } from './task-book.ts'

/** What one message of a person has led to so far. */
interface Matter {
  readonly room: Room
  readonly person: RoomPerson
  /** Agents that may still be woken. */
  left: number
}

/** One message to one agent. */
export interface RoomTurn {
  readonly matter: Matter
  readonly address: string
  readonly text: string
  /** Absent: an agent speaks, and nobody vouches for it. */
  readonly speaker: RoomPerson | undefined
  /** Agents the matter has passed through. */
  readonly hop: number
  readonly seat: TaskSeat
  readonly decision?: { readonly requirement: HeldRequirement; readonly outcome: 'granted' | 'declined' }
}

interface SpeakingDeps {
  readonly config: ConnectorConfig
  readonly keys: ConnectorKeyRing
  now(): number
}

/** The A2A message of a turn, with all we say for it in `metadata.mentionable`. */
export function renderMessage(turn: RoomTurn, rooms: SpeakingDeps): object {
  const { matter, address, text, seat, decision } = turn
  const messageId = decision?.requirement.messageId ?? randomUUID()
  return {
    messageId,
    role: 'ROLE_USER',
    parts: [{ text: dropOwnName(text, address), mediaType: 'text/plain' }],
    contextId: matter.room.contextFor(address),
    ...(seat.taskId && { taskId: seat.taskId }),
    metadata: { mentionable: renderMentionable(turn, messageId, rooms) },
  }
}

function renderMentionable(
  { matter, address, speaker, hop, decision }: RoomTurn,
  messageId: string,
  rooms: SpeakingDeps,
) {
  const max_hops = rooms.config.limits.maxHops
  const place = { room: matter.room.name, audience: address, messageId }
  return {
    ...(speaker && vouchForPerson({ ...place, person: speaker }, rooms)),
    ...(hop > 0 && { agent_chain: { hop, max_hops, is_final: hop >= max_hops } }),
    ...(decision && {
      policy_resolution: { in_reply_to_state: decision.requirement.state, outcome: decision.outcome },
    }),
    mention_relay: { kind: 'inline' },
  }
}

import { randomUUID } from 'node:crypto'
import { formatAddress, parseIfAddress } from '@postern/core'
import type { ConnectorConfig } from '../config.ts'
import type { ConnectorKeyRing } from '../issuer/key-ring.ts'
import { vouchForPerson } from '../issuer/vouch.ts'
import type { HeldRequirement, RoomDecision } from '../rooms/requirements.ts'
import type { Room } from '../rooms/rooms.ts'
import type { RoomPerson } from '../rooms/session.ts'
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
  readonly decision?: Pick<RoomDecision, 'outcome'> & { readonly requirement: HeldRequirement }
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

/** `@name@domain`, or `@name` where one domain goes without saying; not in the middle of a word, as in a mail address. */
const mentionPattern =
  /(?<![\p{L}\p{N}_.@/-])@([a-z0-9_][a-z0-9_.-]{0,63})(?:@([\p{L}\p{N}](?:[\p{L}\p{N}.-]{0,251}[\p{L}\p{N}])?))?/giu

/** The agents a text names, each once, in its order. Lines that quote (`>`) say what somebody else has said, and name nobody. Pure. */
export function findMentions(text: string, agentsDomain: string | undefined): readonly string[] {
  const found = new Set<string>()
  const own = text.replace(/^[^\S\n]*>.*$/gm, '')
  for (const [, name = '', domain = agentsDomain] of own.matchAll(mentionPattern)) {
    const address = domain === undefined ? undefined : readAddress(`${name.replace(/[.-]+$/, '')}@${domain}`)
    if (address !== undefined) found.add(address)
  }
  return [...found]
}

function readAddress(text: string): string | undefined {
  const address = parseIfAddress(text)
  return address && formatAddress(address)
}

/** Without the agent's own name in front: it knows who is spoken to. Pure. */
export function dropOwnName(text: string, address: string): string {
  const [, local = '', domain = ''] = address.split('@')
  const [head = ''] = /^\s*@\S+/.exec(text) ?? []
  const named = head
    .trim()
    .replace(/[,:;]$/, '')
    .toLowerCase()
  const isOwn = named === `@${local}@${domain}` || named === `@${local}`
  return isOwn ? text.slice(head.length).trim() || text : text
}

// Renders one message to an agent as A2A, with the evidence of who speaks.
import { randomUUID } from 'node:crypto'
import { formatAddress, parseIfAddress } from '@postern/message'
import type { ConnectorConfig } from '../config.ts'
import type { ConnectorKeyRing } from '../issuer/key-ring.ts'
import { vouchForPerson } from '../issuer/vouch.ts'
import type { PendingRequirement, RoomDecision } from '../rooms/requirements.ts'
import type { Room } from '../rooms/rooms.ts'
import type { RoomPerson } from '../rooms/session.ts'
import type { OpenTask } from './open-tasks.ts'

/** The message of a person and the calls that followed from it. */
interface FanOut {
  readonly room: Room
  readonly person: RoomPerson
  /** The agents that may still be woken. */
  remainingCalls: number
}

/** One message to one agent. */
export interface RoomTurn {
  readonly fanOut: FanOut
  readonly address: string
  readonly text: string
  /** The person who speaks; absent if an agent speaks, for which nobody vouches. */
  readonly speaker: RoomPerson | undefined
  /** The agents that the message has passed through. */
  readonly hop: number
  readonly task: OpenTask
  readonly decision?: Pick<RoomDecision, 'outcome'> & { readonly requirement: PendingRequirement }
}

interface SpeakingDeps {
  readonly config: ConnectorConfig
  readonly keys: ConnectorKeyRing
  now(): number
}

/** Renders the A2A message of a turn, with our evidence in `metadata.mentionable`. */
export function renderMessage(turn: RoomTurn, deps: SpeakingDeps): object {
  const { fanOut, address, text, task, decision } = turn
  const messageId = decision?.requirement.messageId ?? randomUUID()
  return {
    messageId,
    role: 'ROLE_USER',
    parts: [{ text: dropOwnName(text, address), mediaType: 'text/plain' }],
    contextId: fanOut.room.contextFor(address),
    ...(task.taskId && { taskId: task.taskId }),
    metadata: { mentionable: renderMentionable(turn, messageId, deps) },
  }
}

function renderMentionable(
  { fanOut, address, speaker, hop, decision }: RoomTurn,
  messageId: string,
  deps: SpeakingDeps,
) {
  const max_hops = deps.config.limits.maxHops
  const vouched = { room: fanOut.room.name, audience: address, messageId }
  return {
    ...(speaker && vouchForPerson({ ...vouched, person: speaker }, deps)),
    ...(hop > 0 && { agent_chain: { hop, max_hops, is_final: hop >= max_hops } }),
    ...(decision && {
      policy_resolution: { in_reply_to_state: decision.requirement.inReplyToState, outcome: decision.outcome },
    }),
    mention_relay: { kind: 'inline' },
  }
}

/** Matches `@name@domain`, or `@name` if the domain is implied, but not inside a word, as in a mail address. */
const mentionPattern =
  /(?<![\p{L}\p{N}_.@/-])@([a-z0-9_][a-z0-9_.-]{0,63})(?:@([\p{L}\p{N}](?:[\p{L}\p{N}.-]{0,251}[\p{L}\p{N}])?))?/giu

/** Finds the agents that a text names, each once, in order. Quoted lines (`>`) are another person's text, and name nobody. Pure. */
export function findMentions(text: string, agentsDomain: string | undefined): readonly string[] {
  const addresses = new Set<string>()
  const unquotedText = text.replace(/^[^\S\n]*>.*$/gm, '')
  for (const [, name = '', domain = agentsDomain] of unquotedText.matchAll(mentionPattern)) {
    const address = domain === undefined ? undefined : readAddress(`${name.replace(/[.-]+$/, '')}@${domain}`)
    if (address !== undefined) addresses.add(address)
  }
  return [...addresses]
}

function readAddress(text: string): string | undefined {
  const address = parseIfAddress(text)
  return address && formatAddress(address)
}

/** Removes the agent's own name from the beginning. Pure. */
export function dropOwnName(text: string, address: string): string {
  const [, local = '', domain = ''] = address.split('@')
  const [head = ''] = /^\s*@\S+/.exec(text) ?? []
  const mentionedName = head
    .trim()
    .replace(/[,:;]$/, '')
    .toLowerCase()
  const isOwn = mentionedName === `@${local}@${domain}` || mentionedName === `@${local}`
  return isOwn ? text.slice(head.length).trim() || text : text
}

// Merges neighbouring turns of one role into one.

import type { HistoricalMessage, HistoricalSender } from '@postern/message'
import { announceSpeaker } from './speaker-names.ts'

export type Turns = readonly HistoricalMessage[]

/** The single messages of merged turns. They are not part of the turn, because agents get the conversation by turns. */
const messagesOf = new WeakMap<HistoricalMessage, Turns>()

/** Returns the messages that a turn of the history consists of, without the lines that name their writers. */
export function listMessagesOfTurn(turn: HistoricalMessage): Turns {
  return messagesOf.get(turn) ?? [turn]
}

/** Changes the parts of a turn, which still consists of the same messages. */
export function replaceParts(turn: HistoricalMessage, parts: HistoricalMessage['parts']): HistoricalMessage {
  const newTurn = { ...turn, parts }
  const messages = messagesOf.get(turn)
  if (messages) messagesOf.set(newTurn, messages)
  return newTurn
}

export function mergeNeighbours(turns: Turns): Turns {
  const mergedTurns: HistoricalMessage[] = []
  let speaker: HistoricalSender | undefined
  for (const turn of turns) {
    const lastTurn = mergedTurns.at(-1)
    if (lastTurn?.role === turn.role) {
      const joinedTurn = joinTurns(lastTurn, turn, speaker)
      messagesOf.set(joinedTurn, [...listMessagesOfTurn(lastTurn), turn])
      mergedTurns[mergedTurns.length - 1] = joinedTurn
    } else mergedTurns.push(turn)
    speaker = turn.sender
  }
  return mergedTurns
}

/**
 * Appends a turn to the one before it. `speaker` wrote last. The same address with different proof is a different writer, so that a forged name
 * never mixes with proven words.
 */
function joinTurns(
  turn: HistoricalMessage,
  { sender, parts }: HistoricalMessage,
  speaker: HistoricalSender | undefined,
): HistoricalMessage {
  if (isSameWriter(sender, speaker)) return { ...turn, parts: [...turn.parts, ...parts] }
  const writers = [...(turn.writers ?? [turn.sender]), sender]
  return {
    ...turn,
    sender: weakenProof(turn.sender, writers),
    writers,
    parts: [...turn.parts, announceSpeaker(sender.address), ...parts],
  }
}

function isSameWriter(sender: HistoricalSender, speaker: HistoricalSender | undefined): boolean {
  const { address, verified, auth_method } = speaker ?? {}
  return address === sender.address && verified === sender.verified && auth_method === sender.auth_method
}

/** Returns the first writer as the sender of the turn; as unverified if only some of the writers are verified. */
function weakenProof(firstWriter: HistoricalSender, writers: readonly HistoricalSender[]): HistoricalSender {
  if (writers.every(({ verified }) => verified === firstWriter.verified)) return firstWriter
  const { address, display_name } = firstWriter
  return { address, ...(display_name !== undefined && { display_name }), verified: false, auth_method: 'none' }
}
